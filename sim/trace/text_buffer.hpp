// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "sim/base/units.hpp"

#include <algorithm>
#include <charconv>
#include <concepts>
#include <cstddef>
#include <cstdint>
#include <cstring>
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
    char* const to = claim(text.size());
    std::copy(text.begin(), text.end(), to);
    used_ += text.size();
    return *this;
  }
  /// Literals, with a length the compiler knows.
  template <std::size_t Size>
  // NOLINTNEXTLINE(*-avoid-c-arrays): what a literal is
  TextBuffer& operator<<(const char (&text)[Size]) {
    std::memcpy(claim(Size), text, Size - 1);
    used_ += Size - 1;
    return *this;
  }
  TextBuffer& operator<<(char c) {
    *claim(1) = c;
    ++used_;
    return *this;
  }
  template <std::integral Integer>
  requires(!std::same_as<Integer, char> && !std::same_as<Integer, bool>) TextBuffer& operator<<(
      Integer value) {
    constexpr std::size_t max_digits = 24;
    char* const to = claim(max_digits);
    used_ += static_cast<std::size_t>(std::to_chars(to, to + max_digits, value).ptr - to);
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

  /// Valid until the next change.
  [[nodiscard]] std::string_view text() const { return {text_.data(), used_}; }
  [[nodiscard]] std::size_t size() const { return used_; }
  [[nodiscard]] std::string take() && {
    text_.resize(used_);
    used_ = 0;
    return std::move(text_);
  }
  void clear() { used_ = 0; }
  void reserve(std::size_t bytes) {
    if (bytes > used_) (void)claim(bytes - used_);
  }

 private:
  /// Where the next `bytes` characters go.
  [[nodiscard]] char* claim(std::size_t bytes) {
    if (text_.size() - used_ < bytes) [[unlikely]] {
      grow(bytes);
    }
    return text_.data() + used_;
  }
  void grow(std::size_t bytes);

  std::string text_;  // longer than what is in use
  std::size_t used_ = 0;
};

/// Length in bytes of the UTF-8 character at the start of `text` (not empty), 0 if it is malformed
/// (overlong forms and surrogates included).
[[nodiscard]] std::size_t utf8_length(std::string_view text);

}  // namespace schedlab
