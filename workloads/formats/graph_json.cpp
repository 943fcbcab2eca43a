// SPDX-License-Identifier: Apache-2.0
#include "workloads/formats/graph_json.hpp"

#include "sim/base/error.hpp"
#include "workloads/formats/graph_json_operation.hpp"
#include "workloads/formats/graph_references.hpp"
#include "workloads/formats/graph_totals.hpp"
#include "workloads/formats/json_place.hpp"
#include "workloads/formats/json_values.hpp"

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
using detail::JsonValues;
using detail::ReferenceUse;
using Value = JsonValues::Value;

constexpr std::int64_t largest = detail::GraphTotals::largest_size;
constexpr std::int64_t max_ids = std::numeric_limits<std::uint32_t>::max() - 1;

/// Reads the file front to back; forward references are resolved after the last task.
class Reader {
 public:
  Reader(std::string_view text, const std::string& file)
      : text_(detail::padded_json(text)), place_(file), values_(place_), totals_(text_.size()) {}

  [[nodiscard]] TaskGraph read() {
    try {
      read_root();
      if (!is_graph_) place_.refuse("no \"schedlab\" key", "\"schedlab\": \"graph\"");
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
  // ------------------------------------------------------------------ the file
  void read_root() {
    auto document = parser_.iterate(text_.data(), text_.size(), text_.capacity());
    ondemand::object root;
    if (document.get_object().get(root) != simdjson::SUCCESS) {
      place_.refuse("something else", "a JSON object with \"schedlab\": \"graph\"");
    }
    for (auto field : root) {
      const std::string_view key = JsonValues::key_of(field);
      place_.enter(key);
      if (key == "schedlab") {
        const std::string_view what = values_.string(field.value());
        if (what != "graph") place_.refuse(fmt::format("\"{}\"", what), "\"graph\"");
        is_graph_ = true;
      } else if (key == "version") {
        (void)values_.integer(field.value(), 1, 1);
      } else if (key == "description") {
        (void)values_.string(field.value());
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
  }

  void read_operations(Value value) {
    if (!operations_.empty() || builder_.task_count() > 0) {
      place_.refuse("operations at this place", "them once, before the tasks that refer to them");
    }
    for (auto item : values_.array(value)) {
      place_.element(operations_.size());
      read_operation(values_.object(item));
    }
  }

  void read_operation(ondemand::object fields) {
    Operation operation = detail::JsonOperationReader{place_, values_, totals_}.read(fields);
    const auto id = static_cast<std::uint32_t>(operations_.size());
    operations_.push_back(operation.fixed_duration);
    if (!operation_by_name_.try_emplace(operation.name, OperationId{id}).second) {
      operation_by_name_[operation.name] = OperationId::none();  // ambiguous: by index only
    }
    builder_.add_operation(std::move(operation));
  }

  // ------------------------------------------------------------------ tasks
  void read_tasks(Value value) {
    if (builder_.task_count() > 0) place_.refuse("tasks for a second time", "them once");
    // A task needs about 30 bytes; a wrong guess only costs time.
    builder_.reserve(text_.size() / 64, text_.size() / 32);
    for (auto item : values_.array(value)) {
      place_.element(builder_.task_count());
      read_task(values_.object(item));
    }
  }

  void read_task(ondemand::object fields) {
    const TaskId task{static_cast<std::uint32_t>(builder_.task_count())};
    OperationId operation;
    Tags tags;
    std::string_view name;
    Duration own{-1};
    for (auto field : fields) {
      const std::string_view key = JsonValues::key_of(field);
      place_.field(key);
      if (key == "operation") {
        operation = read_operation_reference(field.value());
      } else if (key == "layer") {
        tags.layer = static_cast<std::int16_t>(values_.integer(field.value(), -1, 32767));
      } else if (key == "step") {
        tags.step = static_cast<std::int32_t>(values_.integer(field.value(), -1, 2147483647));
      } else if (key == "needs") {
        read_needs(field.value(), task);
      } else if (key == "duration_us") {
        own = values_.duration(field.value());
      } else if (key == "name") {
        name = values_.string(field.value());
      } else if (key == "stage") {
        tags.stage = static_cast<std::int16_t>(values_.integer(field.value(), -1, 32767));
      } else if (key == "microbatch") {
        tags.microbatch = static_cast<std::int32_t>(values_.integer(field.value(), -1, 2147483647));
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
    const TaskId task = [&] {
      if (!name.empty()) return builder_.add_task(operation, tags, name);
      return own >= Duration{0} ? builder_.add_task(operation, tags, own)
                                : builder_.add_task(operation, tags);
    }();
    if (!name.empty() && own >= Duration{0}) builder_.set_duration(task, own);
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
      if (count == 0) place_.refuse(values_.token(value), "operations before the tasks");
      return OperationId{static_cast<std::uint32_t>(values_.integer(value, 0, count - 1))};
    }
    const std::string name{values_.string(value)};
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
    for (auto item : values_.array(value)) {
      Value need = item;
      place_.inner(element);
      std::int64_t index = -1;
      if (need.get_int64().get(index) != simdjson::SUCCESS &&
          need.type() == ondemand::json_type::string) {
        references_.by_name(ReferenceUse::needs, task.value(), element, values_.string(need));
      } else {
        if (index < 0 || index > max_ids)
          place_.refuse(values_.token(need), "the index or name of a task");
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
    for (auto item : values_.array(value)) {
      place_.element(index++);
      read_tensor(values_.object(item));
    }
  }

  void read_tensor(ondemand::object fields) {
    const TensorId id{tensor_count_++};
    TensorInfo info;
    std::array<std::size_t, 3> uses{};
    for (auto field : fields) {
      const std::string_view key = JsonValues::key_of(field);
      place_.field(key);
      if (key == "name") {
        info.name = values_.string(field.value());
      } else if (key == "bytes") {
        info.bytes = Bytes{values_.integer(field.value(), 0, largest)};
      } else if (key == "accumulate") {
        info.accumulate = values_.flag(field.value());
      } else if (key == "persistent") {
        info.persistent = values_.flag(field.value());
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
    for (auto item : values_.array(value)) {
      Value task = item;
      place_.inner(element);
      if (task.type() == ondemand::json_type::string) {
        references_.by_name(use, tensor.value(), element, values_.string(task));
      } else {
        if (count == 0)
          place_.refuse(values_.token(task), "tasks before the tensors that they use");
        references_.by_index(
            use, tensor.value(), static_cast<std::uint32_t>(values_.integer(task, 0, count - 1)));
      }
      ++element;
    }
    return element;
  }

  const std::string text_;  // with padding behind it; names and keys in messages point into it
  bool is_graph_ = false;
  ondemand::parser parser_;
  detail::JsonPlace place_;
  JsonValues values_;
  detail::GraphTotals totals_;
  TaskGraphBuilder builder_;
  std::vector<Duration> operations_;
  OperationId plain_operation_;
  std::unordered_map<std::string, OperationId> operation_by_name_;
  detail::GraphReferences references_;
  std::uint32_t tensor_count_ = 0;
};

}  // namespace

TaskGraph read_graph_json(std::string_view text, const std::string& file) {
  return Reader{text, file}.read();
}

}  // namespace schedlab
