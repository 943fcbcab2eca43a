// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "sim/base/units.hpp"
#include "workloads/formats/graph_totals.hpp"
#include "workloads/formats/json_place.hpp"

#include <fmt/format.h>
#include <simdjson.h>

#include <algorithm>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace schedlab::detail {

namespace ondemand = simdjson::ondemand;

/// A file with the padding behind it that the parser needs.
[[nodiscard]] inline std::string padded_json(std::string_view file) {
  std::string text;
  text.reserve(file.size() + simdjson::SIMDJSON_PADDING);
  text.append(file);
  return text;  // moved: a copy would lose the padding
}

/// Single values of a JSON file as what they must be, or InputError at a place.
class JsonValues {
 public:
  using Value = simdjson::simdjson_result<ondemand::value>;
  using Object = simdjson::ondemand::object;

  explicit JsonValues(const JsonPlace& place) : place_(&place) {}

  [[nodiscard]] std::string token(Value& value) const {
    std::string_view text;
    if (value.raw_json_token().get(text) != simdjson::SUCCESS) return "something else";
    while (!text.empty() && static_cast<unsigned char>(text.back()) <= ' ') text.remove_suffix(1);
    constexpr std::size_t longest_shown = 40;
    return std::string{text.substr(0, longest_shown)} + (text.size() > longest_shown ? "..." : "");
  }

  /// As written: no key that is allowed has an escape; one that has is cut at a quote at the latest
  /// and refused.
  [[nodiscard]] static std::string_view key_of(simdjson::simdjson_result<ondemand::field>& field) {
    const char* const begin = field.key().value().raw();
    const char* end = begin;
    while (*end != '"') ++end;
    return {begin, static_cast<std::size_t>(end - begin)};
  }

  [[nodiscard]] std::int64_t integer(Value value,
                                     std::int64_t minimum,
                                     std::int64_t maximum) const {
    std::int64_t number = 0;
    if (value.get_int64().get(number) != simdjson::SUCCESS || number < minimum ||
        number > maximum) {
      place_->refuse(token(value),
                     minimum == maximum
                         ? fmt::format("{}", minimum)
                         : fmt::format("a whole number from {} to {}", minimum, maximum));
    }
    return number;
  }

  [[nodiscard]] double number(Value value, double maximum) const {
    double result = 0;
    if (value.get_double().get(result) != simdjson::SUCCESS || !(result >= 0) || result > maximum) {
      place_->refuse(token(value), fmt::format("a number from 0 to {}", maximum));
    }
    return result;
  }

  [[nodiscard]] bool flag(Value value) const {
    bool result = false;
    if (value.get_bool().get(result) != simdjson::SUCCESS) {
      place_->refuse(token(value), "true or false");
    }
    return result;
  }

  [[nodiscard]] std::string_view string(Value value) const {
    std::string_view result;
    if (value.get_string().get(result) != simdjson::SUCCESS) {
      place_->refuse(token(value), "a string");
    }
    return result;
  }

  [[nodiscard]] std::size_t word(Value value, const std::vector<std::string>& words) const {
    const std::string_view given = string(value);
    const auto found = std::find(words.begin(), words.end(), given);
    if (found == words.end()) place_->refuse_name(given, words);
    return static_cast<std::size_t>(found - words.begin());
  }

  [[nodiscard]] ondemand::array array(Value value) const {
    ondemand::array result;
    if (value.get_array().get(result) != simdjson::SUCCESS) {
      place_->refuse(token(value), "an array");
    }
    return result;
  }

  [[nodiscard]] ondemand::object object(Value value) const {
    ondemand::object result;
    if (value.get_object().get(result) != simdjson::SUCCESS) {
      place_->refuse(token(value), "an object");
    }
    return result;
  }

  [[nodiscard]] Duration duration(Value value) const {
    const double us = number(value, static_cast<double>(GraphTotals::longest_duration) * 1e-6);
    return from_us(us);
  }

 private:
  const JsonPlace* place_;
};

}  // namespace schedlab::detail
