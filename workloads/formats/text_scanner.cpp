// SPDX-License-Identifier: Apache-2.0
#include "workloads/formats/text_scanner.hpp"

#include "sim/base/error.hpp"

#include <fmt/format.h>

#include <charconv>
#include <cmath>
#include <limits>

namespace schedlab::detail {
namespace {

/// What an error message shows of the input.
std::string shown(std::string_view text) {
  constexpr std::size_t longest = 40;
  if (text.empty()) return "the end of the line";
  return fmt::format("\"{}{}\"", text.substr(0, longest), text.size() > longest ? "..." : "");
}

}  // namespace

double TextScanner::number(const char* what) {
  skip_blanks();
  double value = 0;
  const auto [end, error] = std::from_chars(here_, end_, value);
  const bool ends = end == end_ || *end == ' ' || *end == '\n' || *end == '\t' || *end == '\r';
  if (error != std::errc{} || !ends || !std::isfinite(value) || value < 0) {
    const std::string found = shown(word());
    refuse(found, fmt::format("{}: a number of at least 0", what));
  }
  here_ = end;
  return value;
}

std::string_view TextScanner::word() {
  skip_blanks();
  const char* const begin = here_;
  while (here_ != end_ && *here_ != ' ' && *here_ != '\t' && *here_ != '\r' && *here_ != '\n') {
    ++here_;
  }
  return {begin, static_cast<std::size_t>(here_ - begin)};
}

std::string_view TextScanner::rest_of_line() {
  skip_blanks();
  const char* const begin = here_;
  while (here_ != end_ && *here_ != '\n') ++here_;
  const char* last = here_;
  while (last != begin && (last[-1] == ' ' || last[-1] == '\t' || last[-1] == '\r')) --last;
  return {begin, static_cast<std::size_t>(last - begin)};
}

void TextScanner::refuse(const std::string& found,
                         const std::string& expected,
                         const std::string& hint) const {
  throw InputError({.file = file_,
                    .pointer = fmt::format("line {}", line_),
                    .found = found,
                    .expected = expected,
                    .hint = hint});
}

void TextScanner::refuse_number(std::int64_t minimum, std::int64_t maximum, const char* what) {
  const std::string found = shown(word());
  if (minimum > maximum) refuse(found, fmt::format("{}: there is none to choose from", what));
  const bool open = maximum == std::numeric_limits<std::int64_t>::max();
  refuse(found,
         open ? fmt::format("{}: a whole number of at least {}", what, minimum)
              : fmt::format("{}: a whole number from {} to {}", what, minimum, maximum));
}

void TextScanner::refuse_rest_of_line() {
  refuse(shown(rest_of_line()), "the end of the line");
}

}  // namespace schedlab::detail
