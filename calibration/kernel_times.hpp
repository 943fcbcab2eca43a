// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "calibration/bench.hpp"
#include "sim/machine/cache_contents.hpp"
#include "sim/machine/kernel_profile.hpp"

#include <cstdint>
#include <vector>

namespace schedlab {

/// Between two tasks of a stream: from the start of the one to the start of the next, without the
/// time of the one's kernels.
struct StreamPause {
  double kernel_seconds = 0;  ///< of the one
  double seconds = 0;
};

/// Collects repeated runs of one case.
class KernelTimes {
 public:
  /// `graph` must outlive this.
  KernelTimes(const TaskGraph& graph, std::uint32_t workers) : graph_(&graph), workers_(workers) {}

  void add(const Execution& execution);
  [[nodiscard]] std::size_t runs() const { return makespans_.size(); }

  /// One sample per operation and kernel: of each run the mean over the operation's tasks, then the
  /// median over the runs. Runs are whole or not at all: those with a makespan beyond the `share`
  /// quantile of all are left out as disturbed. The sum of what is kept is then the makespan that
  /// such runs have, which sums of single medians are not: what disturbs tasks only adds.
  /// Operations of equal names and kernels (in different layers) are one; what they found in the
  /// caches is their mean. At least one run. `caches`: that kernels find their operands in; size 0:
  /// the samples do not know.
  [[nodiscard]] std::vector<KernelSample> samples(double share,
                                                  const CacheLevels& caches = {}) const;
  /// What one worker waits for the other at a kernel's end is in them: with work in another stream
  /// that time is not lost.
  [[nodiscard]] const std::vector<StreamPause>& pauses() const { return pauses_; }
  /// Makespans of the whole runs, seconds.
  [[nodiscard]] const std::vector<double>& makespans() const { return makespans_; }

 private:
  struct KernelOfTask {
    TaskId task;
    std::uint32_t kernel = 0;
    std::vector<double> seconds;  // by run
  };

  const TaskGraph* graph_;
  std::uint32_t workers_;
  std::vector<TaskId> order_;  // of the first run
  std::vector<KernelOfTask> kernels_;
  std::vector<StreamPause> pauses_;
  std::vector<double> makespans_;
};

/// From the start of the first block to the end of the last, of each task's kernels.
struct KernelSpan {
  TaskId task;
  std::uint32_t kernel = 0;
  Time started{};
  Time ended{};
  Duration busy{0};  ///< sum over its blocks
  std::uint32_t blocks = 0;

  /// Mean time of a block, times the rounds that the workers need for all of them.
  [[nodiscard]] double seconds(std::uint32_t workers) const;
};
/// In the order of task and kernel.
[[nodiscard]] std::vector<KernelSpan> kernel_spans(const Execution& execution);

}  // namespace schedlab
