// SPDX-License-Identifier: Apache-2.0
#include "real_exec/cpu/proxy_work.hpp"

#include "profiler/cpu_clock.hpp"
#include "real_exec/cpu/proxy_shapes.hpp"
#include "sim/base/ceil_div.hpp"
#include "sim/base/error.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <optional>
#include <utility>

namespace schedlab {
namespace {

/// Steps of the chain; the result must be used, or the loop vanishes.
std::uint64_t chain(std::uint64_t steps) {
  std::uint64_t x = 88172645463325252U;
  for (std::uint64_t i = 0; i < steps; ++i) {
    x = x * 6364136223846793005U + 1442695040888963407U;
    asm volatile("" : "+r"(x));  // NOLINT(hicpp-no-assembler): keeps each step of the chain
  }
  return x;
}

}  // namespace

SpinWork::SpinWork() {
  constexpr std::uint64_t steps = 200'000;
  constexpr int tries = 60;
  const CpuClock clock;
  Duration best = Duration::max();
  std::uint64_t sink = 0;
  for (int i = 0; i < tries; ++i) {
    const Time before = clock.now();
    sink ^= chain(steps);
    best = std::min(best, clock.now() - before);
  }
  SCHEDLAB_EXPECTS(sink != 1, "the chain of a spin");
  steps_per_us_ = static_cast<double>(steps) / to_us(best);
}

void SpinWork::run(Duration length) const {
  const double steps = to_us(length) * steps_per_us_;
  (void)chain(static_cast<std::uint64_t>(std::max(steps, 0.0)));
}

class ProxyWork::Impl {
 public:
  Impl(const TaskGraph& graph, const CostTable& costs, const ProxyOptions& options)
      : graph_(graph), durations_(costs.durations()), options_(options) {
    SCHEDLAB_EXPECTS(options.workers > 0, "proxy work for no workers");
    if (options.kernels == ProxyKernels::shapes) shapes_.emplace(graph);
  }

  void set_durations(IdVector<TaskId, Duration> durations) { durations_ = std::move(durations); }
  [[nodiscard]] bool spins(TaskId task) const {
    return options_.kernels == ProxyKernels::spin || graph_.operation(task).kernels.empty();
  }
  [[nodiscard]] std::size_t kernel_count(TaskId task) const {
    return spins(task) ? 1 : graph_.operation(task).kernels.size();
  }
  [[nodiscard]] std::uint32_t blocks(TaskId task, std::size_t kernel) const {
    const auto& kernels = graph_.operation(task).kernels;
    if (spins(task)) return kernels.size() == 1 ? grid(kernels.front()) : 1;
    return grid(kernels[kernel]);
  }
  void run(TaskId task, std::size_t kernel, std::uint32_t block) {
    if (spins(task)) {
      spin_.run(block_time(task));
      return;
    }
    const Kernel& what = graph_.operation(task).kernels[kernel];
    shapes_->run(task, what, block, grid(what));
  }

 private:
  [[nodiscard]] static std::uint32_t grid(const Kernel& kernel) {
    return std::max(kernel.grid.blocks, 1U);
  }
  /// The costs say how long the task takes alone: its blocks in rounds of one per worker.
  [[nodiscard]] Duration block_time(TaskId task) const {
    return durations_[task] /
           static_cast<std::int64_t>(ceil_div(blocks(task, 0), options_.workers));
  }

  const TaskGraph& graph_;
  IdVector<TaskId, Duration> durations_;
  ProxyOptions options_;
  SpinWork spin_;
  std::optional<detail::ProxyShapes> shapes_;
};

ProxyWork::ProxyWork(const TaskGraph& graph, const CostTable& costs, const ProxyOptions& options)
    : impl_(std::make_unique<Impl>(graph, costs, options)) {}

ProxyWork::~ProxyWork() = default;

void ProxyWork::set_durations(IdVector<TaskId, Duration> durations) {
  impl_->set_durations(std::move(durations));
}

std::size_t ProxyWork::kernel_count(TaskId task) const {
  return impl_->kernel_count(task);
}

std::uint32_t ProxyWork::blocks(TaskId task, std::size_t kernel) const {
  return impl_->blocks(task, kernel);
}

void ProxyWork::run(TaskId task, std::size_t kernel, std::uint32_t block) {
  impl_->run(task, kernel, block);
}

}  // namespace schedlab
