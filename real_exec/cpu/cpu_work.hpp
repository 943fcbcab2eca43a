// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "real_exec/executor/plan_executor.hpp"
#include "sim/base/ids.hpp"

#include <cstddef>
#include <cstdint>

namespace schedlab {

/// What the tasks of one graph do on a CPU. A task is its kernels one after another, a kernel is a
/// number of blocks that may run at the same time and in any order.
class CpuWork : public DeviceWork {
 public:
  /// Kernels of the task, at least 1.
  [[nodiscard]] virtual std::size_t kernel_count(TaskId task) const = 0;
  /// Blocks of one of its kernels, at least 1.
  [[nodiscard]] virtual std::uint32_t blocks(TaskId task, std::size_t kernel) const = 0;
  /// Called once per block and run, by any worker thread; blocks of one kernel, and kernels of
  /// tasks that nothing orders, concurrently. What it throws ends the run.
  virtual void run(TaskId task, std::size_t kernel, std::uint32_t block) = 0;
};

}  // namespace schedlab
