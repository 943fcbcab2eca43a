// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "real_exec/cpu/proxy_work.hpp"
#include "real_exec/executor/plan_executor.hpp"
#include "sim/graph/task_graph.hpp"
#include "sim/machine/cost_model.hpp"

#include <memory>

namespace schedlab {

namespace detail {
class OpenClBackend;
class OpenClLane;
}  // namespace detail

class OpenClExecutor;

/// What the tasks of one graph launch on an OpenCL device.
class OpenClWork : public DeviceWork {
 public:
  /// Puts the task's kernels and copies into a queue, in order. Throws DeviceError.
  virtual void launch(TaskId task, detail::OpenClLane& to) = 0;

 private:
  friend class detail::OpenClBackend;
  bool warm_ = false;  // one task of each operation has been launched
};

/// Kernels with the shapes and sizes of a graph's operations, on data of no meaning: products by
/// CLBlast, copies between host and device, kernels that read and write their bytes.
///
/// Tasks that spin run their costs' duration, divided among waves of their kernel's blocks, one
/// work group per compute unit at a time; kernels have no clock in OpenCL, so that they count steps
/// of a speed that is measured before.
class OpenClProxyWork final : public OpenClWork {
 public:
  /// References must outlive this. `costs`: durations of tasks that spin. Throws InfeasibleError
  /// for products in other types than fp32, tf32 (computed as fp32) and, where the device has it,
  /// fp64; DeviceError, for lack of CLBlast or of memory above all.
  OpenClProxyWork(const OpenClExecutor& executor,
                  const TaskGraph& graph,
                  const CostTable& costs,
                  ProxyKernels kernels = ProxyKernels::shapes);
  OpenClProxyWork(const OpenClProxyWork&) = delete;
  OpenClProxyWork& operator=(const OpenClProxyWork&) = delete;
  ~OpenClProxyWork() override;

  void launch(TaskId task, detail::OpenClLane& to) override;

 private:
  class Implementation;
  std::unique_ptr<Implementation> implementation_;
};

}  // namespace schedlab
