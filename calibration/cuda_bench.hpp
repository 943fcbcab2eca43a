// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "calibration/device_bench.hpp"
#include "hw_models/machine_spec.hpp"
#include "real_exec/cuda/cuda_executor.hpp"

#include <functional>
#include <string>

namespace schedlab {

/// A CUDA device of this computer, through CudaExecutor: spinning kernels spin, all others run
/// proxy kernels of their shapes (CudaProxyWork).
class CudaBench final : public DeviceBench {
 public:
  /// `base`: the machine that the device is believed to be; empty: the one in the device's name.
  /// Throws DeviceError if there is no device, InputError for an unknown machine, or if the
  /// device's name has none in it.
  CudaBench(const CudaExecutorOptions& options, const std::string& base);

  [[nodiscard]] const MachineSpec& base() const { return base_; }
  [[nodiscard]] DeviceFacts facts() const override;
  [[nodiscard]] const SmLimits& limits() const override;
  void run(const Microbenchmark& benchmark,
           const std::function<bool(const BenchRun&)>& again) override;

 private:
  CudaProducts products_;
  CudaExecutor executor_;
  MachineSpec base_;
  Platform platform_;  // of base_, where kernels that spin have units
};

}  // namespace schedlab
