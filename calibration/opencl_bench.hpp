// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "calibration/device_bench.hpp"
#include "hw_models/machine_spec.hpp"
#include "real_exec/opencl/opencl_executor.hpp"

#include <functional>
#include <string>
#include <vector>

namespace schedlab {

/// An OpenCL device of this computer, through OpenClExecutor: spinning kernels spin, all others run
/// proxy kernels of their shapes (OpenClProxyWork). Where blocks ran cannot be seen.
class OpenClBench final : public DeviceBench {
 public:
  /// `base`: the machine that the device is believed to be; empty: the one in the device's name.
  /// If it has one class of units, it gets the device's number of compute units, or of groups.
  /// Throws DeviceError if there is no device, InputError for an unknown machine, or if the
  /// device's name has none in it.
  OpenClBench(const OpenClExecutorOptions& options, const std::string& base);

  [[nodiscard]] const MachineSpec& base() const { return base_; }
  [[nodiscard]] DeviceFacts facts() const override;
  /// Of CLBlast: numbers at /device/clblast/KERNEL/NAME.
  [[nodiscard]] std::vector<NumberSource> tune(bool quick, const RuleProgress& progress) override;
  [[nodiscard]] const SmLimits& limits() const override;
  void run(const Microbenchmark& benchmark,
           const std::function<bool(const BenchRun&)>& again) override;

 private:
  OpenClExecutor executor_;
  OpenClDeviceFacts facts_;  // of a split device, with its groups as units
  bool split_;
  std::string products_ = "CLBlast";
  MachineSpec base_;
  Platform platform_;  // of base_, where kernels that spin have units
};

}  // namespace schedlab
