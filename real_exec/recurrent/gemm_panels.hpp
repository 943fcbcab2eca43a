// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>

namespace schedlab::detail {

// Matrix products on matrices stored in panels: X[rows, columns] lies as [columns / 16][rows][16],
// columns padded with zeros to a multiple of 16, 64-byte aligned. The same array can then be the
// left factor (its elements are broadcast), the right factor of a product over its rows (a row of a
// panel is a register), and the result, so nothing is packed or transposed between the products of
// a recurrent layer but weights, and these only when they change.
//
// Every element of a result is one chain of fused multiply-adds in the order of the sum, that
// starts from what the result held or from zero. It does not depend on which panels a call
// computes, nor on how many calls a sum is split into.

/// Columns of a panel: one register of AVX-512, two of AVX2, four of SSE or NEON.
inline constexpr std::ptrdiff_t lanes = 16;

/// Some panels of a result.
struct PanelRange {
  std::ptrdiff_t begin = 0;
  std::ptrdiff_t end = 0;
};

/// Share `block` of `blocks` equal ones of `total` panels (or other units); may be empty.
[[nodiscard]] constexpr PanelRange share(std::ptrdiff_t total,
                                         std::size_t block,
                                         std::size_t blocks) {
  const auto part = static_cast<std::ptrdiff_t>(block);
  const auto parts = static_cast<std::ptrdiff_t>(blocks);
  return {total * part / parts, total * (part + 1) / parts};
}

/// C[rows, n] = A[rows, k] * B[k, n], k a multiple of 16; of several steps C_s = A_s * B, which
/// read B once. Steps lie at equal distances (which may be negative).
struct PanelProduct {
  const float* a = nullptr;
  const float* b = nullptr;
  float* c = nullptr;
  std::ptrdiff_t rows = 0;
  std::ptrdiff_t k = 0;
  std::ptrdiff_t b_rows = 0;  ///< rows that B has in memory: at least k
  std::ptrdiff_t steps = 1;
  std::ptrdiff_t a_step = 0;  ///< elements from one step to the next
  std::ptrdiff_t c_step = 0;
};
void multiply(const PanelProduct& product, PanelRange panels);

/// C[features, n] += sum over s of A_s[rows, features]^T * D_s[rows, n], s = 0 .. steps-1, features
/// a multiple of 16. Steps lie at equal distances (which may be negative).
struct PanelGradient {
  const float* a = nullptr;   ///< of s = 0
  std::ptrdiff_t a_step = 0;  ///< elements from one step to the next
  const float* d = nullptr;   ///< of s = 0
  std::ptrdiff_t d_step = 0;
  float* c = nullptr;
  std::ptrdiff_t rows = 0;
  std::ptrdiff_t features = 0;
  std::ptrdiff_t steps = 1;
};
void accumulate(const PanelGradient& gradient, PanelRange panels);

}  // namespace schedlab::detail
