// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>

namespace schedlab::detail {

/// Numbers of well-formed text, as our own writers make it, at a few instructions a digit. Whoever
/// reads so makes sure that a character that is no digit follows before the memory ends, and reads
/// anew with checks and messages where a function returns false.
inline constexpr std::ptrdiff_t max_plain_digits = 18;  // fit into 63 bits

/// 1 to 18 digits; `at` then stands behind them.
[[nodiscard, gnu::always_inline]] inline bool plain_digits(const char*& at, std::int64_t& value) {
  const char* p = at;
  auto digit = static_cast<unsigned>(static_cast<unsigned char>(*p)) - '0';
  if (digit > 9) return false;
  std::uint64_t sum = digit;
  while ((digit = static_cast<unsigned>(static_cast<unsigned char>(*++p)) - '0') <= 9) {
    sum = sum * 10 + digit;
  }
  if (p - at > max_plain_digits) return false;
  value = static_cast<std::int64_t>(sum);
  at = p;
  return true;
}

/// The same, or "-1".
[[nodiscard, gnu::always_inline]] inline bool plain_digits_or_none(const char*& at,
                                                                   std::int64_t& value) {
  if (*at != '-') return plain_digits(at, value);
  if (at[1] != '1') return false;
  value = -1;
  at += 2;
  return true;
}

}  // namespace schedlab::detail
