// SPDX-License-Identifier: Apache-2.0
#include "workloads/graph_json.hpp"

#include "sim/base/error.hpp"
#include "workloads/graph_references.hpp"
#include "workloads/graph_totals.hpp"
#include "workloads/json_place.hpp"
#include "workloads/task_class_words.hpp"

#include <fmt/format.h>
#include <simdjson.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <limits>
#include <string_view>
#include <unordered_map>
#include <utility>
#include <vector>

namespace schedlab {
namespace {

namespace ondemand = simdjson::ondemand;
using detail::ReferenceUse;
using Value = simdjson::simdjson_result<ondemand::value>;

constexpr std::int64_t largest = detail::GraphTotals::largest_size;
constexpr std::int64_t most_ids = std::numeric_limits<std::uint32_t>::max() - 1;

/// Reads the file front to back; forward references are resolved after the last task.
class Reader {
 public:
  Reader(std::string text, const std::string& file)
      : text_(std::move(text)), place_(file), totals_(text_.size()) {
    text_.reserve(text_.size() + simdjson::SIMDJSON_PADDING);
  }

  [[nodiscard]] TaskGraph read() {
    try {
      read_root();
    } catch (const simdjson::simdjson_error& error) {
      place_.refuse(simdjson::error_message(error.error()), "valid JSON in UTF-8");
    }
    references_.resolve(builder_, place_);
    try {
      return std::move(builder_).build();
    } catch (const InputError& error) {
      place_.enter("tasks");
      place_.refuse(error.problem().found, error.problem().expected, error.problem().hint);
    }
  }

 private:
  // ------------------------------------------------------------------ values
  std::string token(Value& value) {
    std::string_view text;
    if (value.raw_json_token().get(text) != simdjson::SUCCESS) return "something else";
    while (!text.empty() && static_cast<unsigned char>(text.back()) <= ' ') text.remove_suffix(1);
    constexpr std::size_t longest_shown = 40;
    return std::string{text.substr(0, longest_shown)} + (text.size() > longest_shown ? "..." : "");
  }

  /// As written: no key that is allowed has an escape; one that has is cut at a quote at the latest
  /// and refused.
  static std::string_view key_of(simdjson::simdjson_result<ondemand::field>& field) {
    const char* const begin = field.key().value().raw();
    const char* end = begin;
    while (*end != '"') ++end;
    return {begin, static_cast<std::size_t>(end - begin)};
  }

  std::int64_t integer(Value value, std::int64_t minimum, std::int64_t maximum) {
    std::int64_t number = 0;
    if (value.get_int64().get(number) != simdjson::SUCCESS || number < minimum ||
        number > maximum) {
      place_.refuse(token(value), fmt::format("a whole number from {} to {}", minimum, maximum));
    }
    return number;
  }

  double number(Value value, double maximum) {
    double result = 0;
    if (value.get_double().get(result) != simdjson::SUCCESS || !(result >= 0) || result > maximum) {
      place_.refuse(token(value), fmt::format("a number from 0 to {}", maximum));
    }
    return result;
  }

  bool flag(Value value) {
    bool result = false;
    if (value.get_bool().get(result) != simdjson::SUCCESS) {
      place_.refuse(token(value), "true or false");
    }
    return result;
  }

  std::string_view string(Value value) {
    std::string_view result;
    if (value.get_string().get(result) != simdjson::SUCCESS) {
      place_.refuse(token(value), "a string");
    }
    return result;
  }

  std::size_t word(Value value, const std::vector<std::string>& words) {
    const std::string_view given = string(value);
    const auto found = std::find(words.begin(), words.end(), given);
    if (found == words.end()) place_.refuse_word(given, words);
    return static_cast<std::size_t>(found - words.begin());
  }

  ondemand::array array(Value value) {
    ondemand::array result;
    if (value.get_array().get(result) != simdjson::SUCCESS) {
      place_.refuse(token(value), "an array");
    }
    return result;
  }

  ondemand::object object(Value value) {
    ondemand::object result;
    if (value.get_object().get(result) != simdjson::SUCCESS) {
      place_.refuse(token(value), "an object");
    }
    return result;
  }

  Duration duration(Value value) {
    const double us =
        number(value, static_cast<double>(detail::GraphTotals::longest_duration) * 1e-6);
    return from_us(us);
  }

  // ------------------------------------------------------------------ the file
  void read_root() {
    auto document = parser_.iterate(text_.data(), text_.size(), text_.capacity());
    ondemand::object root;
    if (document.get_object().get(root) != simdjson::SUCCESS) {
      place_.refuse("something else", "a JSON object with \"schedlab\": \"graph\"");
    }
    bool is_graph = false;
    for (auto field : root) {
      const std::string_view key = key_of(field);
      place_.enter(key);
      if (key == "schedlab") {
        const std::string_view what = string(field.value());
        if (what != "graph") place_.refuse(fmt::format("\"{}\"", what), "\"graph\"");
        is_graph = true;
      } else if (key == "version") {
        (void)integer(field.value(), 1, 1);
      } else if (key == "description") {
        (void)string(field.value());
      } else if (key == "operations") {
        read_operations(field.value());
      } else if (key == "tasks") {
        read_tasks(field.value());
      } else if (key == "tensors") {
        read_tensors(field.value());
      } else {
        place_.refuse_key(key,
                          {"schedlab", "version", "description", "operations", "tasks", "tensors"});
      }
    }
    place_.leave();
    const char* after = nullptr;
    if (document.current_location().get(after) == simdjson::SUCCESS) {
      place_.refuse("more after the object", "the end of the file");
    }
    if (!is_graph) place_.refuse("no \"schedlab\" key", "\"schedlab\": \"graph\"");
  }

  void read_operations(Value value) {
    if (!operations_.empty() || builder_.task_count() > 0) {
      place_.refuse("operations at this place", "them once, before the tasks that refer to them");
    }
    for (auto item : array(value)) {
      place_.element(operations_.size());
      read_operation(object(item));
    }
  }

  void read_operation(ondemand::object fields) {
    Operation operation{.name = {}, .kernels = {}};
    for (auto field : fields) {
      const std::string_view key = key_of(field);
      place_.field(key);
      if (key == "name") {
        operation.name = string(field.value());
      } else if (key == "kind") {
        operation.kind = static_cast<TaskKind>(word(field.value(), task_kind_names()));
      } else if (key == "class") {
        operation.task_class =
            static_cast<TaskClass>(word(field.value(), detail::task_class_names()));
      } else if (key == "duration_us") {
        operation.fixed_duration = duration(field.value());
      } else if (key == "kernels") {
        for (auto item : array(field.value())) {
          place_.inner(operation.kernels.size());
          operation.kernels.push_back(read_kernel(object(item)));
          place_.field("kernels");
        }
      } else {
        place_.refuse_key(key, {"name", "kind", "class", "duration_us", "kernels"});
      }
    }
    const auto id = static_cast<std::uint32_t>(operations_.size());
    operations_.push_back(operation.fixed_duration);
    if (!operation_by_name_.try_emplace(operation.name, OperationId{id}).second) {
      operation_by_name_[operation.name] = OperationId::none();  // ambiguous: by index only
    }
    builder_.add_operation(std::move(operation));
  }

  Kernel read_kernel(ondemand::object fields) {
    Kernel kernel;
    for (auto field : fields) {
      const std::string_view key = key_of(field);
      place_.inner_field(key);
      if (key == "kind") {
        kernel.kind = static_cast<TaskKind>(word(field.value(), task_kind_names()));
      } else if (key == "data_type") {
        kernel.type = static_cast<DataType>(word(field.value(), data_type_names()));
      } else if (key == "m") {
        kernel.m = integer(field.value(), 0, largest);
      } else if (key == "n") {
        kernel.n = integer(field.value(), 0, largest);
      } else if (key == "k") {
        kernel.k = integer(field.value(), 0, largest);
      } else if (key == "flops") {
        kernel.flops = Flops{number(field.value(), 1e30)};
      } else if (key == "bytes_read") {
        kernel.bytes_read = Bytes{integer(field.value(), 0, largest)};
      } else if (key == "bytes_written") {
        kernel.bytes_written = Bytes{integer(field.value(), 0, largest)};
      } else {
        place_.refuse_key(
            key, {"kind", "data_type", "m", "n", "k", "flops", "bytes_read", "bytes_written"});
      }
    }
    if (!totals_.add_bytes(kernel.bytes_read.count() + kernel.bytes_written.count())) {
      place_.refuse("more bytes than can be counted", "smaller kernels");
    }
    return kernel;
  }

  // ------------------------------------------------------------------ tasks
  void read_tasks(Value value) {
    if (builder_.task_count() > 0) place_.refuse("tasks for a second time", "them once");
    // A task needs about 30 bytes; a wrong guess only costs time.
    builder_.reserve(text_.size() / 64, text_.size() / 32);
    for (auto item : array(value)) {
      place_.element(builder_.task_count());
      read_task(object(item));
    }
  }

  void read_task(ondemand::object fields) {
    const TaskId task{static_cast<std::uint32_t>(builder_.task_count())};
    OperationId operation;
    Tags tags;
    std::string_view name;
    Duration own{-1};
    for (auto field : fields) {
      const std::string_view key = key_of(field);
      place_.field(key);
      if (key == "operation") {
        operation = read_operation_reference(field.value());
      } else if (key == "layer") {
        tags.layer = static_cast<std::int16_t>(integer(field.value(), -1, 32767));
      } else if (key == "step") {
        tags.step = static_cast<std::int32_t>(integer(field.value(), -1, 2147483647));
      } else if (key == "needs") {
        read_needs(field.value(), task);
      } else if (key == "duration_us") {
        own = duration(field.value());
      } else if (key == "name") {
        name = string(field.value());
      } else if (key == "stage") {
        tags.stage = static_cast<std::int16_t>(integer(field.value(), -1, 32767));
      } else if (key == "microbatch") {
        tags.microbatch = static_cast<std::int32_t>(integer(field.value(), -1, 2147483647));
      } else {
        place_.refuse_key(
            key,
            {"name", "operation", "layer", "step", "stage", "microbatch", "duration_us", "needs"});
      }
    }
    add_task(operation, tags, name, own);
  }

  void add_task(OperationId operation, const Tags& tags, std::string_view name, Duration own) {
    if (!operation.valid()) operation = plain_operation();
    const TaskId task = name.empty() ? builder_.add_task(operation, tags)
                                     : builder_.add_task(operation, tags, name);
    if (own >= Duration{0}) builder_.set_duration(task, own);
    const Duration counted = own >= Duration{0} ? own : operations_[operation.value()];
    if (!totals_.add_duration(counted.count())) {
      place_.field("duration_us");
      place_.refuse("durations whose sum is beyond 26 days", "shorter tasks");
    }
    if (name.empty()) return;
    const auto [owner, added] = references_.add_name(name, task.value());
    if (!added) {
      place_.field("name");
      place_.refuse(fmt::format("\"{}\", which is the name of task {} already", name, owner),
                    "a name of its own");
    }
  }

  /// For files of names and durations only.
  OperationId plain_operation() {
    if (!plain_operation_.valid()) {
      plain_operation_ = builder_.add_operation({.name = "task", .kernels = {}});
      operations_.emplace_back(0);
    }
    return plain_operation_;
  }

  OperationId read_operation_reference(Value value) {
    const auto count = static_cast<std::int64_t>(operations_.size());
    if (value.type() == ondemand::json_type::number) {
      if (count == 0) place_.refuse(token(value), "operations before the tasks");
      return OperationId{static_cast<std::uint32_t>(integer(value, 0, count - 1))};
    }
    const std::string name{string(value)};
    const auto found = operation_by_name_.find(name);
    if (found == operation_by_name_.end()) {
      std::vector<std::string> names;
      for (const auto& [known, id] : operation_by_name_) names.push_back(known);
      std::sort(names.begin(), names.end());
      place_.refuse_name("operation", name, names, names.size(), count);
    }
    if (!found->second.valid()) {
      place_.refuse(fmt::format("\"{}\", the name of several operations", name), "an index");
    }
    return found->second;
  }

  void read_needs(Value value, TaskId task) {
    std::uint32_t element = 0;
    for (auto item : array(value)) {
      Value need = item;
      place_.inner(element);
      std::int64_t index = -1;
      if (need.get_int64().get(index) != simdjson::SUCCESS &&
          need.type() == ondemand::json_type::string) {
        references_.by_name(ReferenceUse::needs, task.value(), element, string(need));
      } else {
        if (index < 0 || index > most_ids)
          place_.refuse(token(need), "the index or name of a task");
        const auto before = static_cast<std::uint32_t>(index);
        references_.need(task.value(), element, before);
        builder_.add_edge(TaskId{before}, task);
      }
      ++element;
    }
  }

  // ------------------------------------------------------------------ tensors
  void read_tensors(Value value) {
    std::size_t index = 0;
    for (auto item : array(value)) {
      place_.element(index++);
      read_tensor(object(item));
    }
  }

  void read_tensor(ondemand::object fields) {
    const TensorId id{tensor_count_++};
    TensorInfo info;
    std::array<std::size_t, 3> uses{};
    for (auto field : fields) {
      const std::string_view key = key_of(field);
      place_.field(key);
      if (key == "name") {
        info.name = string(field.value());
      } else if (key == "bytes") {
        info.bytes = Bytes{integer(field.value(), 0, largest)};
      } else if (key == "accumulate") {
        info.accumulate = flag(field.value());
      } else if (key == "persistent") {
        info.persistent = flag(field.value());
      } else if (key == "written_by") {
        uses[1] += read_uses(field.value(), id, ReferenceUse::written_by);
      } else if (key == "read_by") {
        uses[2] += read_uses(field.value(), id, ReferenceUse::read_by);
      } else {
        place_.refuse_key(key,
                          {"name", "bytes", "accumulate", "persistent", "written_by", "read_by"});
      }
    }
    place_.field("written_by");
    if (uses[1] > 1 && !info.accumulate) {
      place_.refuse(fmt::format("{} writers", uses[1]), "one, or \"accumulate\": true");
    }
    if (!totals_.add_pairs(uses[1], uses[2])) {
      place_.refuse("too many pairs of a writer and a reader of one tensor", "fewer of them");
    }
    if (!totals_.add_bytes(info.bytes.count())) {
      place_.refuse("more bytes in tensors than can be counted", "smaller tensors");
    }
    builder_.add_tensor(std::move(info));
  }

  std::size_t read_uses(Value value, TensorId tensor, ReferenceUse use) {
    std::uint32_t element = 0;
    const auto count = static_cast<std::int64_t>(builder_.task_count());
    for (auto item : array(value)) {
      Value task = item;
      place_.inner(element);
      if (task.type() == ondemand::json_type::string) {
        references_.by_name(use, tensor.value(), element, string(task));
      } else {
        if (count == 0) place_.refuse(token(task), "tasks before the tensors that they use");
        references_.by_index(
            use, tensor.value(), static_cast<std::uint32_t>(integer(task, 0, count - 1)));
      }
      ++element;
    }
    return element;
  }

  std::string text_;
  ondemand::parser parser_;
  detail::JsonPlace place_;
  detail::GraphTotals totals_;
  TaskGraphBuilder builder_;
  std::vector<Duration> operations_;
  OperationId plain_operation_;
  std::unordered_map<std::string, OperationId> operation_by_name_;
  detail::GraphReferences references_;
  std::uint32_t tensor_count_ = 0;
};

}  // namespace

TaskGraph read_graph_json(std::string text, const std::string& file) {
  return Reader{std::move(text), file}.read();
}

}  // namespace schedlab
