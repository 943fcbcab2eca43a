// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "sim/base/ids.hpp"
#include "sim/base/units.hpp"

#include <cstddef>
#include <cstdint>
#include <optional>

namespace schedlab {

/// What a run allocated, counted at the allocations and not by the system.
struct AllocatedMemory {
  Bytes tensors_peak{};    ///< most that was held at once for tensors of the graph
  Bytes workspace{};       ///< arrays that no tensor of the graph stands for, held all the time
  bool by_tensor = false;  ///< else all tensors were allocated before the run
};

/// What the tasks of one graph do on a CPU. A task is its kernels one after another, a kernel is a
/// number of blocks that may run at the same time and in any order.
class CpuWork {
 public:
  CpuWork() = default;
  CpuWork(const CpuWork&) = delete;
  CpuWork& operator=(const CpuWork&) = delete;
  virtual ~CpuWork() = default;

  /// Kernels of the task, at least 1.
  [[nodiscard]] virtual std::size_t kernel_count(TaskId task) const = 0;
  /// Blocks of one of its kernels, at least 1.
  [[nodiscard]] virtual std::uint32_t blocks(TaskId task, std::size_t kernel) const = 0;
  /// Called once per block and run, by any worker thread; blocks of one kernel, and kernels of
  /// tasks that nothing orders, concurrently. What it throws ends the run.
  virtual void run(TaskId task, std::size_t kernel, std::uint32_t block) = 0;
  /// Called before each run, by one thread: what tasks add into starts at its first value again.
  virtual void reset() {}
  /// Of the last run; nothing if the work does not count it.
  [[nodiscard]] virtual std::optional<AllocatedMemory> memory() const { return std::nullopt; }
};

}  // namespace schedlab
