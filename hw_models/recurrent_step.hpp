// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "sim/machine/matrix_library.hpp"

namespace schedlab {

/// Largest number of parts of k in a step of a library's recurrent layer.
inline constexpr std::int64_t recurrent_max_split = 4;
/// Its kernels' tiles, both sides.
inline constexpr std::int64_t recurrent_tile = 32;
/// Largest batches of its narrow and of its slow kernel, where it has them.
inline constexpr std::int64_t recurrent_narrow_batch = 16;
inline constexpr std::int64_t recurrent_slow_batch = 32;

struct LibraryTime {
  Duration duration{0};
  Duration arithmetic{0};  ///< of it
};

/// A step of a library's recurrent layer: the matrix kernel and all others but the cell.
/// C[m = batch, n] = A[m, k] * W[k, n].
///
///   tiles   = ceil(m / 32) * ceil(n / 32)
///   split   = largest power of two up to 4 with tiles * split <= units, else 1: k is split to
///             give idle units work, not where it is faster
///   compute = ceil(tiles * split / units) * 2 * 32 * 32 * ceil(k / split) FLOP at
///             peak / units * efficiency
///   memory  = bytes of the weights / (reachable bandwidth * memory_share)
///   step    = fixed + max(compute, memory)
///   split:    + stream gap + kernel floor + sums in fp32 / bandwidth of the last-level cache (of
///             the memory, if the device's file has none)
///   batches up to 16, with a narrow_efficiency: compute = FLOPs / (peak * narrow_efficiency), no
///             split; a kernel that does one column after another, so that half the batch takes
///             half the time
///   batches of 17 to 32, with a slow_step: fixed + k * slow_step; a kernel whose time grows with k
///             alone, so it neither splits k nor overlaps its steps
///
/// Forward the weights are a transposed operand: memory_share times `strided_share` of the library
/// unless k is a power of two.
[[nodiscard]] LibraryTime recurrent_step(const Kernel& kernel,
                                         const Device& device,
                                         const MatrixLibrary& library,
                                         bool forward);

/// The weight gradient of all steps of a call; C[m, n] = A[m, k] * B[k, n], k = steps * batch.
///
///   fixed + FLOPs / (peak * efficiency)
///         + bytes of (result_moves * C + operand_moves * (A and B)) / reachable bandwidth
///
/// One after another; assumed cause: sums over the steps, gradients of the biases and changes of
/// layout are kernels of their own.
[[nodiscard]] LibraryTime recurrent_weight_gradient(const Kernel& kernel,
                                                    const Device& device,
                                                    const MatrixLibrary& library);

}  // namespace schedlab
