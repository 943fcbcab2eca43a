// SPDX-License-Identifier: Apache-2.0
#include "workloads/traces/json_pieces.hpp"
#include "workloads/traces/kineto_event.hpp"

#include <simdjson.h>

#include <algorithm>
#include <array>
#include <charconv>
#include <limits>
#include <utility>

namespace schedlab::detail {

namespace ondemand = simdjson::ondemand;

namespace {

using Value = simdjson::simdjson_result<ondemand::value>;
using Field = std::int64_t KinetoEvent::*;
using Text = std::string_view KinetoEvent::*;

/// Arguments that are numbers; two words for one thing are two schemas or two vendors.
constexpr std::array number_fields = {
    std::pair<std::string_view, Field>{"External id", &KinetoEvent::external_id},
    std::pair<std::string_view, Field>{"external id", &KinetoEvent::external_id},
    std::pair<std::string_view, Field>{"correlation", &KinetoEvent::correlation},
    std::pair<std::string_view, Field>{"device", &KinetoEvent::device},
    std::pair<std::string_view, Field>{"stream", &KinetoEvent::stream},
    std::pair<std::string_view, Field>{"stream_id", &KinetoEvent::stream},
    std::pair<std::string_view, Field>{"event", &KinetoEvent::event},
    std::pair<std::string_view, Field>{"bytes", &KinetoEvent::bytes},
    std::pair<std::string_view, Field>{"size", &KinetoEvent::bytes},
    std::pair<std::string_view, Field>{"registers per thread", &KinetoEvent::registers_per_thread},
    std::pair<std::string_view, Field>{"shared memory", &KinetoEvent::shared_memory},
    std::pair<std::string_view, Field>{"graph id", &KinetoEvent::graph},
    std::pair<std::string_view, Field>{"graph node id", &KinetoEvent::graph_node},
    std::pair<std::string_view, Field>{"priority", &KinetoEvent::priority},
    std::pair<std::string_view, Field>{"Sequence number", &KinetoEvent::sequence_number},
    std::pair<std::string_view, Field>{"Record function id", &KinetoEvent::record_function},
    std::pair<std::string_view, Field>{"Fwd thread id", &KinetoEvent::forward_thread},
    std::pair<std::string_view, Field>{"wait_on_stream", &KinetoEvent::wait_on_stream},
    std::pair<std::string_view, Field>{"wait_on_cuda_event_record_corr_id",
                                       &KinetoEvent::wait_on_record},
    std::pair<std::string_view, Field>{"wait_on_cuda_event_id", &KinetoEvent::wait_on_event},
};

constexpr std::array categories = {
    std::pair<std::string_view, KinetoCategory>{"cpu_op", KinetoCategory::cpu_operator},
    std::pair<std::string_view, KinetoCategory>{"cuda_runtime", KinetoCategory::call},
    std::pair<std::string_view, KinetoCategory>{"kernel", KinetoCategory::kernel},
    std::pair<std::string_view, KinetoCategory>{"ac2g", KinetoCategory::ignored},
    std::pair<std::string_view, KinetoCategory>{"python_function", KinetoCategory::python_function},
    std::pair<std::string_view, KinetoCategory>{"gpu_memcpy", KinetoCategory::copy},
    std::pair<std::string_view, KinetoCategory>{"gpu_memset", KinetoCategory::memset},
    std::pair<std::string_view, KinetoCategory>{"cuda_driver", KinetoCategory::call},
    std::pair<std::string_view, KinetoCategory>{"cuda_sync", KinetoCategory::synchronization},
    std::pair<std::string_view, KinetoCategory>{"user_annotation", KinetoCategory::annotation},
    std::pair<std::string_view, KinetoCategory>{"gpu_user_annotation",
                                                KinetoCategory::device_annotation},
    std::pair<std::string_view, KinetoCategory>{"cpu_instant_event", KinetoCategory::ignored},
    // Kineto's ActivityType.cpp has these words for devices that are no GPU of NVIDIA or AMD.
    std::pair<std::string_view, KinetoCategory>{"mtia_ccp_events", KinetoCategory::accelerator},
    std::pair<std::string_view, KinetoCategory>{"mtia_runtime", KinetoCategory::call},
    std::pair<std::string_view, KinetoCategory>{"xpu_runtime", KinetoCategory::call},
    std::pair<std::string_view, KinetoCategory>{"xpu_driver", KinetoCategory::call},
    std::pair<std::string_view, KinetoCategory>{"privateuse1_runtime", KinetoCategory::call},
    std::pair<std::string_view, KinetoCategory>{"privateuse1_driver", KinetoCategory::call},
    std::pair<std::string_view, KinetoCategory>{"Operator", KinetoCategory::cpu_operator},
    std::pair<std::string_view, KinetoCategory>{"Runtime", KinetoCategory::call},
    std::pair<std::string_view, KinetoCategory>{"Kernel", KinetoCategory::kernel},
    std::pair<std::string_view, KinetoCategory>{"Memcpy", KinetoCategory::copy},
    std::pair<std::string_view, KinetoCategory>{"Memset", KinetoCategory::memset},
    std::pair<std::string_view, KinetoCategory>{"async_cpu_to_gpu", KinetoCategory::ignored},
    std::pair<std::string_view, KinetoCategory>{"async_gpu", KinetoCategory::ignored},
    std::pair<std::string_view, KinetoCategory>{"async", KinetoCategory::ignored},
    std::pair<std::string_view, KinetoCategory>{"Trace", KinetoCategory::ignored},
    std::pair<std::string_view, KinetoCategory>{"overhead", KinetoCategory::profiler},
    std::pair<std::string_view, KinetoCategory>{"critical_path", KinetoCategory::ignored},
};

template <class Table>
auto find_word(const Table& table, std::string_view word) {
  return std::find_if(
      table.begin(), table.end(), [word](const auto& entry) { return entry.first == word; });
}

std::string_view without_space(std::string_view text) {
  while (!text.empty() && static_cast<unsigned char>(text.back()) <= ' ') text.remove_suffix(1);
  return text;
}

/// A whole number in a text: decimal, hexadecimal with 0x, or a number with a fraction, cut off;
/// unsigned ones beyond 2^63 wrap around, as the ids they are.
bool to_integer(std::string_view text, std::int64_t& number) {
  const char* const end = text.data() + text.size();
  if (text.starts_with("0x")) {
    std::uint64_t handle = 0;
    const auto [rest, error] = std::from_chars(text.data() + 2, end, handle, 16);
    number = static_cast<std::int64_t>(handle);
    return error == std::errc{} && rest == end;
  }
  const auto [rest, error] = std::from_chars(text.data(), end, number);
  if (error == std::errc{} && rest == end) return true;
  std::uint64_t big = 0;
  if (const auto [last, bad] = std::from_chars(text.data(), end, big);
      bad == std::errc{} && last == end) {
    number = static_cast<std::int64_t>(big);
    return true;
  }
  double real = 0;
  const auto [last, bad] = std::from_chars(text.data(), end, real);
  if (bad != std::errc{} || last != end || !(real > -9.2e18 && real < 9.2e18)) return false;
  number = static_cast<std::int64_t>(real);
  return true;
}

std::string_view raw_token(Value& value) {
  std::string_view token;
  if (value.raw_json_token().get(token) != simdjson::SUCCESS) return {};
  return without_space(token);
}

/// Of a number, or of a text with one.
bool read_integer(Value& value, std::int64_t& number) {
  std::string_view token = raw_token(value);
  if (token.size() > 2 && token.front() == '"' && token.back() == '"') {
    token = token.substr(1, token.size() - 2);
  }
  return to_integer(token, number);
}

std::string_view read_text(Value& value) {
  std::string_view text;
  return value.get_string().get(text) == simdjson::SUCCESS ? text : std::string_view{};
}

/// A text, or whatever else it is as text: lists of ranks and names of groups are written in
/// several ways.
std::string read_name(Value& value) {
  const std::string_view token = raw_token(value);
  if (token.starts_with('[')) {
    return std::string{without_space(simdjson::to_json_string(value))};
  }
  return std::string{token.starts_with('"') ? read_text(value) : token};
}

/// Three whole numbers, as far as there are three.
bool read_extent(Value& value, std::array<std::uint32_t, 3>& extent) {
  ondemand::array list;
  if (value.get_array().get(list) != simdjson::SUCCESS) return false;
  std::size_t i = 0;
  for (auto item : list) {
    std::uint64_t number = 0;
    if (item.get_uint64().get(number) != simdjson::SUCCESS || i == extent.size() ||
        number > std::numeric_limits<std::uint32_t>::max()) {
      return false;
    }
    extent.at(i++) = static_cast<std::uint32_t>(number);
  }
  return true;
}

/// Throws simdjson_error where there is no key with a value.
std::pair<std::string_view, Value> key_and_value(
    simdjson::simdjson_result<ondemand::field>& field) {
  const std::string_view key = field.unescaped_key();
  Value value = field.value();
  if (value.error() != simdjson::SUCCESS) throw simdjson::simdjson_error{value.error()};
  return {key, value};
}

}  // namespace

KinetoCategory kineto_category(std::string_view word) {
  if (word.empty()) return KinetoCategory::none;
  const auto* const found = find_word(categories, word);
  return found == categories.end() ? KinetoCategory::other : found->second;
}

/// One pass over the fields of one event.
class KinetoEventParser::Fields {
 public:
  /// Throws simdjson_error.
  const KinetoEvent* parse(std::string_view text) {
    event_ = {};
    auto document = parser_.iterate(text.data(), text.size(), text.size() + JsonPieces::padding);
    ondemand::object object = document.get_object();
    for (auto field : object) {
      auto [key, value] = key_and_value(field);
      read_field(key, value);
    }
    return &event_;
  }

 private:
  void read_field(std::string_view key, Value& value) {
    if (key == "ph") {
      const std::string_view phase = read_text(value);
      event_.phase = phase.size() == 1 ? phase.front() : '?';
    } else if (key == "cat") {
      event_.category_name = read_text(value);
      event_.category = kineto_category(event_.category_name);
    } else if (key == "name") {
      event_.name = read_text(value);
    } else if (key == "ts") {
      event_.started = parse_microseconds(raw_token(value));
      if (!event_.started) event_.unreadable_field = "ts";
    } else if (key == "dur") {
      event_.lasted = parse_microseconds(raw_token(value));
      if (!event_.lasted) event_.unreadable_field = "dur";
    } else if (key == "pid") {
      read_place(value, event_.process);
    } else if (key == "tid") {
      read_place(value, event_.thread);
    } else if (key == "id") {
      if (!read_integer(value, event_.flow)) event_.unreadable_field = "id";
    } else if (key == "args" && uses_arguments()) {
      ondemand::object arguments;
      if (value.get_object().get(arguments) != simdjson::SUCCESS) {
        event_.unreadable_field = "args";
        return;
      }
      for (auto field : arguments) {
        auto [name, argument] = key_and_value(field);
        read_argument(name, argument);
      }
    }
  }

  /// Most events have their phase and category first; if not, everything is read.
  [[nodiscard]] bool uses_arguments() const {
    return event_.phase != 'i' && event_.category != KinetoCategory::python_function &&
           event_.category != KinetoCategory::ignored;
  }

  /// A number, or the number at the end of a text: "stream 7". Other texts are 0.
  static void read_place(Value& value, std::int64_t& number) {
    const std::string_view token = raw_token(value);
    if (!token.starts_with('"')) {
      (void)to_integer(token, number);
      return;
    }
    const std::string_view text = read_text(value);
    const std::size_t last = text.find_last_not_of("0123456789");
    (void)to_integer(last == std::string_view::npos ? text : text.substr(last + 1), number);
  }

  void read_argument(std::string_view key, Value& value) {
    const auto* const number = find_word(number_fields, key);
    if (number != number_fields.end()) {
      if (!read_integer(value, event_.*(number->second))) {
        if (raw_token(value) != "null") event_.unreadable_field = number->first;
      }
    } else if (key == "grid") {
      if (!read_extent(value, event_.grid)) event_.unreadable_field = "grid";
    } else if (key == "block") {
      if (!read_extent(value, event_.block)) event_.unreadable_field = "block";
    } else if (key == "Input Dims") {
      event_.shapes = without_space(simdjson::to_json_string(value));
    } else if (key == "Input type") {
      event_.types = without_space(simdjson::to_json_string(value));
    } else if (key == "direction") {
      event_.direction = read_text(value);
    } else if (key == "cuda_sync_kind") {
      event_.synchronization = read_text(value);
    } else if (key == "name" && event_.phase == 'M') {
      event_.label = read_text(value);
    } else {
      read_collective(key, value);
    }
  }

  void read_collective(std::string_view key, Value& value) {
    CollectiveInfo& info = event_.collective;
    if (key == "Collective name") {
      info.name = read_text(value);
      event_.has_collective = true;
    } else if (key == "Process Group Name") {
      info.group = read_name(value);
    } else if (key == "Process Group Ranks") {
      info.ranks = read_name(value);
    } else if (key == "dtype") {
      info.data_type = read_text(value);
    } else if (key == "Group size") {
      (void)read_integer(value, info.group_size);
    } else if (key == "In msg nelems") {
      (void)read_integer(value, info.elements_in);
    } else if (key == "Out msg nelems") {
      (void)read_integer(value, info.elements_out);
    } else if (key == "Seq") {
      (void)read_integer(value, info.sequence);
    }
  }

  ondemand::parser parser_;
  KinetoEvent event_;
};

KinetoEventParser::KinetoEventParser() : fields_(std::make_unique<Fields>()) {}
KinetoEventParser::~KinetoEventParser() = default;

const KinetoEvent* KinetoEventParser::parse(std::string_view text) {
  try {
    return fields_->parse(text);
  } catch (const simdjson::simdjson_error& error) {
    why_not_ = simdjson::error_message(error.error());
    return nullptr;
  }
}

}  // namespace schedlab::detail
