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
