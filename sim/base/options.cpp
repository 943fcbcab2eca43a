// SPDX-License-Identifier: Apache-2.0
#include "sim/base/options.hpp"

#include "sim/base/error.hpp"
#include "sim/base/spelling.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <utility>

namespace schedlab {
namespace {

constexpr std::array<std::string_view, 4> type_names{
    "true or false", "an integer", "a number", "a string"};

template <class T>
const T& get(const std::map<std::string, OptionValue>& values, std::string_view name) {
  const auto found = values.find(std::string{name});
  SCHEDLAB_EXPECTS(found != values.end(), fmt::format("option \"{}\" is not declared", name));
  const T* value = std::get_if<T>(&found->second);
  SCHEDLAB_EXPECTS(value != nullptr, fmt::format("option \"{}\" has another type", name));
  return *value;
}

[[noreturn]] void reject(const std::string& name,
                         std::string found,
                         std::string expected,
                         std::string hint) {
  throw InputError({.file = {},
                    .pointer = "/" + name,
                    .found = std::move(found),
                    .expected = std::move(expected),
                    .hint = std::move(hint)});
}

std::string join(const std::vector<std::string>& words) {
  return fmt::format("{}", fmt::join(words, ", "));
}

void check_number(const OptionSpec& spec, double value, const std::string& shown) {
  if (value >= spec.minimum && value <= spec.maximum) return;
  const std::string range = spec.maximum == std::numeric_limits<double>::infinity()
                                ? fmt::format("at least {}", spec.minimum)
                                : fmt::format("a value from {} to {}", spec.minimum, spec.maximum);
  reject(spec.name, shown, range, {});
}

void check_word(const OptionSpec& spec, const std::string& word) {
  if (spec.allowed.empty() ||
      std::find(spec.allowed.begin(), spec.allowed.end(), word) != spec.allowed.end()) {
    return;
  }
  reject(spec.name,
         fmt::format("\"{}\"", word),
         "one of " + join(spec.allowed),
         did_you_mean(word, spec.allowed));
}

OptionValue checked(const OptionSpec& spec, OptionValue value) {
  if (std::holds_alternative<double>(spec.default_value)) {
    if (const auto* integer = std::get_if<std::int64_t>(&value)) {
      value = static_cast<double>(*integer);
    }
  }
  if (value.index() != spec.default_value.index()) {
    reject(spec.name,
           fmt::format("\"{}\"", to_string(value)),
           std::string{type_names[spec.default_value.index()]},
           spec.doc);
  }
  if (const auto* integer = std::get_if<std::int64_t>(&value)) {
    check_number(spec, static_cast<double>(*integer), to_string(value));
  } else if (const auto* number = std::get_if<double>(&value)) {
    check_number(spec, *number, to_string(value));
  } else if (const auto* word = std::get_if<std::string>(&value)) {
    check_word(spec, *word);
  }
  return value;
}

}  // namespace

bool Options::flag(std::string_view name) const {
  return get<bool>(values_, name);
}
std::int64_t Options::integer(std::string_view name) const {
  return get<std::int64_t>(values_, name);
}
double Options::number(std::string_view name) const {
  return get<double>(values_, name);
}
const std::string& Options::text(std::string_view name) const {
  return get<std::string>(values_, name);
}

Options resolve_options(std::string_view owner,
                        const std::vector<OptionSpec>& specs,
                        const std::map<std::string, OptionValue>& given) {
  std::map<std::string, OptionValue> values;
  std::vector<std::string> names;
  for (const OptionSpec& spec : specs) {
    names.push_back(spec.name);
    const auto found = given.find(spec.name);
    if (found == given.end() && spec.required) {
      reject(spec.name, "nothing", fmt::format("a value: {} needs it", owner), spec.doc);
    }
    values[spec.name] = found == given.end() ? spec.default_value : checked(spec, found->second);
  }
  for (const auto& [name, value] : given) {
    if (values.contains(name)) continue;
    reject(name,
           fmt::format("the unknown option \"{}\"", name),
           names.empty() ? fmt::format("no options: {} has none", owner)
                         : fmt::format("an option of {}: {}", owner, join(names)),
           did_you_mean(name, names));
  }
  return Options{std::move(values)};
}

std::string to_string(const OptionValue& value) {
  return std::visit([](const auto& v) { return fmt::format("{}", v); }, value);
}

}  // namespace schedlab
