// SPDX-License-Identifier: Apache-2.0
#include "hw_models/registry.hpp"

#include "sim/base/error.hpp"
#include "tests/hw_models/small_machine.hpp"

#include <doctest/doctest.h>

#include <algorithm>

namespace schedlab {

TEST_CASE("every cost model is made by its name with its defaults") {
  for (const CostModelInfo& info : cost_models()) {
    CAPTURE(info.name);
    CHECK(make_cost_model(info.name)->name() == info.name);
    CHECK_FALSE(info.summary.empty());
  }
  CHECK(std::ranges::find(cost_models(), default_cost_model, &CostModelInfo::name) !=
        cost_models().end());
}

TEST_CASE("options reach the model that is made") {
  using namespace schedlab::literals;
  const Platform platform = testing::small_machine();
  const Operation operation{.name = "node", .kind = TaskKind::fixed, .fixed_duration = 3us};
  const auto model = make_cost_model("fixed", {{"duration_us", 10.0}, {"share", 0.5}});
  const Estimate estimate = model->estimate(operation, platform.devices[DeviceId{0}]);
  CHECK(estimate.duration == 10us);
  CHECK(estimate.share == 0.5);
}

TEST_CASE("a misspelt model or option is refused with the closest name") {
  CHECK_THROWS_WITH_AS(static_cast<void>(make_cost_model("tiled_gem")),
                       doctest::Contains("did you mean \"tiled_gemm\"?"),
                       InputError);
  CHECK_THROWS_WITH_AS(
      static_cast<void>(make_cost_model("tiled_gemm", {{"splitk", std::int64_t{2}}})),
      doctest::Contains("did you mean \"split_k\"?"),
      InputError);
  CHECK_THROWS_AS(static_cast<void>(make_cost_model("roofline", {{"efficiency", 1.5}})),
                  InputError);
}

}  // namespace schedlab
