// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <bit>
#include <cstddef>
#include <cstdint>

namespace schedlab::detail {

/// The upper half of a float's bits, rounded to nearest, ties to even: off by at most 2^-8 of the
/// value's size; values too large become infinite, and what is no number stays none.
[[nodiscard]] inline std::uint16_t to_bf16(float value) {
  constexpr std::uint32_t sign_bit = 0x8000'0000U;
  constexpr std::uint32_t infinite = 0x7F80'0000U;
  const auto bits = std::bit_cast<std::uint32_t>(value);
  const bool no_number = (bits & ~sign_bit) > infinite;
  const std::uint32_t rounded = bits + 0x7FFFU + ((bits >> 16U) & 1U);
  // Of what is no number a bit that no rounding clears.
  return static_cast<std::uint16_t>((no_number ? bits | 0x0040'0000U : rounded) >> 16U);
}

[[nodiscard]] inline float from_bf16(std::uint16_t half) {
  return std::bit_cast<float>(static_cast<std::uint32_t>(half) << 16U);
}

/// Rounds to the nearest bf16, in place.
inline void round_to_bf16(float* values, std::ptrdiff_t count) {
  for (std::ptrdiff_t i = 0; i < count; ++i) values[i] = from_bf16(to_bf16(values[i]));
}

}  // namespace schedlab::detail
