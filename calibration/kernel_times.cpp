// SPDX-License-Identifier: Apache-2.0
#include "calibration/kernel_times.hpp"

#include "hw_models/cache_costs.hpp"
#include "sim/base/ceil_div.hpp"
#include "sim/base/error.hpp"
#include "sim/base/robust_statistics.hpp"
#include "sim/base/statistics.hpp"
#include "sim/machine/cost_model.hpp"

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <map>
#include <tuple>
#include <utility>

namespace schedlab {

std::vector<KernelSpan> kernel_spans(const Execution& execution) {
  std::vector<BlockSpan> blocks = execution.blocks;
  std::sort(blocks.begin(), blocks.end(), [](const BlockSpan& a, const BlockSpan& b) {
    return std::tuple(a.task.value(), a.kernel) < std::tuple(b.task.value(), b.kernel);
  });
  std::vector<KernelSpan> spans;
  for (const BlockSpan& block : blocks) {
    if (!spans.empty() && spans.back().task == block.task && spans.back().kernel == block.kernel) {
      spans.back().started = std::min(spans.back().started, block.started);
      spans.back().ended = std::max(spans.back().ended, block.ended);
      spans.back().busy += block.ended - block.started;
      ++spans.back().blocks;
    } else {
      spans.push_back(
          {block.task, block.kernel, block.started, block.ended, block.ended - block.started, 1});
    }
  }
  return spans;
}

void KernelTimes::add(const Execution& execution) {
  const std::vector<KernelSpan> spans = kernel_spans(execution);
  if (kernels_.empty()) {
    order_ = order_of_starts(execution.trace);
    for (const KernelSpan& span : spans) kernels_.push_back({span.task, span.kernel, {}});
  }
  SCHEDLAB_EXPECTS(kernels_.size() == spans.size(), "equal runs of one plan");
  for (std::size_t i = 0; i < spans.size(); ++i) {
    kernels_[i].seconds.push_back(spans[i].seconds(workers_));
  }
  std::map<TaskId, double> kernel_seconds;  // of each task, its kernels together
  for (const KernelSpan& span : spans) kernel_seconds[span.task] += span.seconds(workers_);
  std::map<std::uint32_t, const TaskSpan*> last;  // by stream
  for (const TaskSpan& span : execution.trace.tasks) {
    const TaskSpan*& before = last[span.stream.value()];
    if (before != nullptr) {
      const double kernels = kernel_seconds[before->task];
      pauses_.push_back({.kernel_seconds = kernels,
                         .seconds = to_seconds(span.started - before->started) - kernels});
    }
    before = &span;
  }
  makespans_.push_back(to_seconds(execution.trace.makespan()));
}

double KernelSpan::seconds(std::uint32_t workers) const {
  const auto waves = ceil_div(std::int64_t{blocks}, std::int64_t{std::max(workers, 1U)});
  return to_seconds(busy) / blocks * static_cast<double>(waves);
}

std::vector<KernelSample> KernelTimes::samples(double share, const CacheLevels& caches) const {
  std::vector<double> sorted = makespans_;
  std::sort(sorted.begin(), sorted.end());
  const double longest = percentile(sorted, share);
  std::vector<std::size_t> kept;
  for (std::size_t run = 0; run < makespans_.size(); ++run) {
    if (makespans_[run] <= longest) kept.push_back(run);
  }
  const Bytes working_set = bytes_of_tensors(*graph_);
  const CacheContents contents{*graph_, caches};
  std::vector<CachedShare> shares;
  if (contents.known()) shares = contents.shares(order_);
  struct Group {
    KernelSample sample;
    std::size_t tasks = 0;
    double cached = 0;  // sums of the shares
    double unit_cached = 0;
    std::vector<double> by_run;  // sum over the tasks
  };
  std::vector<Group> groups;
  for (const KernelOfTask& one : kernels_) {
    const Operation& operation = graph_->operation(one.task);
    if (operation.kernels.size() <= one.kernel) continue;  // only its duration is known
    Kernel kernel = operation.kernels[one.kernel];
    kernel.grid.blocks = std::max(1U, kernel.grid.blocks);
    kernel.working_set = working_set;
    auto found = std::find_if(groups.begin(), groups.end(), [&](const Group& group) {
      return group.sample.operation == operation.name && group.sample.kernel == kernel;
    });
    if (found == groups.end()) {
      Group group;
      group.sample = {.operation = operation.name, .kernel = kernel, .units = workers_};
      group.by_run.assign(kept.size(), 0.0);
      groups.push_back(std::move(group));
      found = groups.end() - 1;
    }
    ++found->tasks;
    if (!shares.empty()) {
      const CachedShare& there = shares[contents.first_kernel(one.task) + one.kernel];
      found->cached += static_cast<double>(there.cached);
      found->unit_cached += static_cast<double>(there.unit_cached);
    }
    for (std::size_t i = 0; i < kept.size(); ++i) found->by_run[i] += one.seconds[kept[i]];
  }
  std::vector<KernelSample> samples;
  for (Group& group : groups) {
    const RobustSummary runs = robust_summary(group.by_run);
    const auto tasks = static_cast<double>(group.tasks);
    group.sample.duration = std::max(Duration{1}, round_up_seconds(runs.median / tasks));
    set_cached({.cached = static_cast<float>(group.cached / tasks),
                .unit_cached = static_cast<float>(group.unit_cached / tasks)},
               group.sample.kernel);
    group.sample.spread = runs.spread;
    group.sample.repetitions = static_cast<std::uint32_t>(group.tasks * runs.count);
    samples.push_back(std::move(group.sample));
  }
  return samples;
}

}  // namespace schedlab
