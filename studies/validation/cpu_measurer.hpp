// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "calibration/drift_probe.hpp"
#include "sim/base/interrupt.hpp"
#include "studies/execution/execution.hpp"
#include "studies/execution/measurement.hpp"

#include <memory>
#include <optional>
#include <string>

namespace schedlab {

/// This computer's cores. The space must be prepared for as many workers
/// (ScenarioSpace::prepare_for_execution), so that the plans that are simulated are those that run.
class CpuMeasurer final : public Measurer {
 public:
  /// `space` must outlive this. Throws what ScenarioExecutor throws.
  CpuMeasurer(ScenarioSpace& space, const ExecutionSettings& settings, const StopFlag* stop);

  [[nodiscard]] std::string device() const override { return device_; }
  [[nodiscard]] MeasuredRun measure(const MeasureRequest& request) override;
  /// Weights and activations of the last group's workload are given back.
  void begin_group() override { executor_.forget(); }
  /// Of machines with a profile of as many workers that has the probe's kernels.
  [[nodiscard]] std::optional<DriftReading> probe() override;

 private:
  std::string device_;
  ScenarioExecutor executor_;
  Execution run_;
  std::shared_ptr<const KernelProfile> profile_;  // nullptr: nothing to compare with
  std::unique_ptr<CpuDriftProbe> probe_;
};

}  // namespace schedlab
