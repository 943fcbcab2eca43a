// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "real_exec/recurrent/padded_batch.hpp"
#include "real_exec/recurrent/recurrent_values.hpp"
#include "real_exec/recurrent/recurrent_work.hpp"
#include "sim/base/interrupt.hpp"
#include "sim/base/units.hpp"
#include "studies/execution/execution.hpp"
#include "studies/scenario/scenario_space.hpp"

#include <cstdint>
#include <memory>
#include <optional>
#include <string>

namespace schedlab {

/// How the passes of a study are executed.
struct PassExecution {
  std::string device = "cpu";  ///< or "cuda", "cuda:1"; what follows but `allocation`: of the CPU
  std::uint32_t workers = 0;   ///< 0: as the machine was calibrated with, else one per core
  std::string host{};          ///< placement; empty: preloaded
  bool pin = true;
  TensorAllocation allocation = TensorAllocation::by_tensor;
  std::uint32_t repetitions = 3;  ///< passes over the data for each row
};

/// Where the training steps of a space's scenarios run for real. Scenarios are networks of equal
/// layers and different lengths; what they compute on lives until forget().
class StepDevice {
 public:
  StepDevice() = default;
  StepDevice(const StepDevice&) = delete;
  StepDevice& operator=(const StepDevice&) = delete;
  virtual ~StepDevice() = default;

  /// "MODEL, 2 workers, host preloaded".
  [[nodiscard]] virtual std::string name() const = 0;
  /// As of RecurrentWork.
  virtual void train_on(std::uint64_t scenario, const PaddedBatch& batch) = 0;
  virtual void continue_from(std::uint64_t scenario, std::uint64_t other) = 0;
  [[nodiscard]] virtual float loss(std::uint64_t scenario) = 0;
  [[nodiscard]] virtual RecurrentResults<float> results(std::uint64_t scenario) = 0;
  [[nodiscard]] virtual Bytes kept_memory(std::uint64_t scenario) = 0;
  /// One step; its makespan. Throws what an execution throws.
  [[nodiscard]] virtual Duration execute(std::uint64_t scenario) = 0;
  /// What the last step allocated, where tensors are allocated one by one.
  [[nodiscard]] virtual std::optional<AllocatedMemory> allocated(std::uint64_t scenario) = 0;
  virtual void forget() = 0;
};

/// Prepares `space` for the device, which must outlive what is returned. Throws DeviceError if the
/// device is not there, and what CpuExecutor and CudaExecutor throw.
[[nodiscard]] std::unique_ptr<StepDevice> make_step_device(ScenarioSpace& space,
                                                           const PassExecution& request,
                                                           const StopFlag* stop);

}  // namespace schedlab
