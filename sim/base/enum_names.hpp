// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "sim/base/error.hpp"

#include <algorithm>
#include <array>
#include <cstddef>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace schedlab {

/// The names of an enumeration's values in files, options and messages. Specialize it beside the
/// enumeration, whose values count from 0:
///   template <>
///   struct EnumNames<NoiseLaw> {
///     static constexpr auto names = name_list("lognormal", "normal");
///   };
template <class Enum>
struct EnumNames;

template <class... Text>
[[nodiscard]] constexpr auto name_list(const Text&... names) {
  return std::array<std::string_view, sizeof...(Text)>{names...};
}

template <class Enum>
concept NamedEnum = requires {
  EnumNames<Enum>::names.size();
};

template <NamedEnum Enum>
[[nodiscard]] constexpr std::string_view to_string(Enum value) {
  return EnumNames<Enum>::names[static_cast<std::size_t>(value)];
}

/// The value of that name; nullopt if there is none.
template <NamedEnum Enum>
[[nodiscard]] constexpr std::optional<Enum> enum_from(std::string_view name) {
  const auto& names = EnumNames<Enum>::names;
  const auto found = std::find(names.begin(), names.end(), name);
  if (found == names.end()) return std::nullopt;
  return static_cast<Enum>(found - names.begin());
}

/// The value of a name that was checked before. Throws ContractViolation for any other.
template <NamedEnum Enum>
[[nodiscard]] Enum enum_value(std::string_view name) {
  const std::optional<Enum> value = enum_from<Enum>(name);
  SCHEDLAB_EXPECTS(value.has_value(), "unknown name \"" + std::string{name} + "\"");
  return *value;
}

/// All names, in the order of the values.
template <NamedEnum Enum>
[[nodiscard]] const std::vector<std::string>& enum_names() {
  static const std::vector<std::string> names(EnumNames<Enum>::names.begin(),
                                              EnumNames<Enum>::names.end());
  return names;
}

}  // namespace schedlab
