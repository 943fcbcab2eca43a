// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "real_exec/cpu/proxy_work.hpp"
#include "real_exec/executor/plan_executor.hpp"
#include "real_exec/recurrent/padded_batch.hpp"
#include "real_exec/recurrent/recurrent_values.hpp"
#include "real_exec/recurrent/recurrent_work.hpp"
#include "real_exec/recurrent/trained_network.hpp"
#include "sim/graph/task_graph.hpp"
#include "sim/machine/cost_model.hpp"
#include "workloads/models/recurrent/recurrent.hpp"

#include <cstdint>
#include <memory>
#include <optional>

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

/// Computes the tasks of recurrent(spec) on a device: every cell, pass, granularity, accumulation,
/// direction and optimizer, from the same inputs as RecurrentWork on the CPU and with the same
/// results, so that one reference checks both. Everything is fp32, products by CLBlast. Before each
/// run everything that tasks write is filled with NaN.
///
/// Memory  as of RecurrentWork; by_tensor, which recomputation needs, as of CudaRecurrentWork.
/// Errors  InfeasibleError for another type than fp32, and for what is not allocated by tensor;
///         ContractViolation, naming the task, if `graph` is not recurrent(spec); DeviceError, for
///         lack of memory above all.
class OpenClRecurrentWork final : public OpenClWork, public TrainedNetwork {
 public:
  OpenClRecurrentWork(const OpenClExecutor& executor,
                      const RecurrentSpec& spec,
                      const TaskGraph& graph,
                      std::uint64_t seed,
                      TensorAllocation allocation = TensorAllocation::whole_run);
  OpenClRecurrentWork(const OpenClRecurrentWork&) = delete;
  OpenClRecurrentWork& operator=(const OpenClRecurrentWork&) = delete;
  ~OpenClRecurrentWork() override;

  void launch(TaskId task, detail::OpenClLane& to) override;
  void reset() override;
  [[nodiscard]] std::optional<AllocatedMemory> memory() const override;

  void train_on(const PaddedBatch& batch) override;
  void continue_from(const TrainedNetwork& other) override;
  [[nodiscard]] float loss() const override;
  [[nodiscard]] Bytes kept_memory() const override;

  /// What the run was given; for a reference that computes the same.
  [[nodiscard]] const RecurrentInputs<float>& inputs() const;
  [[nodiscard]] RecurrentResults<float> results() const override;

 private:
  class Implementation;
  std::unique_ptr<Implementation> implementation_;
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
