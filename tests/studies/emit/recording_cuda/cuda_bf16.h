// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <cstring>

struct __nv_bfloat16 {
  std::uint16_t bits;
};
inline float __bfloat162float(__nv_bfloat16 low) {
  const std::uint32_t bits = std::uint32_t{low.bits} << 16U;
  float value = 0;
  std::memcpy(&value, &bits, sizeof(value));
  return value;
}
/// To the nearest, ties to even; a NaN stays one.
inline __nv_bfloat16 __float2bfloat16_rn(float value) {
  if (value != value) return {0x7FFF};
  std::uint32_t bits = 0;
  std::memcpy(&bits, &value, sizeof(bits));
  bits += 0x7FFFU + ((bits >> 16U) & 1U);
  return {static_cast<std::uint16_t>(bits >> 16U)};
}
inline __nv_bfloat16 __float2bfloat16(float value) {
  return __float2bfloat16_rn(value);
}
