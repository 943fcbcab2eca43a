// SPDX-License-Identifier: Apache-2.0
#include "sim/base/error.hpp"
#include "workloads/buckets/lengths.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <optional>
#include <utility>

namespace schedlab {
namespace {

std::string_view trimmed(std::string_view text) {
  constexpr std::string_view blanks = " \t\r\"";
  const std::size_t first = text.find_first_not_of(blanks);
  if (first == std::string_view::npos) return {};
  return text.substr(first, text.find_last_not_of(blanks) - first + 1);
}

std::vector<std::string_view> fields_of(std::string_view line) {
  std::vector<std::string_view> fields;
  while (true) {
    const std::size_t comma = line.find(',');
    fields.push_back(trimmed(line.substr(0, comma)));
    if (comma == std::string_view::npos) return fields;
    line.remove_prefix(comma + 1);
  }
}

/// Reads line by line; every message names the file and the line.
class LengthReader {
 public:
  explicit LengthReader(std::string file) : file_(std::move(file)) {}

  void take(std::string_view line) {
    ++line_;
    line = trimmed(line);
    if (line.empty() || line.front() == '#') {
      if (line.empty() && started_ && blank_line_ == 0) blank_line_ = line_;
      return;
    }
    if (blank_line_ != 0) {
      line_ = blank_line_;
      refuse("an empty line between lengths",
             fmt::format("a length: a whole number from 1 to {}", longest_accepted_length),
             "take the line out if no length is missing");
    }
    const auto fields = fields_of(line);
    const bool first = !started_;
    started_ = true;
    if (first && is_header(fields)) {
      take_header(fields);
      return;
    }
    const std::int64_t length = number(fields, length_column_, "a length", longest_accepted_length);
    const std::int64_t count =
        count_column_ ? number(fields, *count_column_, "a count", max_sequences) : 1;
    if (count > max_sequences - static_cast<std::int64_t>(lengths_.size())) {
      refuse(fmt::format("more than {} sequences", max_sequences), "fewer", "take a sample");
    }
    lengths_.insert(lengths_.end(), static_cast<std::size_t>(count), length);
  }

  [[nodiscard]] std::vector<std::int64_t> finish() && {
    if (lengths_.empty()) {
      throw InputError({.file = file_,
                        .pointer = {},
                        .found = "no lengths",
                        .expected = "one length a line, or a header with the column length",
                        .hint = {}});
    }
    return std::move(lengths_);
  }

 private:
  static bool is_header(const std::vector<std::string_view>& fields) {
    const auto letter = [](char c) { return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z'); };
    return std::all_of(fields.begin(), fields.end(), [&](std::string_view field) {
      return !field.empty() && letter(field.front());
    });
  }

  void take_header(const std::vector<std::string_view>& fields) {
    const auto length = std::find(fields.begin(), fields.end(), "length");
    if (length == fields.end()) {
      refuse(fmt::format("a header without the column length (first column \"{}\")", fields[0]),
             "a column named length, and optionally one named count",
             {});
    }
    length_column_ = static_cast<std::size_t>(length - fields.begin());
    const auto count = std::find(fields.begin(), fields.end(), "count");
    if (count != fields.end()) count_column_ = static_cast<std::size_t>(count - fields.begin());
  }

  std::int64_t number(const std::vector<std::string_view>& fields,
                      std::size_t column,
                      const char* what,
                      std::int64_t most) const {
    const auto expected = fmt::format("{}: a whole number from 1 to {}", what, most);
    if (column >= fields.size() || fields[column].empty()) {
      refuse(fmt::format("nothing in column {}", column + 1), expected, {});
    }
    const std::string_view field = fields[column];
    std::int64_t value = 0;
    const auto [end, error] = std::from_chars(field.data(), field.data() + field.size(), value);
    const bool whole = error == std::errc{} && end == field.data() + field.size();
    if (!whole || value < 1 || value > most) refuse(fmt::format("\"{}\"", field), expected, {});
    return value;
  }

  [[noreturn]] void refuse(const std::string& found,
                           const std::string& expected,
                           const std::string& hint) const {
    throw InputError({.file = file_,
                      .pointer = fmt::format("line {}", line_),
                      .found = found,
                      .expected = expected,
                      .hint = hint});
  }

  std::string file_;
  std::int64_t line_ = 0;
  std::int64_t blank_line_ = 0;  // the first one after a length; 0: none
  bool started_ = false;
  std::size_t length_column_ = 0;
  std::optional<std::size_t> count_column_;
  std::vector<std::int64_t> lengths_;
};

}  // namespace

std::vector<std::int64_t> read_lengths(std::string_view text, const std::string& file) {
  LengthReader reader{file};
  while (!text.empty()) {
    const std::size_t end = text.find('\n');
    reader.take(text.substr(0, end));
    if (end == std::string_view::npos) break;
    text.remove_prefix(end + 1);
  }
  return std::move(reader).finish();
}

}  // namespace schedlab
