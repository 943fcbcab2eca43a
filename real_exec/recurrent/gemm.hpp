// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <string_view>

namespace schedlab {

/// op of a factor: as it lies in memory, or transposed.
enum class Transpose : std::uint8_t { no, yes };

/// C[m, n] = alpha * op(A)[m, k] * op(B)[k, n] + beta * C. fp32, rows one after another in memory;
/// strides in elements from one row to the next.
struct Gemm {
  std::int64_t m = 0;
  std::int64_t n = 0;
  std::int64_t k = 0;
  Transpose op_a = Transpose::no;  ///< yes: a is stored as A[k, m]
  Transpose op_b = Transpose::no;  ///< yes: b is stored as B[n, k]
  const float* a = nullptr;
  std::int64_t stride_a = 0;
  const float* b = nullptr;
  std::int64_t stride_b = 0;
  float* c = nullptr;
  std::int64_t stride_c = 0;
  float alpha = 1.0F;
  float beta = 0.0F;  ///< 0: what C held is not read, not even if it is NaN
};

/// Computed by the calling thread alone, if that called prepare_worker_thread(). Any number of
/// threads may call it at a time.
///
/// Errors  ContractViolation for negative sizes or strides below the width of a row; DeviceError
/// with the library's status if that fails.
/// The order of the sums is the library's: results are equal between calls of equal shape, and
/// differ by rounding between shapes.
void gemm(const Gemm& product);

/// What computes gemm(): "onednn" or "eigen".
[[nodiscard]] std::string_view gemm_library();

/// Called once by each thread before its first gemm(): oneDNN may be built with OpenMP and would
/// start threads of its own. Affects this thread only; nothing to do with Eigen.
void prepare_worker_thread();

}  // namespace schedlab
