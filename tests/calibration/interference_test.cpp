// SPDX-License-Identifier: Apache-2.0
#include "calibration/interference.hpp"

#include "hw_models/kernel_cost.hpp"
#include "sim/engine/simulator.hpp"
#include "tests/calibration/simulated_bench.hpp"

#include <doctest/doctest.h>

#include <algorithm>
#include <set>
#include <vector>

namespace schedlab {
namespace {

/// As TrueCosts; point-wise kernels want three quarters of the memory bandwidth, reductions half.
class StreamingCosts final : public CostModel {
 public:
  [[nodiscard]] std::string_view name() const override { return "streaming"; }
  [[nodiscard]] Estimate estimate(const Operation& operation, const Device& device) const override {
    Estimate result = testing::TrueCosts{2}.estimate(operation, device);
    if (operation.kind == TaskKind::pointwise) result.bandwidth = device.rates.memory * 0.75;
    if (operation.kind == TaskKind::reduction) result.bandwidth = device.rates.memory * 0.5;
    return result;
  }
};

/// Two cores that share a memory.
class SharedMemoryBench final : public CalibrationBench {
 public:
  [[nodiscard]] std::uint32_t workers() const override { return 2; }
  [[nodiscard]] BenchDevice device() const override { return {}; }
  void run(const BenchCase& what, const std::function<bool(const Execution&)>& again) override {
    Platform platform;
    platform.sharing = SharingModel::fluid;
    Device& device = platform.devices[DeviceId{0}];
    device.unit_class_of.fill(device.unit_classes.push_back({.name = "core", .count = 2}));
    device.rates.memory = Bandwidth{10e9};
    const CostTable costs{what.graph, platform, StreamingCosts{}};
    Execution execution;
    do {
      execution.trace = Simulator{}.run({what.graph, platform, costs}, what.plan, {});
    } while (again(execution));
  }
};

constexpr Effort twice{.seconds = 0, .min_runs = 1, .max_runs = 1};

}  // namespace

TEST_CASE("interference: kernels that stream slow each other down, beside products they do not") {
  SharedMemoryBench bench;
  const std::vector<InterferenceSample> readings = measure_interference(bench, twice, true);
  const std::size_t kernels = interference_kernels(true).size();
  CHECK(readings.size() == kernels * kernels);
  for (const InterferenceSample& one : readings) {
    CHECK(one.alone_seconds == doctest::Approx(testing::true_seconds(one.kernel, 2)).epsilon(1e-6));
    // Max-min: beside its like a point-wise kernel gets half of what there is instead of three
    // quarters; a reduction has the half that it wants either way.
    const bool both =
        one.kernel.kind == TaskKind::pointwise &&
        (one.others.kind == TaskKind::pointwise || one.others.kind == TaskKind::reduction);
    CHECK(one.slow_down == doctest::Approx(both ? 1.5 : 1.0).epsilon(1e-3));
  }
}

TEST_CASE("interference: one worker has none") {
  testing::SimulatedBench bench{1, 0.0};
  CHECK(measure_interference(bench, twice, true).empty());
  CHECK(bench.runs() == 0);
}

TEST_CASE(
    "interference: of each kind the kernel counts that suffers most from streaming co-runners") {
  Kernel small = interference_kernels(true).front();
  REQUIRE(small.kind == TaskKind::pointwise);
  Kernel large = small;
  large.bytes_read = small.bytes_read * 8;
  Kernel sum = small;
  sum.kind = TaskKind::reduction;
  Kernel product = large;
  product.kind = TaskKind::gemm;
  const auto reading = [](const Kernel& own, const Kernel& others, double slow_down) {
    return InterferenceSample{.kernel = own, .others = others, .slow_down = slow_down};
  };
  std::vector<CoRunSlowDown> slow_downs{{TaskKind::gemm, 1.02}, {TaskKind::pointwise, 1.1}};
  add_interference({reading(small, small, 0.9),
                    reading(small, large, 1.2),  // median of the two: 1.05
                    reading(large, large, 1.3),
                    reading(large, sum, 1.8),      // moves less than itself
                    reading(large, product, 1.9),  // does not stream
                    reading(sum, sum, 0.8)},
                   slow_downs);
  REQUIRE(slow_downs.size() == 3);
  CHECK(slow_downs[0].factor == 1.02);
  CHECK(slow_downs[1].factor == 1.3);
  CHECK(slow_downs[2].kind == TaskKind::reduction);
  CHECK(slow_downs[2].factor == 1.0);
}

TEST_CASE("interference: proxy kernels of every kind, some beyond any core's own caches") {
  std::set<TaskKind> kinds;
  std::int64_t most = 0;
  for (const Kernel& kernel : interference_kernels(true)) {
    kinds.insert(kernel.kind);
    most = std::max(most, traffic(kernel).count());
  }
  CHECK(kinds.contains(TaskKind::gemm));
  CHECK(kinds.contains(TaskKind::convolution));
  CHECK(kinds.contains(TaskKind::pointwise));
  CHECK(kinds.contains(TaskKind::reduction));
  CHECK(most >= 4 << 20);  // 16 of them in turn: 64 MiB
  CHECK(interference_kernels(false).size() > interference_kernels(true).size());
}

}  // namespace schedlab
