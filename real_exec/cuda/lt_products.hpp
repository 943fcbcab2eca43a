// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "real_exec/cuda/blas_library.hpp"
#include "real_exec/cuda/blas_lt_library.hpp"
#include "real_exec/cuda/blas_product.hpp"

#include <cuda_runtime_api.h>

#include <array>
#include <cstddef>
#include <cstdint>
#include <map>
#include <memory>
#include <span>
#include <vector>

namespace schedlab::detail {

/// Where products of one stream put what they need for a while.
struct BlasWorkspace {
  void* data = nullptr;
  std::size_t bytes = 0;
};

/// Products by cuBLASLt with one kernel for each shape: of the library's suggestions the one that
/// was fastest when the shape was first met, kept from then on, so that a shape has the same bits
/// wherever it is computed in this process. One for all streams of a device, used by one thread.
class LtProducts {
 public:
  /// Throws DeviceError if cuBLASLt cannot be loaded. `statuses` must outlive this.
  explicit LtProducts(const BlasLibrary& statuses);
  LtProducts(const LtProducts&) = delete;
  LtProducts& operator=(const LtProducts&) = delete;
  ~LtProducts();

  /// `measuring`: where the shape is new, its suggestions may be run into the result several times
  /// and waited for; else the first suggestion is taken, and kept. Types as blas_types() has them.
  /// Throws DeviceError, also if the library suggests nothing.
  void multiply(const BlasProduct& product,
                const BlasTypes& types,
                const BlasWorkspace& workspace,
                cudaStream_t stream,
                bool measuring);

  /// The algorithm chosen for a shape that was met.
  struct Choice {
    std::int64_t m = 0;
    std::int64_t n = 0;
    std::int64_t k = 0;
    std::size_t suggestions = 0;
    std::size_t chosen = 0;  ///< number of the suggestion, from 0
    bool measured = false;
  };
  [[nodiscard]] std::vector<Choice> choices() const;

 private:
  using Key = std::array<std::int64_t, 19>;
  class Shape;  // descriptors of a shape and what was chosen for it
  struct Call;

  void choose(Shape& shape, const Call& call, bool measuring) const;
  [[nodiscard]] float time_us(const Shape& shape,
                              const Call& call,
                              const cublasLtMatmulAlgo_t& algorithm) const;
  [[nodiscard]] std::vector<float> fastest_us(
      const Shape& shape, const Call& call, std::span<const cublasLtMatmulAlgo_t> algorithms) const;
  [[nodiscard]] cublasStatus_t run(const Shape& shape,
                                   const Call& call,
                                   const cublasLtMatmulAlgo_t& algorithm) const;

  const BlasLibrary& statuses_;
  BlasLtLibrary library_;
  cublasLtHandle_t handle_ = nullptr;
  std::map<Key, std::unique_ptr<Shape>> shapes_;
};

}  // namespace schedlab::detail
