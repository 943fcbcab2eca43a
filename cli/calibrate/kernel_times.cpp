// SPDX-License-Identifier: Apache-2.0
#include "cli/calibrate/kernel_times.hpp"

#include "sim/base/error.hpp"
#include "sim/base/robust_statistics.hpp"
#include "sim/base/statistics.hpp"

#include <algorithm>
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
    } else {
      spans.push_back({block.task, block.kernel, block.started, block.ended});
    }
  }
  return spans;
}

void KernelTimes::add(const Execution& execution) {
  const std::vector<KernelSpan> spans = kernel_spans(execution);
  if (kernels_.empty()) {
    for (const KernelSpan& span : spans) kernels_.push_back({span.task, span.kernel, {}});
  }
  SCHEDLAB_EXPECTS(kernels_.size() == spans.size(), "equal runs of one plan");
  for (std::size_t i = 0; i < spans.size(); ++i) {
    kernels_[i].seconds.push_back(to_seconds(spans[i].ended - spans[i].started));
  }
  std::map<std::uint32_t, Time> last;  // end of the last task, by stream
  for (const TaskSpan& span : execution.trace.tasks) {
    const auto before = last.find(span.stream.value());
    if (before != last.end()) gaps_.push_back(to_seconds(span.started - before->second));
    last[span.stream.value()] = span.ended;
  }
  makespans_.push_back(to_seconds(execution.trace.makespan()));
}

std::vector<KernelSample> KernelTimes::samples(std::uint32_t units, double share) const {
  struct Group {
    KernelSample sample;
    double sum = 0;
    std::size_t tasks = 0;
    std::vector<double> by_run;  // sum over the tasks
  };
  std::vector<Group> groups;
  for (const KernelOfTask& one : kernels_) {
    const Operation& operation = graph_->operation(one.task);
    if (operation.kernels.size() <= one.kernel) continue;  // only its duration is known
    Kernel kernel = operation.kernels[one.kernel];
    kernel.grid.blocks = std::max(1U, kernel.grid.blocks);
    auto found = std::find_if(groups.begin(), groups.end(), [&](const Group& group) {
      return group.sample.operation == operation.name && group.sample.kernel == kernel;
    });
    if (found == groups.end()) {
      Group group;
      group.sample = {.operation = operation.name, .kernel = kernel, .units = units};
      group.by_run.assign(one.seconds.size(), 0.0);
      groups.push_back(std::move(group));
      found = groups.end() - 1;
    }
    std::vector<double> sorted = one.seconds;
    std::sort(sorted.begin(), sorted.end());
    found->sum += percentile(sorted, share);
    ++found->tasks;
    for (std::size_t run = 0; run < one.seconds.size(); ++run) {
      found->by_run[run] += one.seconds[run];
    }
  }
  std::vector<KernelSample> samples;
  for (Group& group : groups) {
    const RobustSummary runs = robust_summary(group.by_run);
    group.sample.duration =
        std::max(Duration{1}, round_up_seconds(group.sum / static_cast<double>(group.tasks)));
    group.sample.spread = runs.spread;
    group.sample.repetitions = static_cast<std::uint32_t>(group.tasks * runs.count);
    samples.push_back(std::move(group.sample));
  }
  return samples;
}

}  // namespace schedlab
