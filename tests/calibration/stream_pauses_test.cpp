// SPDX-License-Identifier: Apache-2.0
#include "calibration/stream_pauses.hpp"

#include "hw_models/measured.hpp"
#include "sim/base/rng.hpp"
#include "studies/scenario/problem_costs.hpp"
#include "tests/hw_models/synthetic_profile.hpp"
#include "workloads/models/recurrent/lstm.hpp"
#include "workloads/transforms/cut_kernels.hpp"

#include <doctest/doctest.h>

#include <memory>
#include <vector>

namespace schedlab {
namespace {

using testing::normal;
using testing::synthetic_profile;

/// Kernels of 2 to 100 us with a fixed pause, a part of their time, noise, and disturbed ones.
std::vector<StreamPause> made_up(double fixed, double share) {
  std::vector<StreamPause> pauses;
  Rng rng{3};
  for (int i = 0; i < 2000; ++i) {
    const double kernel = 1e-6 * (2 + 98 * rng.uniform());
    const double disturbed = rng.uniform() < 0.05 ? 4e-3 : 0.0;
    pauses.push_back({.kernel_seconds = kernel,
                      .seconds = fixed + share * kernel + 2e-8 * normal(rng) + disturbed});
  }
  return pauses;
}

PreparedProblem problem_on(double last_block_wait) {
  PreparedProblem made;
  auto machine = std::make_shared<MachineSpec>();
  machine->platform.sharing = SharingModel::fluid;
  Device& device = machine->platform.devices[DeviceId{0}];
  device.unit_class_of.fill(device.unit_classes.push_back({.name = "core", .count = 2}));
  device.stream_gap = std::chrono::nanoseconds{500};
  device.event_latency = std::chrono::nanoseconds{100};
  device.rates.matrix_units = 2;
  device.rates.vector_units = 2;
  KernelProfile profile = synthetic_profile(0.0);
  profile.cut = {.flops_per_block = 1, .bytes_per_block = 1};  // all kernels on both cores
  profile.last_block_wait = last_block_wait;
  device.profile = std::make_shared<const KernelProfile>(std::move(profile));
  made.graph = std::make_shared<TaskGraph>(CutKernels::for_device(device)->apply(lstm(
      {.layers = 2, .steps = 3, .batch = 32, .hidden = 256, .granularity = Granularity::fine})));
  made.machine = std::move(machine);
  set_costs_and_gaps(Measured{}, made);
  return made;
}

}  // namespace

TEST_CASE("what a stream waits for the last block is told from the pause that is always there") {
  const PauseFit fit = fit_pauses(made_up(5e-7, 0.04), {});
  CHECK(fit.fixed_seconds == doctest::Approx(5e-7).epsilon(0.05));
  CHECK(fit.last_block_share == doctest::Approx(0.04).epsilon(0.05));
}

TEST_CASE("pauses that do not grow with kernels leave nothing to wait for") {
  const PauseFit fit = fit_pauses(made_up(5e-7, 0), {});
  CHECK(fit.fixed_seconds == doctest::Approx(5e-7).epsilon(0.05));
  CHECK(fit.last_block_share < 0.001);
}

TEST_CASE(
    "without kernels that are cut the pause is the median, and there is none without pauses") {
  const std::vector<StreamPause> whole{{1e-6, 1e-7}, {2e-6, 3e-7}, {5e-6, 4e-7}};
  const PauseFit fit = fit_pauses({}, whole);
  CHECK(fit.fixed_seconds == 3e-7);
  CHECK(fit.last_block_share == 0);
  CHECK(fit_pauses({}, {}).fixed_seconds == 0);
}

TEST_CASE("gaps of a problem are longer by what its streams wait for last blocks, on average") {
  const PreparedProblem none = problem_on(0);
  const PreparedProblem some = problem_on(0.05);
  double kernels = 0;
  for (const TaskId task : none.graph->tasks()) kernels += to_seconds(none.costs.duration(task));
  const double wait = 0.05 * kernels / static_cast<double>(none.graph->task_count());
  const Device& before = none.machine->platform.devices[DeviceId{0}];
  const Device& after = some.machine->platform.devices[DeviceId{0}];
  CHECK(before.stream_gap == std::chrono::nanoseconds{500});
  CHECK(to_seconds(after.stream_gap - before.stream_gap) == doctest::Approx(wait).epsilon(1e-6));
  CHECK(after.event_latency - before.event_latency == after.stream_gap - before.stream_gap);
  // Kernels take what they took.
  CHECK(some.costs.durations() == none.costs.durations());
}

}  // namespace schedlab
