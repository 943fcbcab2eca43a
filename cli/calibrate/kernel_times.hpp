// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "cli/calibrate/bench.hpp"
#include "sim/machine/kernel_profile.hpp"

#include <cstdint>
#include <vector>

namespace schedlab {

/// Collects repeated runs of one case.
class KernelTimes {
 public:
  /// `graph` must outlive this.
  explicit KernelTimes(const TaskGraph& graph) : graph_(&graph) {}

  void add(const Execution& execution);
  [[nodiscard]] std::size_t runs() const { return makespans_.size(); }

  /// One sample per operation and kernel. Duration: of each task's kernel the `share` quantile over
  /// the runs (0.5 = the median), then the mean over the tasks of the operation, which gives their
  /// sum in a whole run although single runs are disturbed. Operations of equal names and kernels
  /// (in different layers) are one. `units`: workers. At least one run.
  [[nodiscard]] std::vector<KernelSample> samples(std::uint32_t units, double share = 0.5) const;
  /// From the end of a task to the start of the one launched after it in its stream, seconds.
  [[nodiscard]] const std::vector<double>& gaps() const { return gaps_; }
  /// Of the whole runs, seconds.
  [[nodiscard]] const std::vector<double>& makespans() const { return makespans_; }

 private:
  struct KernelOfTask {
    TaskId task;
    std::uint32_t kernel = 0;
    std::vector<double> seconds;  // by run
  };

  const TaskGraph* graph_;
  std::vector<KernelOfTask> kernels_;
  std::vector<double> gaps_;
  std::vector<double> makespans_;
};

/// From the start of the first block to the end of the last, of each task's kernels.
struct KernelSpan {
  TaskId task;
  std::uint32_t kernel = 0;
  Time started{};
  Time ended{};
};
/// In the order of task and kernel.
[[nodiscard]] std::vector<KernelSpan> kernel_spans(const Execution& execution);

}  // namespace schedlab
