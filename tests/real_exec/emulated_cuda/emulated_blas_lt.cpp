// SPDX-License-Identifier: Apache-2.0
// A cuBLASLt that computes on the host, by the emulated cuBLAS. It suggests three kernels for each
// product: the first takes twice as long as the third, the second turns out not to be possible.
#include "real_exec/cuda/blas_library.hpp"
#include "real_exec/cuda/blas_lt_library.hpp"
#include "tests/real_exec/emulated_cuda/emulated_device.hpp"
#include "tests/real_exec/emulated_cuda/emulated_state.hpp"

#include <cstring>

namespace schedlab {
namespace {

struct Operation {
  cublasComputeType_t compute = CUBLAS_COMPUTE_32F;
  cublasOperation_t first = CUBLAS_OP_N;
  cublasOperation_t second = CUBLAS_OP_N;
};

struct Layout {
  cudaDataType type = CUDA_R_32F;
  int rows = 0;
  int columns = 0;
  int stride = 0;
  std::int32_t count = 1;
  std::int64_t product = 0;
};

// The library's types are opaque: these stand behind them.
template <class To, class From>
To* behind(From* opaque) {
  return reinterpret_cast<To*>(
      opaque);  // NOLINT(cppcoreguidelines-pro-type-reinterpret-cast): above
}

cublasStatus_t lt_create(cublasLtHandle_t* handle) {
  static int one_handle = 0;
  *handle = behind<cublasLtContext>(&one_handle);
  return CUBLAS_STATUS_SUCCESS;
}
cublasStatus_t lt_destroy(cublasLtHandle_t /*handle*/) {
  return CUBLAS_STATUS_SUCCESS;
}

/// What a made handle stands for goes with it.
template <class State, class Opaque>
cublasStatus_t destroy(Opaque* made) {
  delete behind<State>(made);  // NOLINT(cppcoreguidelines-owning-memory): an opaque handle
  return CUBLAS_STATUS_SUCCESS;
}

/// An attribute is given as bytes, as many as its type has.
template <class Value>
cublasStatus_t take(Value& attribute, const void* value, std::size_t bytes) {
  if (bytes != sizeof(Value)) return CUBLAS_STATUS_INVALID_VALUE;
  std::memcpy(&attribute, value, bytes);
  return CUBLAS_STATUS_SUCCESS;
}

cublasStatus_t make_operation(cublasLtMatmulDesc_t* made,
                              cublasComputeType_t compute,
                              cudaDataType_t /*scale*/) {
  // NOLINTNEXTLINE(cppcoreguidelines-owning-memory): an opaque handle
  *made = behind<cublasLtMatmulDescOpaque_t>(new Operation{.compute = compute});
  return CUBLAS_STATUS_SUCCESS;
}
cublasStatus_t set_operation(cublasLtMatmulDesc_t made,
                             cublasLtMatmulDescAttributes_t which,
                             const void* value,
                             std::size_t bytes) {
  auto* const operation = behind<Operation>(made);
  if (which == CUBLASLT_MATMUL_DESC_TRANSA) return take(operation->first, value, bytes);
  if (which == CUBLASLT_MATMUL_DESC_TRANSB) return take(operation->second, value, bytes);
  if (which == CUBLASLT_MATMUL_DESC_SM_COUNT_TARGET) {
    std::int32_t units = 0;
    const cublasStatus_t status = take(units, value, bytes);
    testing::emulated_state().product_units.insert(units);
    return status;
  }
  return CUBLAS_STATUS_INVALID_VALUE;
}

cublasStatus_t make_layout(cublasLtMatrixLayout_t* made,
                           cudaDataType type,
                           std::uint64_t rows,
                           std::uint64_t columns,
                           std::int64_t stride) {
  if (stride < static_cast<std::int64_t>(rows)) return CUBLAS_STATUS_INVALID_VALUE;
  // NOLINTNEXTLINE(cppcoreguidelines-owning-memory): an opaque handle
  *made = behind<cublasLtMatrixLayoutOpaque_t>(new Layout{.type = type,
                                                          .rows = static_cast<int>(rows),
                                                          .columns = static_cast<int>(columns),
                                                          .stride = static_cast<int>(stride)});
  return CUBLAS_STATUS_SUCCESS;
}
cublasStatus_t set_layout(cublasLtMatrixLayout_t made,
                          cublasLtMatrixLayoutAttribute_t which,
                          const void* value,
                          std::size_t bytes) {
  auto* const layout = behind<Layout>(made);
  if (which == CUBLASLT_MATRIX_LAYOUT_BATCH_COUNT) return take(layout->count, value, bytes);
  if (which == CUBLASLT_MATRIX_LAYOUT_STRIDED_BATCH_OFFSET) {
    return take(layout->product, value, bytes);
  }
  return CUBLAS_STATUS_INVALID_VALUE;
}

cublasStatus_t make_preference(cublasLtMatmulPreference_t* made) {
  *made = new cublasLtMatmulPreferenceOpaque_t{};  // NOLINT(cppcoreguidelines-owning-memory)
  return CUBLAS_STATUS_SUCCESS;
}
cublasStatus_t set_preference(cublasLtMatmulPreference_t /*made*/,
                              cublasLtMatmulPreferenceAttributes_t which,
                              const void* /*value*/,
                              std::size_t bytes) {
  const bool size = which == CUBLASLT_MATMUL_PREF_MAX_WORKSPACE_BYTES;
  return bytes == (size ? sizeof(std::uint64_t) : sizeof(std::uint32_t))
             ? CUBLAS_STATUS_SUCCESS
             : CUBLAS_STATUS_INVALID_VALUE;
}

constexpr int suggestions = 3;
constexpr std::uint64_t slow = 0;
constexpr std::uint64_t impossible = 1;

cublasStatus_t suggest(cublasLtHandle_t /*handle*/,
                       cublasLtMatmulDesc_t /*operation*/,
                       cublasLtMatrixLayout_t /*a*/,
                       cublasLtMatrixLayout_t /*b*/,
                       cublasLtMatrixLayout_t /*c*/,
                       cublasLtMatrixLayout_t /*d*/,
                       cublasLtMatmulPreference_t /*preference*/,
                       int asked,
                       cublasLtMatmulHeuristicResult_t* found,
                       int* count) {
  if (asked < suggestions) return CUBLAS_STATUS_INVALID_VALUE;
  for (int i = 0; i < suggestions; ++i) {
    found[i] = {};
    found[i].algo.data[0] = static_cast<std::uint64_t>(i);
    found[i].state = CUBLAS_STATUS_SUCCESS;
  }
  *count = suggestions;
  return CUBLAS_STATUS_SUCCESS;
}

cublasStatus_t multiply(cublasLtHandle_t /*handle*/,
                        cublasLtMatmulDesc_t operation_of,
                        const void* alpha,
                        const void* a,
                        cublasLtMatrixLayout_t a_of,
                        const void* b,
                        cublasLtMatrixLayout_t b_of,
                        const void* beta,
                        const void* c,
                        cublasLtMatrixLayout_t /*c_of*/,
                        void* d,
                        cublasLtMatrixLayout_t d_of,
                        const cublasLtMatmulAlgo_t* algorithm,
                        void* workspace,
                        std::size_t workspace_bytes,
                        cudaStream_t stream) {
  if (c != d || algorithm->data[0] == impossible) return CUBLAS_STATUS_NOT_SUPPORTED;
  const Operation& operation = *behind<Operation>(operation_of);
  const Layout& first = *behind<Layout>(a_of);
  const Layout& second = *behind<Layout>(b_of);
  const Layout& result = *behind<Layout>(d_of);
  const int inner = operation.first == CUBLAS_OP_T ? first.rows : first.columns;
  if (inner != (operation.second == CUBLAS_OP_T ? second.columns : second.rows)) {
    return CUBLAS_STATUS_INVALID_VALUE;
  }
  if (algorithm->data[0] == slow)
    testing::enqueue(
        stream, [] {}, true);
  const detail::BlasLibrary blas;
  cublasHandle_t handle = nullptr;
  blas.create(&handle);
  blas.set_stream(handle, stream);
  blas.set_workspace(handle, workspace, workspace_bytes);
  const cublasStatus_t status = blas.batched_gemm(handle,
                                                  operation.first,
                                                  operation.second,
                                                  result.rows,
                                                  result.columns,
                                                  inner,
                                                  alpha,
                                                  a,
                                                  first.type,
                                                  first.stride,
                                                  first.product,
                                                  b,
                                                  second.type,
                                                  second.stride,
                                                  second.product,
                                                  beta,
                                                  d,
                                                  result.type,
                                                  result.stride,
                                                  result.product,
                                                  result.count,
                                                  operation.compute,
                                                  CUBLAS_GEMM_DEFAULT);
  blas.destroy(handle);
  return status;
}

}  // namespace

namespace detail {

BlasLtLibrary::BlasLtLibrary()
    : create(lt_create),
      destroy(lt_destroy),
      make_operation(schedlab::make_operation),
      destroy_operation(schedlab::destroy<Operation>),
      set_operation(schedlab::set_operation),
      make_layout(schedlab::make_layout),
      destroy_layout(schedlab::destroy<Layout>),
      set_layout(schedlab::set_layout),
      make_preference(schedlab::make_preference),
      destroy_preference(schedlab::destroy<cublasLtMatmulPreferenceOpaque_t>),
      set_preference(schedlab::set_preference),
      suggest(schedlab::suggest),
      multiply(schedlab::multiply) {}

}  // namespace detail
}  // namespace schedlab
