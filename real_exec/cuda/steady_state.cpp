// SPDX-License-Identifier: Apache-2.0
#include "real_exec/cuda/steady_state.hpp"

#include "real_exec/cuda/proxy_kernels.hpp"

#include <algorithm>
#include <chrono>

namespace schedlab::detail {
namespace {

constexpr std::chrono::milliseconds burst{3};  // assumed: clocks rise within one
constexpr std::size_t least_flushed = std::size_t{1} << 20U;
constexpr int most_at_once = 64;  // products between two looks at the clock

/// Output tiles of 128 x 128, one for each unit.
std::int64_t side_for(std::uint32_t units) {
  std::int64_t tiles = 1;
  while (tiles * tiles < units) ++tiles;
  return 128 * tiles;
}

}  // namespace

SteadyState::SteadyState(const CudaContext& context)
    : side_(side_for(context.properties.units)),
      stream_(make_stream(context.properties.least_priority)),
      blas_(*context.blas, context.lt.get(), context.workspace_bytes),
      factors_(static_cast<std::size_t>(side_ * side_)),
      product_(factors_.size()),
      flushed_(std::max(4 * context.cache_bytes, least_flushed)) {
  fill_pattern(factors_.data(), static_cast<long long>(factors_.size()), stream_.get());
}

void SteadyState::enter() {
  using Clock = std::chrono::steady_clock;
  const BlasProduct product{.m = side_,
                            .n = side_,
                            .k = side_,
                            .a = {.data = factors_.data(), .stride = side_},
                            .b = {.data = factors_.data(), .stride = side_},
                            .c = product_.data(),
                            .c_stride = side_};
  const Clock::time_point begun = Clock::now();
  for (int count = 1; Clock::now() - begun < burst; count = std::min(2 * count, most_at_once)) {
    for (int i = 0; i < count; ++i) blas_.multiply(product, stream_.get());
    check_cuda(cudaStreamSynchronize(stream_.get()), "cudaStreamSynchronize");
  }
  check_cuda(cudaMemsetAsync(flushed_.data(), 0, flushed_.bytes(), stream_.get()),
             "cudaMemsetAsync");
  check_cuda(cudaStreamSynchronize(stream_.get()), "cudaStreamSynchronize");
}

}  // namespace schedlab::detail
