// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "real_exec/cpu/cpu_work.hpp"
#include "sim/base/ids.hpp"
#include "sim/base/units.hpp"
#include "sim/graph/task_graph.hpp"
#include "sim/machine/cost_model.hpp"

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <vector>

namespace schedlab {

/// Work of a given length: a chain of dependent multiplications, which no compiler shortens and
/// which needs no memory. Length in clock cycles, not in time: beside others on the same core, or
/// at a lower clock rate, it takes longer, as real work does.
class SpinWork {
 public:
  /// Measures this core for about 20 ms.
  SpinWork();
  void run(Duration length) const;

 private:
  double steps_per_us_ = 0;
};

/// What stands in for the kernels of a graph whose own are not here, so that any task graph can be
/// executed.
enum class ProxyKernels : std::uint8_t {
  spin,    ///< every task takes the time that its costs say, divided among its blocks
  shapes,  ///< matrix products of the kernels' shapes and copies of their bytes; tasks of which
           ///< only the duration is known spin
};

struct ProxyOptions {
  ProxyKernels kernels = ProxyKernels::shapes;
  std::uint32_t workers = 1;  ///< that the durations in the costs are meant for
};

/// Kernels with the shapes and sizes of a graph's operations, on data of no meaning. A kernel has
/// as many blocks as its grid says, 1 if it has none.
class ProxyWork final : public CpuWork {
 public:
  /// References must outlive this. `costs`: durations of tasks that spin.
  ProxyWork(const TaskGraph& graph, const CostTable& costs, const ProxyOptions& options);
  ProxyWork(const ProxyWork&) = delete;
  ProxyWork& operator=(const ProxyWork&) = delete;
  ~ProxyWork() override;

  /// How long tasks that spin last from now on, alone; one for each task.
  void set_durations(IdVector<TaskId, Duration> durations);

  [[nodiscard]] std::size_t kernel_count(TaskId task) const override;
  [[nodiscard]] std::uint32_t blocks(TaskId task, std::size_t kernel) const override;
  void run(TaskId task, std::size_t kernel, std::uint32_t block) override;

 private:
  class Impl;
  std::unique_ptr<Impl> impl_;
};

}  // namespace schedlab
