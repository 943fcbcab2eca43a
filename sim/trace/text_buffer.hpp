// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "sim/base/units.hpp"

#include <charconv>
#include <concepts>
#include <cstdint>
#include <string>
#include <string_view>
#include <utility>

namespace schedlab {

/// Appends text and numbers to one string: what the writers of large files are made of. Numbers
/// never depend on the locale; doubles are written in the shortest form that reads back as the same
/// value.
class TextBuffer {
 public:
  TextBuffer& operator<<(std::string_view text) {
    text_.append(text);
    return *this;
  }
  TextBuffer& operator<<(char c) {
    text_.push_back(c);
    return *this;
  }
  template <std::integral Integer>
  requires(!std::same_as<Integer, char> && !std::same_as<Integer, bool>) TextBuffer& operator<<(
      Integer value) {
    char digits[24];
    const auto end = std::to_chars(digits, digits + sizeof digits, value).ptr;
    text_.append(digits, static_cast<std::size_t>(end - digits));
    return *this;
  }
  /// "null" for infinities and NaN, which JSON does not have.
  TextBuffer& operator<<(double value);

  /// Picoseconds as microseconds with up to six decimals: exact, "12.5", "-0.000001".
  TextBuffer& microseconds(std::int64_t picoseconds);
  /// With at most `decimals` decimals, without trailing zeros.
  TextBuffer& rounded(double value, int decimals);
  /// A JSON string with its quotes. Control characters are escaped; bytes that are not UTF-8 become
  /// U+FFFD, because no reader would accept the file otherwise.
  TextBuffer& json_string(std::string_view text);
  /// Text or attribute value of XML and HTML: the five special characters are escaped; characters
  /// that XML forbids, and bytes that are not UTF-8, become U+FFFD.
  TextBuffer& xml(std::string_view text);

  [[nodiscard]] const std::string& text() const { return text_; }
  [[nodiscard]] std::size_t size() const { return text_.size(); }
  [[nodiscard]] std::string take() && { return std::move(text_); }
  void clear() { text_.clear(); }
  void reserve(std::size_t bytes) { text_.reserve(bytes); }

 private:
  std::string text_;
};

/// Length in bytes of the UTF-8 character at the start of `text` (not empty), 0 if it is malformed
/// (overlong forms and surrogates included).
[[nodiscard]] std::size_t utf8_length(std::string_view text);

}  // namespace schedlab
