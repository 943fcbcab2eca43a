// SPDX-License-Identifier: Apache-2.0
#include "calibration/simulated_device_bench.hpp"

#include "hw_models/fixed.hpp"
#include "hw_models/registry.hpp"
#include "sim/base/error.hpp"
#include "sim/machine/variability.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <utility>

namespace schedlab {
namespace {

bool spins(const TaskGraph& graph) {
  return std::all_of(graph.operations().begin(),
                     graph.operations().end(),
                     [](const Operation& operation) { return operation.kind == TaskKind::fixed; });
}

}  // namespace

Platform with_spinning_units(Platform platform) {
  for (Device& device : platform.devices) {
    auto& spinning = device.unit_class_of[static_cast<std::size_t>(TaskKind::fixed)];
    if (!spinning.valid()) {
      spinning = device.unit_class_of[static_cast<std::size_t>(TaskKind::pointwise)];
    }
  }
  return platform;
}

CostTable bench_costs(const TaskGraph& graph, const Platform& platform) {
  if (spins(graph)) return {graph, platform, FixedCost{}};
  return {graph, platform, *make_cost_model(default_cost_model)};
}

SimulatedDeviceBench::SimulatedDeviceBench(Platform platform, double variation)
    : platform_(with_spinning_units(std::move(platform))), variation_(variation) {}

DeviceFacts SimulatedDeviceBench::facts() const {
  const Device& device = platform_.device(DeviceId{0});
  const UnitClassId units = device.unit_class_of[static_cast<std::size_t>(TaskKind::fixed)];
  return {.name = platform_.name,
          .software = "simulated",
          .date = "no day",
          .units = units.valid() ? device.unit_classes[units].count : 0,
          .priority_levels = device.priority_levels};
}

const SmLimits& SimulatedDeviceBench::limits() const {
  return platform_.device(DeviceId{0}).sm_limits;
}

void SimulatedDeviceBench::run(const Microbenchmark& benchmark,
                               const std::function<bool(const BenchRun&)>& again) {
  if (benchmark.plan.programmatic() && !platform_.device(DeviceId{0}).programmatic_gap) {
    throw InfeasibleError(
        fmt::format("the machine {} has no programmatic launches", platform_.name));
  }
  CostTable costs = bench_costs(benchmark.graph, platform_);
  const IdVector<TaskId, Duration> exact = costs.durations();
  BenchRun made;
  do {
    if (variation_ > 0) {
      IdVector<TaskId, Duration> noisy = exact;
      for (Duration& duration : noisy) {
        const double factor = noise_factor(NoiseLaw::lognormal, variation_, tasks_++);
        duration = Duration{std::llround(static_cast<double>(duration.count()) * factor)};
      }
      costs.set_task_durations(std::move(noisy));
    }
    made.placements.clear();
    SimulationOptions options{.record_hosts = true};
    if (benchmark.place_blocks && platform_.sharing == SharingModel::blocks) {
      options.placements = &made.placements;
    }
    simulator_.run_into({benchmark.graph, platform_, costs}, benchmark.plan, options, made.trace);
  } while (again(made));
}

}  // namespace schedlab
