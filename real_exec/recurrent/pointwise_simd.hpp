// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "real_exec/recurrent/gemm_panels.hpp"

#include <cstddef>
#include <cstdint>

// Inlined into functions of several instruction sets: a function of their own would be compiled for
// one only.
#define SCHEDLAB_INLINE [[gnu::always_inline]] inline

// Compiled for an x86-64 of any age: then the kernels exist once per instruction set. Where the
// compiler was told to use AVX2 or more (SCHEDLAB_NATIVE), they exist once.
#if defined(__x86_64__) && !defined(__AVX2__)
#define SCHEDLAB_SEVERAL_INSTRUCTION_SETS
#endif

// Defines `void name(const Args&)` as `body(args)` compiled for several instruction sets, of which
// the processor's best is called. Chosen by hand and not by the loader (target_clones), which the
// thread sanitizer does not survive. `body` must be SCHEDLAB_INLINE.
#ifdef SCHEDLAB_SEVERAL_INSTRUCTION_SETS
#define SCHEDLAB_FOR_EACH_INSTRUCTION_SET(name, Args, body)                   \
  [[gnu::target("arch=x86-64-v4")]] static void name##_v4(const Args& args) { \
    body(args);                                                               \
  }                                                                           \
  [[gnu::target("arch=x86-64-v3")]] static void name##_v3(const Args& args) { \
    body(args);                                                               \
  }                                                                           \
  static void name##_any(const Args& args) {                                  \
    body(args);                                                               \
  }                                                                           \
  void name(const Args& args) {                                               \
    switch (::schedlab::detail::instruction_set()) {                          \
      case ::schedlab::detail::InstructionSet::avx512:                        \
        return name##_v4(args);                                               \
      case ::schedlab::detail::InstructionSet::avx2:                          \
        return name##_v3(args);                                               \
      default:                                                                \
        return name##_any(args);                                              \
    }                                                                         \
  }
#else
#define SCHEDLAB_FOR_EACH_INSTRUCTION_SET(name, Args, body) \
  void name(const Args& args) {                             \
    body(args);                                             \
  }
#endif

namespace schedlab::detail {

// May alias: the arrays are arrays of float.
using Floats [[gnu::vector_size(64), gnu::may_alias]] = float;
using Words [[gnu::vector_size(64), gnu::may_alias]] = std::uint32_t;

enum class InstructionSet : std::uint8_t { any, avx2, avx512 };
/// The best that this processor has.
[[nodiscard]] InstructionSet instruction_set();

// NOLINTBEGIN(cppcoreguidelines-pro-type-reinterpret-cast): the types may alias, memory is aligned
SCHEDLAB_INLINE Floats load(const float* p) {
  return *reinterpret_cast<const Floats*>(p);
}
SCHEDLAB_INLINE void store(float* p, Floats value) {
  *reinterpret_cast<Floats*>(p) = value;
}
// NOLINTEND(cppcoreguidelines-pro-type-reinterpret-cast)
SCHEDLAB_INLINE Floats all_lanes(float value) {
  return value - Floats{};
}

/// e^x for |x| <= 87, beyond that e^87 or e^-87. Relative error below 2e-7 (tested).
/// Method: x = n ln 2 + r, |r| <= ln 2 / 2; polynomial of Cephes' expf (S. Moshier).
SCHEDLAB_INLINE Floats exp(Floats x) {
  const Floats limit = all_lanes(87.0F);
  x = x < limit ? x : limit;  // in this form one instruction
  x = -limit < x ? x : -limit;
  // Adding 1.5 * 2^23 rounds to an integer, which then stands in the low bits.
  const Floats magic = all_lanes(12582912.0F);
  const Floats shifted = x * 1.44269504088896341F + magic;
  const Floats n = shifted - magic;
  const Floats r = (x - n * 0.693359375F) - n * -2.12194440e-4F;
  Floats p = all_lanes(1.9875691500e-4F);
  p = p * r + 1.3981999507e-3F;
  p = p * r + 8.3334519073e-3F;
  p = p * r + 4.1665795894e-2F;
  p = p * r + 1.6666665459e-1F;
  p = p * r + 5.0000001201e-1F;
  p = p * (r * r) + r + 1.0F;
  const Words exponent = __builtin_bit_cast(Words, shifted) << 23;
  const Words scaled = __builtin_bit_cast(Words, p) + exponent;
  return __builtin_bit_cast(Floats, scaled);
}

/// 1 / x for x in [1, 2^126]. Relative error below 2e-7. A third of a division's time: a first
/// guess within 13 % by turning the exponent round, then Newton's method, which squares the error
/// three times.
SCHEDLAB_INLINE Floats reciprocal(Floats x) {
  const Words guess = 0x7EF311C7U - __builtin_bit_cast(Words, x);
  auto y = __builtin_bit_cast(Floats, guess);
  y = y * (2.0F - x * y);
  y = y * (2.0F - x * y);
  return y + y * (1.0F - x * y);
}

/// 1 / (1 + e^-x). Relative error below 4e-7 (tested).
SCHEDLAB_INLINE Floats sigmoid(Floats x) {
  return reciprocal(1.0F + exp(-x));
}

/// Hyperbolic tangent. Relative error below 4e-7 (tested). Method: Cephes' tanhf: a polynomial for
/// |x| < 0.625, else 1 - 2 / (e^2x + 1).
SCHEDLAB_INLINE Floats tanh(Floats x) {
  const Floats square = x * x;
  Floats p = all_lanes(-5.70498872745e-3F);
  p = p * square + 2.06390887954e-2F;
  p = p * square - 5.37397155531e-2F;
  p = p * square + 1.33314422036e-1F;
  p = p * square - 3.33332819422e-1F;
  const Floats near = p * square * x + x;
  const Floats far = 1.0F - 2.0F * reciprocal(exp(x + x) + 1.0F);
  return square < 0.625F * 0.625F ? near : far;
}

/// Elements that the point-wise kernels fetch ahead: they read more arrays than the processor
/// follows by itself.
inline constexpr std::ptrdiff_t fetch_ahead = 8 * lanes;
SCHEDLAB_INLINE void fetch(const float* p) {
  __builtin_prefetch(p + fetch_ahead);
}
SCHEDLAB_INLINE void fetch_to_write(float* p) {
  __builtin_prefetch(p + fetch_ahead, 1);
}

/// Square root by lane.
SCHEDLAB_INLINE Floats sqrt(Floats x) {
  for (std::ptrdiff_t i = 0; i < lanes; ++i) x[i] = __builtin_sqrtf(x[i]);
  return x;
}

}  // namespace schedlab::detail
