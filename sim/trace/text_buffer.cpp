// SPDX-License-Identifier: Apache-2.0
#include "sim/trace/text_buffer.hpp"

#include "sim/trace/text_direction.hpp"

#include <algorithm>
#include <array>
#include <cmath>

namespace schedlab {

namespace {

constexpr std::string_view replacement = "\xEF\xBF\xBD";  // U+FFFD

[[nodiscard]] bool plain_json(std::string_view text) {
  // c < ' ' also if beyond ASCII
  return std::none_of(text.begin(), text.end(), [](char c) {
    return c < ' ' || c == '"' || c == '\\' || c == 0x7F;
  });
}

[[nodiscard]] bool continuation(char c) {
  return (static_cast<unsigned char>(c) & 0xC0U) == 0x80U;
}

}  // namespace

std::size_t utf8_length(std::string_view text) {
  const auto byte = [text](std::size_t i) { return static_cast<unsigned char>(text[i]); };
  const unsigned first = byte(0);
  if (first < 0x80U) return 1;
  const std::size_t length = first >= 0xF0U ? 4 : first >= 0xE0U ? 3 : 2;
  if (first < 0xC2U || first > 0xF4U || text.size() < length) return 0;
  for (std::size_t i = 1; i < length; ++i) {
    if (!continuation(text[i])) return 0;
  }
  if (first == 0xE0U && byte(1) < 0xA0U) return 0;   // overlong
  if (first == 0xEDU && byte(1) >= 0xA0U) return 0;  // surrogates
  if (first == 0xF0U && byte(1) < 0x90U) return 0;   // overlong
  if (first == 0xF4U && byte(1) >= 0x90U) return 0;  // beyond U+10FFFF
  return length;
}

void TextBuffer::grow(std::size_t bytes) {
  constexpr std::size_t first_size = 256;
  text_.resize(std::max({text_.size() * 2, used_ + bytes, first_size}));
}

TextBuffer& TextBuffer::operator<<(double value) {
  if (!std::isfinite(value)) return *this << "null";
  constexpr std::size_t longest = 40;
  char* const to = claim(longest);
  used_ += static_cast<std::size_t>(std::to_chars(to, to + longest, value).ptr - to);
  return *this;
}

TextBuffer& TextBuffer::microseconds(std::int64_t picoseconds) {
  constexpr std::uint64_t per_us = 1'000'000;
  const bool negative = picoseconds < 0;
  const auto magnitude = negative ? 0 - static_cast<std::uint64_t>(picoseconds)
                                  : static_cast<std::uint64_t>(picoseconds);
  if (negative) *this << '-';
  *this << magnitude / per_us;
  auto fraction = static_cast<std::uint32_t>(magnitude % per_us);
  if (fraction == 0) return *this;
  char* const to = claim(7);
  to[0] = '.';
  std::size_t length = 7;
  for (std::size_t i = 6; i >= 1; --i) {
    to[i] = static_cast<char>('0' + fraction % 10);
    fraction /= 10;
  }
  while (to[length - 1] == '0') --length;
  used_ += length;
  return *this;
}

TextBuffer& TextBuffer::rounded(double value, int decimals) {
  if (!std::isfinite(value)) return *this << '0';
  std::array<char, 400> digits;  // NOLINT(cppcoreguidelines-pro-type-member-init): written next
  // Space for the largest double in fixed form.
  const auto result = std::to_chars(
      digits.data(), digits.data() + digits.size(), value, std::chars_format::fixed, decimals);
  std::string_view number{digits.data(), static_cast<std::size_t>(result.ptr - digits.data())};
  if (decimals > 0) {
    while (number.back() == '0') number.remove_suffix(1);
    if (number.back() == '.') number.remove_suffix(1);
  }
  return *this << (number == "-0" ? std::string_view{"0"} : number);
}

TextBuffer& TextBuffer::json_string(std::string_view text) {
  if (plain_json(text)) return *this << '"' << text << '"';
  *this << '"';
  constexpr std::string_view hex = "0123456789abcdef";
  while (!text.empty()) {
    const std::size_t length = utf8_length(text);
    const char c = text.front();
    if (length == 0) {
      *this << replacement;
    } else if (c == '"' || c == '\\') {
      *this << '\\' << c;
    } else if (length == 1 && (c < ' ' || c == 0x7F)) {
      const auto code = static_cast<unsigned>(static_cast<unsigned char>(c));
      *this << "\\u00" << hex[code >> 4U] << hex[code & 0xFU];
    } else {
      *this << text.substr(0, length);
    }
    text.remove_prefix(length == 0 ? 1 : length);
  }
  *this << '"';
  return *this;
}

TextBuffer& TextBuffer::xml(std::string_view text) {
  while (!text.empty()) {
    const std::size_t length = utf8_length(text);
    const char c = text.front();
    const bool forbidden =
        length == 0 || (length == 1 && c < ' ' && c != '\t' && c != '\n') ||
        (length == 3 && (text.starts_with("\xEF\xBF\xBE") || text.starts_with("\xEF\xBF\xBF") ||
                         direction_control_length(text) > 0));
    if (forbidden) {
      *this << replacement;
    } else if (c == '&') {
      *this << "&amp;";
    } else if (c == '<') {
      *this << "&lt;";
    } else if (c == '>') {
      *this << "&gt;";
    } else if (c == '"') {
      *this << "&quot;";
    } else if (c == '\'') {
      *this << "&#39;";
    } else {
      *this << text.substr(0, length);
    }
    text.remove_prefix(length == 0 ? 1 : length);
  }
  return *this;
}

}  // namespace schedlab
