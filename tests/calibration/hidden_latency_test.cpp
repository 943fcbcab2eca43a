// SPDX-License-Identifier: Apache-2.0
#include "calibration/hidden_latency.hpp"

#include "hw_models/machine_spec.hpp"
#include "hw_models/measured.hpp"
#include "sim/engine/simulator.hpp"
#include "tests/hw_models/synthetic_profile.hpp"
#include "tests/support/checkout.hpp"

#include <doctest/doctest.h>

#include <memory>
#include <utility>

namespace schedlab {
namespace {

constexpr std::uint32_t units = 132;  // of an H200

Platform waiting_gpu(double hidden_latency) {
  Platform platform = load_machine("h200").platform;
  KernelProfile profile = testing::waiting_products(units);
  profile.hidden_latency = hidden_latency;
  platform.devices[DeviceId{0}].profile = std::make_shared<const KernelProfile>(std::move(profile));
  return platform;
}

/// A simulated device whose kernels take what its profile says.
class MeasuredBench final : public DeviceBench {
 public:
  MeasuredBench(Platform platform, bool graphs) : platform_(std::move(platform)), graphs_(graphs) {}

  [[nodiscard]] DeviceFacts facts() const override {
    DeviceFacts facts;
    facts.name = "made up";
    facts.units = units;
    facts.device_graphs = graphs_;
    return facts;
  }
  [[nodiscard]] const SmLimits& limits() const override {
    return platform_.device(DeviceId{0}).sm_limits;
  }
  void run(const Microbenchmark& benchmark,
           const std::function<bool(const BenchRun&)>& again) override {
    const CostTable costs{benchmark.graph, platform_, model_};
    BenchRun made;
    do {
      simulator_.run_into(
          {benchmark.graph, platform_, costs}, benchmark.plan, {.record_hosts = true}, made.trace);
    } while (again(made));
  }

 private:
  Platform platform_;
  bool graphs_;
  Measured model_;
  Simulator simulator_;
};

double measured_on(const Platform& platform, bool graphs) {
  MeasuredBench bench{platform, graphs};
  const Device& device = platform.device(DeviceId{0});
  return measure_hidden_latency(bench,
                                {.runs = 1},
                                *device.profile,
                                ProfileFits{*device.profile},
                                to_us(device.graph_node_gap));
}

}  // namespace

TEST_CASE("what products hide of each other's latency is found from four of them side by side") {
  for (const double hidden : {0.2, 0.5, 0.7}) {
    CAPTURE(hidden);
    CHECK(measured_on(waiting_gpu(hidden), true) == doctest::Approx(hidden).epsilon(0.05));
  }
  CHECK(measured_on(waiting_gpu(0.0), true) == doctest::Approx(0.0));
  CHECK(measured_on(waiting_gpu(0.5), false) == 0.0);  // the host would decide
}

TEST_CASE("who takes as long side by side as one after the other hides nothing") {
  const ProfileFits fits{testing::waiting_products(units)};
  Kernel kernel = gemm_kernel(64, 1024, 1024, DataType::fp32, false);
  kernel.grid.blocks = units;
  const auto fitted = [&](double alone_us, double beside_us) {
    return fit_hidden_latency(fits, {{kernel, 2, alone_us, beside_us}}, units, 0.5);
  };
  // It takes 5.34 us and waits for 0.75 of them; two in 8 us have 0.75 of the units each.
  CHECK(fitted(5.84, 8.01) == doctest::Approx(0.25 / 0.75).epsilon(0.02));
  CHECK(fitted(5.84, 10.68) == doctest::Approx(0.0));
  CHECK(fitted(5.84, 12.0) == 0.0);
  CHECK(fitted(5.84, 5.84) == 0.0);  // neither notices the other: nothing is known
  CHECK(fit_hidden_latency(fits, {}, units, 0.5) == 0.0);
}

TEST_CASE("what the campaign's rule of products side by side says is in its machine file") {
  const MachineSpec machine = load_machine(
      (testing::checkout() / "experiments/recordings/h200_campaign/machine.json").string());
  const Device& device = machine.platform.devices[DeviceId{0}];
  CHECK(device.profile->hidden_latency == 0.73);
  KernelProfile profile = *device.profile;  // of the class that the rule's products belong to
  std::erase_if(profile.samples, [](const KernelSample& sample) {
    return sample.operation != "gemm" || sample.kernel.type != DataType::fp32;
  });
  const ProfileFits fits{profile};
  Kernel kernel = gemm_kernel(1152, 1152, 1152, DataType::fp32, false);
  kernel.grid.blocks = profile.cut.blocks(kernel, units);
  const double gap_us = to_us(device.stream_gap);
  const double alone_us = 1e6 * fits.classes().front().fit().seconds(kernel, units) + gap_us;
  constexpr double side_by_side = 1.67;  // rule co_run_compute_compute in device_report.md
  CHECK(fit_hidden_latency(fits, {{kernel, 2, alone_us, side_by_side * alone_us}}, units, gap_us) ==
        doctest::Approx(0.73).epsilon(0.02));
}

}  // namespace schedlab
