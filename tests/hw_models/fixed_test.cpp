// SPDX-License-Identifier: Apache-2.0
#include "hw_models/fixed.hpp"

#include "sim/base/error.hpp"
#include "sim/base/units.hpp"
#include "tests/hw_models/small_machine.hpp"

#include <doctest/doctest.h>

namespace schedlab {

using namespace schedlab::literals;

TEST_CASE("the fixed model takes each operation's own duration") {
  const Platform platform = testing::small_machine();
  const Operation operation{.name = "node", .kind = TaskKind::fixed, .fixed_duration = 7us};
  const Estimate estimate = FixedCost{}.estimate(operation, platform.devices[DeviceId{0}]);
  CHECK(estimate.duration == 7us);
  CHECK(estimate.bound == Bound::fixed);
  CHECK(estimate.share == 1.0);
}

TEST_CASE("the fixed model gives every operation the same duration when it is told to") {
  const Platform platform = testing::small_machine();
  const Operation gemm{.name = "gemm",
                       .kind = TaskKind::gemm,
                       .kernels = {gemm_kernel(8, 8, 8, DataType::fp32, false)}};
  const Estimate estimate = FixedCost{10us, 0.25}.estimate(gemm, platform.devices[DeviceId{0}]);
  CHECK(estimate.duration == 10us);
  CHECK(estimate.share == 0.25);
}

TEST_CASE("a fixed duration may come with a grid: as many blocks to a unit as can reside") {
  Platform platform = testing::small_machine();
  Device& device = platform.devices[DeviceId{0}];
  device.unit_class_of[static_cast<std::size_t>(TaskKind::fixed)] = UnitClassId{0};
  Operation operation{.name = "node", .kind = TaskKind::fixed, .fixed_duration = 7us};
  operation.kernels = {{.grid = {.blocks = 6, .block = {512, 0, 0}, .compute_share = 0.5F}}};
  // Without limits of the units shapes mean nothing: one block to each of the 4 units.
  CHECK(FixedCost{}.estimate(operation, device).blocks_per_unit == 1);
  CHECK(FixedCost{}.estimate(operation, device).share == 1.0);
  device.sm_limits = {.threads = 2048};
  const Estimate estimate = FixedCost{}.estimate(operation, device);
  CHECK(estimate.duration == 7us);
  CHECK(estimate.blocks == 6);
  // 4 can reside. Alone there are 2 on the fullest unit and use half of it: 4 use all of it.
  CHECK(estimate.blocks_per_unit == 4);
  CHECK(estimate.share == 0.5);  // 6 blocks need 2 of 4 units
  CHECK(estimate.compute_share == 1.0F);
  CHECK(estimate.block == BlockShape{512, 0, 0});
  // If the 2 use all of it, no more than they run at full rate; if they use nothing, all 4 do.
  operation.kernels[0].grid.compute_share = 1.0F;
  CHECK(FixedCost{}.estimate(operation, device).blocks_per_unit == 2);
  CHECK(FixedCost{}.estimate(operation, device).compute_share == 1.0F);
  operation.kernels[0].grid.compute_share = 0.0F;
  CHECK(FixedCost{}.estimate(operation, device).blocks_per_unit == 4);
  CHECK(FixedCost{}.estimate(operation, device).compute_share == 0.0F);
}

TEST_CASE("the fixed model refuses kernels without a duration, by the operation's name") {
  const Platform platform = testing::small_machine();
  const Operation gemm{.name = "hidden_1",
                       .kind = TaskKind::gemm,
                       .kernels = {gemm_kernel(8, 8, 8, DataType::fp32, false)}};
  CHECK_THROWS_WITH_AS(static_cast<void>(FixedCost{}.estimate(gemm, platform.devices[DeviceId{0}])),
                       doctest::Contains("\"hidden_1\""),
                       InfeasibleError);
}

}  // namespace schedlab
