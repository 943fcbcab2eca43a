// SPDX-License-Identifier: Apache-2.0
#include "studies/validation/cpu_measurer.hpp"

#include "real_exec/cpu/processor_name.hpp"
#include "sim/machine/kernel_profile.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

namespace schedlab {
namespace {

/// So many that no stream of any scenario is less urgent here than in its simulation.
std::uint32_t most_priority_levels(const ScenarioSpace& space) {
  std::uint32_t levels = 1;
  for (std::uint64_t i = 0; i < space.grid().part_count(Part::machine); ++i) {
    const Platform platform = space.components().machine(i).platform;
    levels = std::max(levels, platform.devices[DeviceId{0}].priority_levels);
  }
  return levels;
}

/// Of the first machine: in one validation all are of this computer.
std::shared_ptr<const KernelProfile> profile_of(const ScenarioSpace& space, std::uint32_t workers) {
  const Platform platform = space.components().machine(0).platform;
  const Device& device = platform.devices[DeviceId{0}];
  const KernelProfile* const profile = calibrated_profile(device);
  return profile != nullptr && profile->units == workers ? device.profile : nullptr;
}

}  // namespace

CpuMeasurer::CpuMeasurer(ScenarioSpace& space,
                         const ExecutionSettings& settings,
                         const StopFlag* stop)
    : device_(fmt::format("{}, {} worker{}, host {}",
                          processor_name(),
                          settings.workers,
                          settings.workers == 1 ? "" : "s",
                          to_string(settings.host))),
      executor_(space, settings, most_priority_levels(space), stop),
      profile_(profile_of(space, settings.workers)) {
  if (profile_ != nullptr) {
    probe_ = std::make_unique<CpuDriftProbe>(settings.workers, settings.pin, stop);
  }
}

std::optional<DriftReading> CpuMeasurer::probe() {
  if (profile_ == nullptr) return std::nullopt;
  DriftReading reading = drift_reading(*profile_, probe_->measure());
  if (reading.kinds.empty()) return std::nullopt;
  return reading;
}

MeasuredRun CpuMeasurer::measure(const MeasureRequest& request) {
  executor_.execute(request.scenario, run_);
  MeasuredRun measured;
  measured.trace = std::move(run_.trace);
  if (const auto memory = executor_.allocated(request.scenario)) {
    measured.tensors_peak = memory->tensors_peak;
  }
  if (request.online != nullptr) measured.plan = std::move(run_.plan);
  run_ = {};
  return measured;
}

}  // namespace schedlab
