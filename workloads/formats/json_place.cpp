// SPDX-License-Identifier: Apache-2.0
#include "workloads/formats/json_place.hpp"

#include "sim/base/error.hpp"
#include "sim/base/json_node.hpp"

#include <fmt/format.h>

namespace schedlab::detail {
namespace {

constexpr std::size_t longest_shown = 60;

std::string shown(std::string_view text) {
  return fmt::format(
      "{}{}", text.substr(0, longest_shown), text.size() > longest_shown ? "..." : "");
}

std::string did_you_mean(std::string_view given, const std::vector<std::string>& words) {
  // A hostile word of a megabyte would make the comparison quadratic.
  const std::string close = closest_spelling(given.substr(0, longest_shown), words);
  return close.empty() ? std::string{} : fmt::format("did you mean \"{}\"?", close);
}

}  // namespace

std::string JsonPlace::pointer() const {
  std::string text;
  for (std::size_t i = 0; i < depth_; ++i) {
    text += '/';
    if (parts_[i].is_index) {
      text += std::to_string(parts_[i].index);
      continue;
    }
    text += pointer_segment(shown(parts_[i].key));
  }
  return text;
}

void JsonPlace::refuse(const std::string& found,
                       const std::string& expected,
                       const std::string& hint) const {
  throw InputError(
      {.file = file_, .pointer = pointer(), .found = found, .expected = expected, .hint = hint});
}

void JsonPlace::refuse_name(std::string_view given, const std::vector<std::string>& words) const {
  refuse(fmt::format("\"{}\"", shown(given)),
         fmt::format("one of {}", fmt::join(words, ", ")),
         did_you_mean(given, words));
}

void JsonPlace::refuse_key(std::string_view given, const std::vector<std::string>& keys) const {
  refuse(fmt::format("the unknown key \"{}\"", shown(given)),
         fmt::format("one of {}", fmt::join(keys, ", ")),
         did_you_mean(given, keys));
}

void JsonPlace::refuse_name(std::string_view what,
                            std::string_view given,
                            const std::vector<std::string>& names,
                            std::size_t named,
                            std::int64_t count) const {
  const std::string close = closest_spelling(given.substr(0, longest_shown), names);
  std::string hint =
      fmt::format("this file has {} {}s, {} of them with a name", count, what, named);
  if (!close.empty()) hint += fmt::format("; the closest name is \"{}\"", close);
  refuse(fmt::format("\"{}\", but no {} is named so", shown(given), what),
         fmt::format("the name or the index of a {}", what),
         hint);
}

}  // namespace schedlab::detail
