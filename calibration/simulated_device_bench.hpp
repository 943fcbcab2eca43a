// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "calibration/device_bench.hpp"
#include "sim/engine/simulator.hpp"
#include "sim/machine/cost_model.hpp"
#include "sim/machine/platform.hpp"

#include <cstdint>
#include <functional>

namespace schedlab {

/// The platform with kernels that spin on the units of point-wise kernels, where they have none.
[[nodiscard]] Platform with_spinning_units(Platform platform);
/// Durations of a microbenchmark's tasks: kernels that spin last what they are told, others what
/// the cost model `tiled_gemm` says.
[[nodiscard]] CostTable bench_costs(const TaskGraph& graph, const Platform& platform);

/// The simulator of one machine as a device: what a device report says a device should do, and a
/// device of known parameters to try the rules on. Spinning kernels run on the units of point-wise
/// kernels and last what they are told, all others what the cost model `tiled_gemm` says.
class SimulatedDeviceBench final : public DeviceBench {
 public:
  /// `variation`: coefficient of variation of each task of each run, seeded; 0: every run is equal.
  explicit SimulatedDeviceBench(Platform platform, double variation = 0);

  [[nodiscard]] DeviceFacts facts() const override;
  [[nodiscard]] const SmLimits& limits() const override;
  void run(const Microbenchmark& benchmark,
           const std::function<bool(const BenchRun&)>& again) override;

 private:
  Platform platform_;
  double variation_;
  std::uint64_t tasks_ = 0;  // run so far: each draws its own noise
  Simulator simulator_;
};

}  // namespace schedlab
