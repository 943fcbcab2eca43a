// SPDX-License-Identifier: Apache-2.0
#include "calibration/co_residency_fit.hpp"

#include "calibration/device_calibration.hpp"
#include "calibration/simulated_device_bench.hpp"

#include <doctest/doctest.h>

#include <algorithm>

namespace schedlab {
namespace {

const RuleProgress quiet = [](std::string_view, std::size_t, std::size_t) {};

Platform gpu(const char* name, double factor, SharingModel sharing = SharingModel::fluid) {
  Platform platform = load_machine(name).platform;
  platform.sharing = sharing;
  platform.devices[DeviceId{0}].co_residency_factor = factor;
  return platform;
}

DeviceReport sheet_of(const Platform& device, const Platform& believed) {
  SimulatedDeviceBench bench{device};
  return make_device_report(bench, believed, {.runs = 3}, quiet);
}

}  // namespace

TEST_CASE("the co-residency factor of a device is found from products side by side") {
  for (const char* const name : {"m40", "p100", "v100", "a100"}) {
    for (const double factor : {0.9, 0.8, 0.6}) {
      CAPTURE(name);
      CAPTURE(factor);
      const auto fit =
          fit_co_residency(gpu(name, 1.0), sheet_of(gpu(name, factor), gpu(name, 1.0)));
      REQUIRE(fit);
      CHECK(fit->factor == doctest::Approx(factor).epsilon(0.001));  // 12 halvings of 0.9: 0.0002
      CHECK(fit->measured > fit->without);
      // Memory-bound kernels beside products were not fitted on.
      CHECK(fit->other_simulated == doctest::Approx(fit->other_measured).epsilon(0.001));
    }
  }
}

TEST_CASE("a device that loses nothing has factor 1") {
  for (const char* const name : {"m40", "p100", "v100", "a100"}) {
    CAPTURE(name);
    for (const SharingModel sharing : {SharingModel::fluid, SharingModel::blocks}) {
      const Platform device = gpu(name, 1.0, sharing);
      const auto fit = fit_co_residency(gpu(name, 0.7), sheet_of(device, gpu(name, 0.7)));
      REQUIRE(fit);
      CHECK(fit->factor == 1.0);
    }
  }
}

TEST_CASE("of a device that shares block by block the factor is found too, and explains the rule") {
  // Two of the products fill the units of an A100 alike, under `fluid` as under `blocks`.
  for (const double factor : {0.9, 0.8, 0.6}) {
    const Platform device = gpu("a100", factor, SharingModel::blocks);
    const auto fit = fit_co_residency(gpu("a100", 1.0), sheet_of(device, gpu("a100", 1.0)));
    REQUIRE(fit);
    CHECK(fit->factor == doctest::Approx(factor).epsilon(0.001));
    const DeviceReport again = sheet_of(gpu("a100", fit->factor), gpu("a100", 1.0));
    CHECK(*again.find("co_run_compute_compute")->value ==
          doctest::Approx(fit->measured).epsilon(0.001));
  }
}

TEST_CASE("nothing is fitted where the factor cannot be seen or cannot explain what was measured") {
  // Of the tiles of an H200 only one resides on a unit: the simulated products share none.
  CHECK_FALSE(fit_co_residency(gpu("h200", 1.0), sheet_of(gpu("h200", 0.8), gpu("h200", 1.0))));
  DeviceReport sheet = sheet_of(gpu("a100", 0.8), gpu("a100", 1.0));
  for (MeasuredRule& rule : sheet.rules) {
    if (rule.name == "co_run_compute_compute") rule.value = rule.low = rule.high = 50.0;
  }
  CHECK_FALSE(fit_co_residency(gpu("a100", 1.0), sheet));
  CHECK_FALSE(fit_co_residency(gpu("a100", 1.0), DeviceReport{}));
}

TEST_CASE("a calibrated machine has the fitted factor, and says how it came about") {
  const MachineSpec base = load_machine("a100");
  SimulatedDeviceBench bench{gpu("a100", 0.8)};
  const DeviceCalibration made =
      calibrate_device(bench, base, {.name = "mine", .quick = true}, quiet);
  CHECK(made.machine.platform.devices[DeviceId{0}].co_residency_factor ==
        doctest::Approx(0.8).epsilon(0.001));
  const auto source = std::find_if(
      made.machine.sources.begin(), made.machine.sources.end(), [](const NumberSource& number) {
        return number.pointer == "/device/co_residency_factor";
      });
  REQUIRE(source != made.machine.sources.end());
  CHECK(source->origin == Origin::measured);
  CHECK(source->text.find("rule co_run_compute_compute") != std::string::npos);
  CHECK(source->text.find("not fitted on co_run_compute_memory") != std::string::npos);
}

}  // namespace schedlab
