// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "real_exec/executor/launched_memory.hpp"
#include "real_exec/executor/plan_executor.hpp"
#include "real_exec/recurrent/recurrent_binding.hpp"
#include "real_exec/recurrent/step_tensors.hpp"
#include "real_exec/recurrent_device/recurrent_arrays.hpp"
#include "real_exec/recurrent_device/recurrent_device.hpp"
#include "real_exec/recurrent_device/recurrent_launches.hpp"
#include "sim/base/units.hpp"
#include "sim/graph/task_graph.hpp"
#include "workloads/models/recurrent/recurrent.hpp"

#include <cstdint>
#include <memory>
#include <optional>
#include <vector>

namespace schedlab::detail {

/// The tasks of recurrent(spec) on a device, whatever its queues are.
/// Errors  ContractViolation, naming the task, if `graph` is not recurrent(spec); DeviceError.
class RecurrentTasks {
 public:
  /// `by_tensor`: tensors of steps get memory as tasks are launched.
  RecurrentTasks(std::shared_ptr<RecurrentDevice> device,
                 const RecurrentSpec& spec,
                 const TaskGraph& graph,
                 std::uint64_t seed,
                 ProductPrecision precision,
                 bool by_tensor);
  RecurrentTasks(const RecurrentTasks&) = delete;
  RecurrentTasks& operator=(const RecurrentTasks&) = delete;
  ~RecurrentTasks() = default;

  /// Pass backward: the forward pass, which every run starts from. Returns when it is done.
  void run_forward(RecurrentQueue& queue);
  /// `stream`: of the queue, as LaunchedMemory::enter().
  void launch(TaskId task, std::optional<std::uint32_t> stream, RecurrentQueue& queue);
  /// With the device idle: the next run's tensors hold NaN until they are written.
  void reset();

  [[nodiscard]] AllocatedMemory held() const;
  /// What the device was asked for, whatever the last run had of it.
  [[nodiscard]] Bytes allocated() const;
  [[nodiscard]] bool by_tensor() const { return memory_.has_value(); }
  [[nodiscard]] RecurrentArrays& arrays() { return launches_.arrays(); }
  [[nodiscard]] const RecurrentArrays& arrays() const { return launches_.arrays(); }

 private:
  std::shared_ptr<RecurrentDevice> device_;
  RecurrentBinding binding_;
  RecurrentLaunches launches_;
  std::optional<StepTensorMap> map_;  // none: all lie in the arrays
  std::optional<LaunchedMemory> memory_;
  std::vector<NetworkArray<float>> pieces_;
};

}  // namespace schedlab::detail
