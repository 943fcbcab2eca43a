// SPDX-License-Identifier: Apache-2.0
#include "sim/base/spelling.hpp"

#include "sim/base/error.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

namespace schedlab {

std::string did_you_mean(std::string_view word, const std::vector<std::string>& candidates) {
  constexpr std::size_t longest = 60;  // a hostile word of a megabyte would cost seconds
  const std::string close = closest_spelling(word.substr(0, longest), candidates);
  if (close.empty() || close == word) return {};  // the word itself, of another type
  return fmt::format("did you mean \"{}\"?", close);
}

std::string one_of(const std::vector<std::string>& candidates) {
  return fmt::format("one of {}", fmt::join(candidates, ", "));
}

void refuse_unknown(const std::string& file,
                    const std::string& pointer,
                    const std::string& found,
                    std::string_view word,
                    const std::vector<std::string>& known) {
  throw InputError({.file = file,
                    .pointer = pointer,
                    .found = found,
                    .expected = one_of(known),
                    .hint = did_you_mean(word, known)});
}

}  // namespace schedlab
