// SPDX-License-Identifier: Apache-2.0
#include "calibration/speed_check.hpp"

#include "calibration/calibration.hpp"
#include "calibration/kernel_cases.hpp"
#include "hw_models/machine_spec.hpp"
#include "tests/calibration/simulated_bench.hpp"

#include <doctest/doctest.h>

#include <algorithm>
#include <cmath>
#include <memory>

namespace schedlab {
namespace {

using testing::SimulatedBench;

DriftReading reading(double gemm, double pointwise) {
  return {{{.kind = TaskKind::gemm, .one_unit = gemm, .all_units = 2 * gemm},
           {.kind = TaskKind::pointwise, .one_unit = pointwise, .all_units = pointwise}}};
}

MachineSpec quick_calibration(SimulatedBench& bench) {
  return calibrate(
      bench, {.quick = true, .seconds = 0.5}, [](std::string_view, std::size_t, std::size_t) {});
}

}  // namespace

TEST_CASE("a kind that no speed check runs takes the geometric mean of those that one does") {
  const DriftReading two = reading(1.0, 4.0);
  CHECK(two.factor(TaskKind::gemm, false) == 1.0);
  CHECK(two.factor(TaskKind::gemm, true) == 2.0);
  CHECK(two.factor(TaskKind::reduction, false) == doctest::Approx(2.0));          // sqrt(1 * 4)
  CHECK(two.factor(TaskKind::reduction, true) == doctest::Approx(std::sqrt(8)));  // sqrt(2 * 4)
  CHECK(DriftReading{}.factor(TaskKind::gemm, true) == 1.0);
}

TEST_CASE("the median of readings is taken kind by kind") {
  const std::vector<DriftReading> three{reading(1.0, 3.0), reading(1.1, 1.0), reading(5.0, 2.0)};
  const DriftReading middle = median_reading(three);
  CHECK(middle.factor(TaskKind::gemm, false) == doctest::Approx(1.1));
  CHECK(middle.factor(TaskKind::gemm, true) == doctest::Approx(2.2));
  CHECK(middle.factor(TaskKind::pointwise, true) == doctest::Approx(2.0));
}

TEST_CASE("the speed check's kernels are measured by every calibration") {
  for (const bool quick : {false, true}) {
    for (const std::uint32_t blocks : {1U, 2U}) {
      const std::vector<KernelCase> cases = kernel_cases(2, quick);
      CHECK(std::any_of(cases.begin(), cases.end(), [&](const KernelCase& one) {
        return one.blocks == blocks && bench_case(one).name == bench_case(speed_check(blocks)).name;
      }));
    }
  }
}

TEST_CASE("a calibration says how the machine's speed changed meanwhile, and its file keeps it") {
  SimulatedBench bench(2, 0.0);
  const MachineSpec machine = quick_calibration(bench);
  const auto profile = machine.platform.devices[DeviceId{0}].profile;
  REQUIRE(profile->drift.size() > 4);
  for (const DriftReading& one : profile->drift) {
    REQUIRE(one.kinds.size() >= 2);  // products, point-wise kernels
    CHECK(one.one_unit() == doctest::Approx(1.0).epsilon(0.001));
    CHECK(one.all_units() == doctest::Approx(1.0).epsilon(0.001));
  }
  const MachineSpec again = read_machine(write_machine(machine), "again");
  CHECK(again.platform.devices[DeviceId{0}].profile->drift == profile->drift);
  CHECK(again.platform.devices[DeviceId{0}].profile->last_block_wait == profile->last_block_wait);
  CHECK(profile->last_block_wait < 1e-3);  // this bench's blocks end together
}

TEST_CASE("a machine on which everything takes a quarter longer reads as 1.25") {
  SimulatedBench bench(2, 0.0);
  const MachineSpec machine = quick_calibration(bench);
  KernelProfile profile = *machine.platform.devices[DeviceId{0}].profile;
  const SpeedCheckTimes times = measure_speed(bench, SpeedCheckCases{2});
  CHECK(drift_reading(profile, times).overall() == doctest::Approx(1.0).epsilon(0.001));
  for (KernelSample& sample : profile.samples) sample.duration = sample.duration * 4 / 5;
  const DriftReading slow = drift_reading(profile, times);
  CHECK(slow.one_unit() == doctest::Approx(1.25).epsilon(0.001));
  CHECK(slow.all_units() == doctest::Approx(1.25).epsilon(0.001));
  profile.samples.clear();
  CHECK(drift_reading(profile, times).kinds.empty());
}

TEST_CASE("the speed check runs on this computer's cores") {
  CpuSpeedCheck check(1, false, nullptr);
  const SpeedCheckTimes times = check.measure();
  CHECK(times.one_unit.size() > 5);
  CHECK(times.all_units.size() == times.one_unit.size());
  for (const KernelSample& sample : times.one_unit) CHECK(sample.duration > Duration{0});
}

}  // namespace schedlab
