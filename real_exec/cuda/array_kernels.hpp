// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cuda_bf16.h>
#include <cuda_runtime_api.h>

namespace schedlab::detail {

// Kernels over whole arrays on a device: sums, the loss, the optimizer, rounding.

/// sums[column] += the sum over rows of D[row, column], in an order that does not change.
struct DeviceColumnSums {
  const float* d = nullptr;
  float* sums = nullptr;
  int rows = 0;
  int columns = 0;
  int stride = 0;
};
void add_column_sums(const DeviceColumnSums& args, cudaStream_t stream);

/// to[row, column] += from[row, column].
struct DeviceAddition {
  float* to = nullptr;
  const float* from = nullptr;
  int rows = 0;
  int columns = 0;
  int stride = 0;  ///< of both
};
void add(const DeviceAddition& args, cudaStream_t stream);

/// dy = scale (y - target), and loss = sum((y - target)^2) / (2 divisor), summed in fp64 in an
/// order that does not change. Of rows with a length only that many steps count, and dy is 0
/// beyond. `parts`: scratch of loss_parts elements.
inline constexpr int loss_parts = 256;
struct DeviceLoss {
  const float* y = nullptr;               ///< [steps, batch, columns]
  const float* const* y_steps = nullptr;  ///< in place of y: where each step lies
  const float* target = nullptr;
  float* dy = nullptr;
  double* parts = nullptr;
  float* loss = nullptr;
  const int* lengths = nullptr;  ///< by row; nullptr: all steps count
  long long elements = 0;
  int batch = 0;
  int columns = 0;
  float scale = 0.0F;
  double divisor = 1.0;
};
void squared_error(const DeviceLoss& args, cudaStream_t stream);

/// One step of the optimizer; sgd: w -= rate * g.
struct DeviceUpdate {
  float* w = nullptr;
  __nv_bfloat16* w_low = nullptr;
  const float* gradient = nullptr;
  float* mean = nullptr;      ///< adam: m
  float* variance = nullptr;  ///< adam: v; both nullptr: sgd
  float rate = 0.0F;
  long long elements = 0;
};
void update_weights(const DeviceUpdate& args, cudaStream_t stream);

/// The nearest bf16 of each element.
void round_to_bf16(const float* from, __nv_bfloat16* to, long long elements, cudaStream_t stream);

}  // namespace schedlab::detail
