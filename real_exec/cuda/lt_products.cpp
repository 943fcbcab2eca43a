// SPDX-License-Identifier: Apache-2.0
#include "real_exec/cuda/lt_products.hpp"

#include "real_exec/cuda/cuda_handles.hpp"
#include "sim/base/error.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <limits>
#include <utility>

namespace schedlab::detail {
namespace {

constexpr int max_suggestions = 8;  // assumed: later ones are rarely the fastest
constexpr int timed_rounds = 5;     // assumed: events tell half a microsecond

/// The library's own default, and what memory of cudaMalloc has at least (CUDA C++ Programming
/// Guide, device memory accesses).
constexpr std::uintptr_t best_alignment = 256;

std::uint32_t alignment_of(const void* address) {
  // NOLINTNEXTLINE(cppcoreguidelines-pro-type-reinterpret-cast): the address as a number
  const auto bits = reinterpret_cast<std::uintptr_t>(address) | best_alignment;
  return static_cast<std::uint32_t>(bits & (~bits + 1));  // the lowest bit that is set
}

}  // namespace

struct LtProducts::Call {
  const BlasProduct& product;
  const BlasTypes& types;
  const BlasWorkspace& workspace;
  cudaStream_t stream = nullptr;

  [[nodiscard]] Key key() const {
    const BlasProduct& p = product;
    return {p.m,
            p.n,
            p.k,
            static_cast<std::int64_t>(p.type),
            static_cast<std::int64_t>(p.low_result),
            p.count,
            p.units,
            static_cast<std::int64_t>(p.add),
            p.a.stride,
            static_cast<std::int64_t>(p.a.transposed),
            p.a.product,
            alignment_of(p.a.data),
            p.b.stride,
            static_cast<std::int64_t>(p.b.transposed),
            p.b.product,
            alignment_of(p.b.data),
            p.c_stride,
            p.c_product,
            alignment_of(p.c)};
  }
};

/// cuBLASLt has columns one after another: to it all matrices are their transposes, and
/// C^T = B^T A^T. So its first factor is B.
class LtProducts::Shape {
 public:
  Shape(const BlasLtLibrary& library, const BlasLibrary& statuses, const Call& call)
      : library_(library), statuses_(statuses) {
    const BlasProduct& p = call.product;
    check(library_.make_operation(
              &operation, call.types.compute, p.type == DataType::fp64 ? CUDA_R_64F : CUDA_R_32F),
          "cublasLtMatmulDescCreate");
    set_transposed(CUBLASLT_MATMUL_DESC_TRANSA, p.b.transposed);
    set_transposed(CUBLASLT_MATMUL_DESC_TRANSB, p.a.transposed);
    if (p.units > 0) {
      set(CUBLASLT_MATMUL_DESC_SM_COUNT_TARGET, static_cast<std::int32_t>(p.units));
    }
    make(first, call.types.factor, p.n, p.k, p.b, p.count);
    make(second, call.types.factor, p.k, p.m, p.a, p.count);
    make(result,
         call.types.result,
         p.n,
         p.m,
         {.data = p.c, .stride = p.c_stride, .transposed = false, .product = p.c_product},
         p.count);
  }
  Shape(const Shape&) = delete;
  Shape& operator=(const Shape&) = delete;
  ~Shape() {
    for (const cublasLtMatrixLayout_t layout : {first, second, result}) {
      if (layout != nullptr) static_cast<void>(library_.destroy_layout(layout));
    }
    if (operation != nullptr) static_cast<void>(library_.destroy_operation(operation));
  }

  cublasLtMatmulDesc_t operation = nullptr;
  cublasLtMatrixLayout_t first = nullptr;
  cublasLtMatrixLayout_t second = nullptr;
  cublasLtMatrixLayout_t result = nullptr;
  cublasLtMatmulAlgo_t algorithm{};
  Choice choice;

 private:
  void check(cublasStatus_t status, const char* call) const { statuses_.check(status, call); }

  void set_transposed(cublasLtMatmulDescAttributes_t which, bool transposed) {
    set(which, transposed ? CUBLAS_OP_T : CUBLAS_OP_N);
  }

  template <class Value>
  void set(cublasLtMatmulDescAttributes_t which, Value value) {
    check(library_.set_operation(operation, which, &value, sizeof(value)),
          "cublasLtMatmulDescSetAttribute");
  }

  /// `rows`, `columns`: after the transposition.
  void make(cublasLtMatrixLayout_t& layout,
            cudaDataType type,
            std::int64_t rows,
            std::int64_t columns,
            const BlasMatrix& matrix,
            std::int64_t count) {
    if (matrix.transposed) std::swap(rows, columns);
    check(library_.make_layout(&layout,
                               type,
                               static_cast<std::uint64_t>(rows),
                               static_cast<std::uint64_t>(columns),
                               matrix.stride),
          "cublasLtMatrixLayoutCreate");
    if (count == 1) return;
    const auto products = static_cast<std::int32_t>(count);
    check(library_.set_layout(
              layout, CUBLASLT_MATRIX_LAYOUT_BATCH_COUNT, &products, sizeof(products)),
          "cublasLtMatrixLayoutSetAttribute");
    check(library_.set_layout(layout,
                              CUBLASLT_MATRIX_LAYOUT_STRIDED_BATCH_OFFSET,
                              &matrix.product,
                              sizeof(matrix.product)),
          "cublasLtMatrixLayoutSetAttribute");
  }

  const BlasLtLibrary& library_;
  const BlasLibrary& statuses_;
};

namespace {

/// What a suggestion must keep to.
class Preference {
 public:
  Preference(const BlasLtLibrary& library, const BlasLibrary& statuses)
      : library_(library), statuses_(statuses) {
    statuses_.check(library_.make_preference(&made_), "cublasLtMatmulPreferenceCreate");
  }
  Preference(const Preference&) = delete;
  Preference& operator=(const Preference&) = delete;
  ~Preference() { static_cast<void>(library_.destroy_preference(made_)); }

  template <class Value>
  void set(cublasLtMatmulPreferenceAttributes_t which, Value value) {
    statuses_.check(library_.set_preference(made_, which, &value, sizeof(value)),
                    "cublasLtMatmulPreferenceSetAttribute");
  }
  [[nodiscard]] cublasLtMatmulPreference_t get() const { return made_; }

 private:
  const BlasLtLibrary& library_;
  const BlasLibrary& statuses_;
  cublasLtMatmulPreference_t made_ = nullptr;
};

}  // namespace

LtProducts::LtProducts(const BlasLibrary& statuses) : statuses_(statuses) {
  statuses_.check(library_.create(&handle_), "cublasLtCreate");
}

LtProducts::~LtProducts() {
  shapes_.clear();
  if (handle_ != nullptr) static_cast<void>(library_.destroy(handle_));
}

cublasStatus_t LtProducts::run(const Shape& shape,
                               const Call& call,
                               const cublasLtMatmulAlgo_t& algorithm) const {
  const BlasProduct& p = call.product;
  const BlasScalars scalars(p);
  return library_.multiply(handle_,
                           shape.operation,
                           scalars.alpha(),
                           p.b.data,
                           shape.first,
                           p.a.data,
                           shape.second,
                           scalars.beta(),
                           p.c,
                           shape.result,
                           p.c,
                           shape.result,
                           &algorithm,
                           call.workspace.data,
                           call.workspace.bytes,
                           call.stream);
}

/// Less than nothing where the suggestion turns out not to be possible.
float LtProducts::time_us(const Shape& shape,
                          const Call& call,
                          const cublasLtMatmulAlgo_t& algorithm) const {
  const CudaEvent begin = make_event(true);
  const CudaEvent end = make_event(true);
  check_cuda(cudaEventRecord(begin.get(), call.stream), "cudaEventRecord");
  if (run(shape, call, algorithm) != CUBLAS_STATUS_SUCCESS) return -1;
  check_cuda(cudaEventRecord(end.get(), call.stream), "cudaEventRecord");
  check_cuda(cudaEventSynchronize(end.get()), "cudaEventSynchronize");
  float milliseconds = 0;
  check_cuda(cudaEventElapsedTime(&milliseconds, begin.get(), end.get()), "cudaEventElapsedTime");
  return 1000 * milliseconds;
}

/// The fastest run of each, in rounds, so that none has the cold clocks. The first round loads
/// kernels and does not count.
std::vector<float> LtProducts::fastest_us(const Shape& shape,
                                          const Call& call,
                                          std::span<const cublasLtMatmulAlgo_t> algorithms) const {
  constexpr float never = std::numeric_limits<float>::infinity();
  std::vector<float> fastest(algorithms.size(), never);
  std::vector<bool> possible(algorithms.size(), true);
  for (int round = 0; round <= timed_rounds; ++round) {
    for (std::size_t i = 0; i < algorithms.size(); ++i) {
      if (!possible[i]) continue;
      const float us = time_us(shape, call, algorithms[i]);
      possible[i] = us >= 0;
      if (!possible[i]) fastest[i] = never;
      if (round > 0 && possible[i]) fastest[i] = std::min(fastest[i], us);
    }
  }
  return fastest;
}

void LtProducts::choose(Shape& shape, const Call& call, bool measuring) const {
  const BlasProduct& p = call.product;
  Preference preference(library_, statuses_);
  preference.set(CUBLASLT_MATMUL_PREF_MAX_WORKSPACE_BYTES,
                 static_cast<std::uint64_t>(call.workspace.bytes));
  preference.set(CUBLASLT_MATMUL_PREF_MIN_ALIGNMENT_A_BYTES, alignment_of(p.b.data));
  preference.set(CUBLASLT_MATMUL_PREF_MIN_ALIGNMENT_B_BYTES, alignment_of(p.a.data));
  preference.set(CUBLASLT_MATMUL_PREF_MIN_ALIGNMENT_C_BYTES, alignment_of(p.c));
  preference.set(CUBLASLT_MATMUL_PREF_MIN_ALIGNMENT_D_BYTES, alignment_of(p.c));
  std::array<cublasLtMatmulHeuristicResult_t, max_suggestions> suggested{};
  int count = 0;
  const cublasStatus_t status = library_.suggest(handle_,
                                                 shape.operation,
                                                 shape.first,
                                                 shape.second,
                                                 shape.result,
                                                 shape.result,
                                                 preference.get(),
                                                 max_suggestions,
                                                 suggested.data(),
                                                 &count);
  if (status != CUBLAS_STATUS_NOT_SUPPORTED) {
    statuses_.check(status, "cublasLtMatmulAlgoGetHeuristic");
  }
  shape.choice = {.m = p.m, .n = p.n, .k = p.k};
  std::vector<cublasLtMatmulAlgo_t> usable;
  for (int i = 0; i < count; ++i) {
    const auto& one = suggested.at(static_cast<std::size_t>(i));
    if (one.state == CUBLAS_STATUS_SUCCESS) usable.push_back(one.algo);
  }
  shape.choice.suggestions = usable.size();
  if (!usable.empty()) {
    shape.algorithm = usable.front();
    shape.choice.chosen = 0;
  }
  if (measuring && !usable.empty()) {
    const std::vector<float> us = fastest_us(shape, call, usable);
    const auto best = static_cast<std::size_t>(std::min_element(us.begin(), us.end()) - us.begin());
    shape.algorithm = usable[best];
    shape.choice.chosen = best;
  }
  shape.choice.measured = measuring;
  if (shape.choice.suggestions > 0) return;
  throw DeviceError(fmt::format(
      "cuBLASLt has no kernel for a product of {} x {} x {} in {}\n  use the products of cuBLAS",
      p.m,
      p.n,
      p.k,
      to_string(p.type)));
}

void LtProducts::multiply(const BlasProduct& product,
                          const BlasTypes& types,
                          const BlasWorkspace& workspace,
                          cudaStream_t stream,
                          bool measuring) {
  const Call call{product, types, workspace, stream};
  const Key key = call.key();
  auto found = shapes_.find(key);
  if (found == shapes_.end()) {
    auto made = std::make_unique<Shape>(library_, statuses_, call);
    choose(*made, call, measuring);
    found = shapes_.emplace(key, std::move(made)).first;
  }
  statuses_.check(run(*found->second, call, found->second->algorithm), "cublasLtMatmul");
}

std::vector<LtProducts::Choice> LtProducts::choices() const {
  std::vector<Choice> all;
  all.reserve(shapes_.size());
  for (const auto& [key, shape] : shapes_) all.push_back(shape->choice);
  return all;
}

}  // namespace schedlab::detail
