// SPDX-License-Identifier: Apache-2.0
#include "studies/execution/cpu_device.hpp"

#include "calibration/cpu_bench.hpp"
#include "calibration/speed_check.hpp"
#include "real_exec/cpu/cpu_executor.hpp"
#include "real_exec/cpu/processor_name.hpp"
#include "real_exec/recurrent/gemm.hpp"
#include "sim/base/error.hpp"
#include "sim/machine/kernel_profile.hpp"

#include <fmt/format.h>

#include <algorithm>

namespace schedlab {
namespace {

/// Cores of this process that are left for workers.
std::uint32_t default_workers(HostPlacement host) {
  const std::uint32_t cores = available_cores();
  return host == HostPlacement::own_core ? std::max(cores, 2U) - 1 : cores;
}

/// Of the first machine: in one study all are of this computer.
Device first_device(const ScenarioSpace& space) {
  return space.components().machine(0).platform.devices[DeviceId{0}];
}

DeviceRequest resolved(DeviceRequest request, ScenarioSpace& space) {
  if (request.as_calibrated) {
    const Device device = first_device(space);
    const KernelProfile* const profile = calibrated_profile(device);
    if (profile != nullptr && request.workers != 0 && request.workers != profile->units) {
      throw InputError(
          {.file = "--workers",
           .pointer = {},
           .found = fmt::format("{}", request.workers),
           .expected = fmt::format("{}, as the machine was calibrated with", profile->units),
           .hint = "schedlab calibrate --workers N measures for others"});
    }
    if (profile != nullptr) request.workers = profile->units;
  }
  if (request.workers == 0) {
    request.workers = default_workers(request.host.value_or(HostPlacement::own_core));
  }
  const bool core_left = request.workers < available_cores();
  if (!request.host) {
    request.host = core_left ? HostPlacement::own_core : HostPlacement::shares_core;
  }
  space.prepare_for_execution(request.workers, *request.host);
  return request;
}

/// So many that no stream of any scenario is less urgent here than in its simulation.
std::uint32_t max_priority_levels(const ScenarioSpace& space) {
  std::uint32_t levels = 1;
  for (std::uint64_t i = 0; i < space.grid().part_count(Part::machine); ++i) {
    const Platform platform = space.components().machine(i).platform;
    levels = std::max(levels, platform.devices[DeviceId{0}].priority_levels);
  }
  return levels;
}

class CpuDevice final : public ExecutionDevice {
 public:
  CpuDevice(const DeviceRequest& request, const ScenarioSpace& space, const StopFlag* stop)
      : request_(request),
        stop_(stop),
        executor_({.workers = request.workers,
                   .host = *request.host,
                   .pin = request.pin,
                   .priority_levels = max_priority_levels(space),
                   .stop = stop,
                   .prepare_worker = &prepare_worker_thread}),
        traits_{.kind = "cpu",
                .title = "this CPU",
                .name = fmt::format("{}, {} worker{}, host {}",
                                    executor_.properties().name,
                                    request.workers,
                                    request.workers == 1 ? "" : "s",
                                    to_string(*request.host)),
                .products = std::string{gemm_library()},
                .executor = "CPU",
                .workers = executor_.workers(),
                .sees_blocks = true} {
    const Device device = first_device(space);
    const KernelProfile* const profile = calibrated_profile(device);
    if (profile != nullptr && profile->units == request.workers) profile_ = device.profile;
  }

  [[nodiscard]] const DeviceTraits& traits() const override { return traits_; }
  [[nodiscard]] PlanExecutor& executor() override { return executor_; }

  [[nodiscard]] PreparedWork make_work(const PreparedProblem& problem,
                                       const std::optional<RecurrentSpec>& spec) override {
    if (spec && !request_.proxy) {
      return {.work = std::make_unique<RecurrentWork>(
                  *spec, *problem.graph, execution_data_seed, request_.allocation),
              .computes = true};
    }
    const ProxyOptions options{.kernels = request_.proxy.value_or(ProxyKernels::shapes),
                               .workers = executor_.workers()};
    return {.work = std::make_unique<ProxyWork>(*problem.graph, problem.costs, options)};
  }

  /// With a profile of as many workers.
  [[nodiscard]] bool prepare_speed_check() override {
    if (profile_ != nullptr && check_ == nullptr) {
      check_ = std::make_unique<CpuSpeedCheck>(request_.workers, request_.pin, stop_);
    }
    return check_ != nullptr;
  }
  /// nullopt: the profile has none of the speed check's kernels.
  [[nodiscard]] std::optional<DriftReading> check_speed() override {
    DriftReading reading = drift_reading(*profile_, check_->measure());
    if (reading.kinds.empty()) return std::nullopt;
    return reading;
  }

 private:
  DeviceRequest request_;
  const StopFlag* stop_;
  CpuExecutor executor_;
  DeviceTraits traits_;
  std::shared_ptr<const KernelProfile> profile_;  // nullptr: nothing to compare with
  std::unique_ptr<CpuSpeedCheck> check_;
};

}  // namespace

DeviceKind cpu_kind() {
  return {
      .name = "cpu",
      .calibrates_for_seconds = true,
      .prepare = &resolved,
      .open = [](const NamedDevice& /*device*/,
                 const DeviceRequest& request,
                 const ScenarioSpace& space,
                 const StopFlag* stop) -> std::unique_ptr<ExecutionDevice> {
        return std::make_unique<CpuDevice>(request, space, stop);
      },
      .open_bench = [](const NamedDevice& /*device*/, const BenchRequest& request) -> OpenedBench {
        return {.cores = std::make_unique<CpuBench>(request.workers, request.stop)};
      },
      .list = []() -> std::vector<ListedEntry> {
        return {
            {.name = "cpu",
             .summary = fmt::format(
                 "{}, {} cores; priorities, device graphs", processor_name(), available_cores())}};
      }};
}

}  // namespace schedlab
