// SPDX-License-Identifier: Apache-2.0
// The context of the emulated device, and a cuBLAS that computes on the host.
#include "real_exec/cuda/cuda_context.hpp"
#include "real_exec/cuda/cuda_executor.hpp"
#include "real_exec/cuda/green_contexts.hpp"
#include "sim/base/error.hpp"
#include "tests/real_exec/emulated_cuda/emulated_device.hpp"
#include "tests/real_exec/emulated_cuda/emulated_state.hpp"

#include <cuda_bf16.h>
#include <fmt/format.h>

#include <cstring>
#include <vector>

struct cublasContext {
  cudaStream_t stream = nullptr;
  void* workspace = nullptr;
};

namespace schedlab {
namespace {

cublasStatus_t make_handle(cublasHandle_t* handle) {
  *handle = new cublasContext{};  // NOLINT(cppcoreguidelines-owning-memory): an opaque handle
  return CUBLAS_STATUS_SUCCESS;
}
cublasStatus_t destroy_handle(cublasHandle_t handle) {
  delete handle;  // NOLINT(cppcoreguidelines-owning-memory): an opaque handle
  return CUBLAS_STATUS_SUCCESS;
}
cublasStatus_t set_handle_stream(cublasHandle_t handle, cudaStream_t stream) {
  *handle = {.stream = stream, .workspace = nullptr};  // as cuBLAS: the default workspace again
  return CUBLAS_STATUS_SUCCESS;
}
cublasStatus_t set_handle_workspace(cublasHandle_t handle, void* workspace, std::size_t bytes) {
  handle->workspace = workspace;
  return bytes > 0 ? CUBLAS_STATUS_SUCCESS : CUBLAS_STATUS_INVALID_VALUE;
}
cublasStatus_t set_handle_units(cublasHandle_t /*handle*/, int units) {
  testing::emulated_state().product_units.insert(units);
  return CUBLAS_STATUS_SUCCESS;
}
const char* status_text(cublasStatus_t /*status*/) {
  return "emulated status";
}

/// Ten bits of the mantissa, as tensor cores of compute capability 8.0 and later take a factor.
/// They drop the other bits; a library may round to the nearest before.
float to_tf32(float value) {
  std::uint32_t bits = 0;
  std::memcpy(&bits, &value, sizeof(bits));
  if (testing::emulated_state().tf32_rounds) bits += 0x0FFFU + ((bits >> 13U) & 1U);
  bits &= 0xFFFFE000U;
  std::memcpy(&value, &bits, sizeof(bits));
  return value;
}

struct Factor {
  const void* data;
  cudaDataType type;
  std::int64_t stride;
  bool transposed;
  bool rounded;
  long long product;

  /// Of a matrix with columns one after another.
  [[nodiscard]] float at(int of, std::int64_t row, std::int64_t column) const {
    const std::int64_t i =
        of * product + (transposed ? row * stride + column : column * stride + row);
    if (type == CUDA_R_16BF) return __bfloat162float(static_cast<const __nv_bfloat16*>(data)[i]);
    const float value = static_cast<const float*>(data)[i];
    return rounded ? to_tf32(value) : value;
  }
};

/// Rows of the left factor and columns of the right one, each as it enters the product.
struct Panels {
  std::vector<float> left;
  std::vector<float> right;

  Panels(const Factor& a, const Factor& b, int of, std::int64_t m, std::int64_t n, std::int64_t k)
      : left(static_cast<std::size_t>(m * k)), right(static_cast<std::size_t>(n * k)) {
    std::size_t next = 0;
    for (std::int64_t row = 0; row < m; ++row) {
      for (std::int64_t i = 0; i < k; ++i) left[next++] = a.at(of, row, i);
    }
    next = 0;
    for (std::int64_t column = 0; column < n; ++column) {
      for (std::int64_t i = 0; i < k; ++i) right[next++] = b.at(of, i, column);
    }
  }

  /// In fp32, one term after another: no library adds in an order with larger errors.
  [[nodiscard]] float dot(std::int64_t row, std::int64_t column, std::int64_t k) const {
    const float* const a = left.data() + row * k;
    const float* const b = right.data() + column * k;
    float sum = 0;
    for (std::int64_t i = 0; i < k; ++i) sum += a[i] * b[i];
    return sum;
  }
};

cublasStatus_t multiply_batch(cublasHandle_t handle,
                              cublasOperation_t transpose_a,
                              cublasOperation_t transpose_b,
                              int m,
                              int n,
                              int k,
                              const void* alpha,
                              const void* a,
                              cudaDataType a_type,
                              int a_stride,
                              long long a_product,
                              const void* b,
                              cudaDataType b_type,
                              int b_stride,
                              long long b_product,
                              const void* beta,
                              void* c,
                              cudaDataType c_type,
                              int c_stride,
                              long long c_product,
                              int count,
                              cublasComputeType_t compute,
                              cublasGemmAlgo_t /*algorithm*/) {
  // A handle without a workspace of its own would share one with others.
  const bool low = c_type == CUDA_R_16BF && a_type == CUDA_R_16BF;
  if (handle->workspace == nullptr || (c_type != CUDA_R_32F && !low)) {
    return CUBLAS_STATUS_INVALID_VALUE;
  }
  const bool tf32 = compute == CUBLAS_COMPUTE_32F_FAST_TF32;
  const Factor left{a, a_type, a_stride, transpose_a == CUBLAS_OP_T, tf32, a_product};
  const Factor right{b, b_type, b_stride, transpose_b == CUBLAS_OP_T, tf32, b_product};
  const float scale = *static_cast<const float*>(alpha);
  const float keep = *static_cast<const float*>(beta);
  testing::enqueue(
      handle->stream,
      [=] {
        for (int of = 0; of < count; ++of) {
          const Panels panels(left, right, of, m, n, k);
          for (std::int64_t cell = 0; cell < std::int64_t{m} * n; ++cell) {
            const std::int64_t row = cell % m;
            const std::int64_t column = cell / m;
            const long long at = of * c_product + column * c_stride + row;
            const float sum = scale * panels.dot(row, column, k);
            // As in BLAS, what is not kept is not read.
            if (low) {
              auto& result = static_cast<__nv_bfloat16*>(c)[at];
              result = __float2bfloat16_rn(keep == 0 ? sum : sum + keep * __bfloat162float(result));
            } else {
              float& result = static_cast<float*>(c)[at];
              result = sum + (keep == 0 ? 0.0F : keep * result);
            }
          }
        }
      },
      true);
  return CUBLAS_STATUS_SUCCESS;
}

cublasStatus_t multiply(cublasHandle_t handle,
                        cublasOperation_t transpose_a,
                        cublasOperation_t transpose_b,
                        int m,
                        int n,
                        int k,
                        const void* alpha,
                        const void* a,
                        cudaDataType a_type,
                        int a_stride,
                        const void* b,
                        cudaDataType b_type,
                        int b_stride,
                        const void* beta,
                        void* c,
                        cudaDataType c_type,
                        int c_stride,
                        cublasComputeType_t compute,
                        cublasGemmAlgo_t algorithm) {
  return multiply_batch(handle,
                        transpose_a,
                        transpose_b,
                        m,
                        n,
                        k,
                        alpha,
                        a,
                        a_type,
                        a_stride,
                        0,
                        b,
                        b_type,
                        b_stride,
                        0,
                        beta,
                        c,
                        c_type,
                        c_stride,
                        0,
                        1,
                        compute,
                        algorithm);
}

}  // namespace

CudaAvailability cuda_available(int device) {
  if (device != 0) return {.available = false, .reason = "there is one emulated device"};
  return {.available = true, .reason = "emulated"};
}

namespace detail {

BlasLibrary::BlasLibrary()
    : create(make_handle),
      destroy(destroy_handle),
      set_stream(set_handle_stream),
      set_workspace(set_handle_workspace),
      set_units(set_handle_units),
      status_string(status_text),
      gemm(multiply),
      batched_gemm(multiply_batch) {}
void BlasLibrary::check(cublasStatus_t status, const char* call) const {
  if (status != CUBLAS_STATUS_SUCCESS) throw DeviceError(fmt::format("{} failed", call));
}

void CudaContext::use() const {}

std::shared_ptr<const CudaContext> used_context(const CudaExecutor& executor) {
  return executor.context();
}

std::shared_ptr<const CudaContext> make_cuda_context(const CudaExecutorOptions& options) {
  auto context = std::make_shared<CudaContext>();
  context->properties = {.name = "emulated",
                         .least_priority = 0,
                         .greatest_priority = -5,
                         .units = 4,
                         .programmatic_launches = true,
                         .no_partitions = why_no_green_contexts()};
  context->workspace_bytes = 256;
  context->blas = std::make_unique<BlasLibrary>();
  if (options.products == CudaProducts::cublaslt) {
    context->lt = std::make_unique<LtProducts>(*context->blas);
  }
  return context;
}

}  // namespace detail
}  // namespace schedlab
