// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "real_exec/recurrent/gemm_panels.hpp"

#include <array>
#include <cstddef>

namespace schedlab::detail {

// Kernels on whole arrays, 64-byte aligned, lengths in multiples of 16 elements.

/// to = function(from), over the elements 16 * begin .. 16 * end - 1: the functions as the cells
/// have them, for tests.
struct Evaluation {
  enum class Function : unsigned char { exp, sigmoid, tanh } function = Function::exp;
  const float* from = nullptr;
  float* to = nullptr;
  PanelRange panels{};
};
void evaluate(const Evaluation& args);

/// sums[panel] += the sum over steps and rows of D[panel], one row after another.
struct ColumnSums {
  const float* d = nullptr;   ///< of the first step
  std::ptrdiff_t d_step = 0;  ///< elements from one step to the next
  float* sums = nullptr;
  std::ptrdiff_t rows = 0;
  std::ptrdiff_t steps = 1;
  PanelRange panels{};
};
void add_column_sums(const ColumnSums& args);

/// to += from, over the elements 16 * begin .. 16 * end - 1.
struct Addition {
  float* to = nullptr;
  const float* from = nullptr;
  PanelRange panels{};
};
void add(const Addition& args);

/// to = the sum of the gradients from above and of slices of dh, over the elements 16 * begin .. 16
/// * end - 1.
struct GradientSum {
  float* to = nullptr;
  std::array<const float*, 2> upstream{};
  int upstreams = 0;
  const float* dh = nullptr;
  std::ptrdiff_t slices = 1;
  std::ptrdiff_t slice_step = 0;  ///< elements from one slice to the next
  PanelRange panels{};
};
void sum_gradients(const GradientSum& args);

/// dy = scale * (y - target) over one row of panels; returns through `sums` 16 partial sums of (y -
/// target)^2.
struct SquaredError {
  const float* y = nullptr;
  const float* target = nullptr;
  float* dy = nullptr;
  float scale = 1.0F;
  float* sums = nullptr;
  PanelRange panels{};
};
void squared_error(const SquaredError& args);

/// One step of the optimizer on tiles of 16 x 16 of a weight matrix W[rows, n] in panels, which
/// also writes its transpose; sgd: w -= rate * g.
struct WeightUpdate {
  float* w = nullptr;
  /// W^T[n, rows] in panels; nullptr: none (biases, one row of tiles).
  float* transposed = nullptr;
  const float* gradient = nullptr;
  float* mean = nullptr;      ///< adam: m
  float* variance = nullptr;  ///< adam: v; both nullptr: sgd
  float rate = 0.0F;
  std::ptrdiff_t rows = 0;  ///< multiple of 16
  std::ptrdiff_t n = 0;     ///< multiple of 16
  PanelRange panels{};      ///< of registers if not transposed, else of tiles
};
void update_weights(const WeightUpdate& args);
/// Only writes the transpose.
void transpose_weights(const WeightUpdate& args);

}  // namespace schedlab::detail
