// SPDX-License-Identifier: Apache-2.0
#include "studies/validation/changed_decisions.hpp"

#include <doctest/doctest.h>

#include <cstdint>
#include <utility>
#include <vector>

namespace schedlab {
namespace {

/// A launch of each (task, stream), in this order.
Plan launches(const std::vector<std::pair<std::uint32_t, std::uint32_t>>& all) {
  Plan plan;
  plan.streams.resize(2);
  for (const auto& [task, stream] : all) {
    plan.hosts[HostId{0}].calls.push_back(HostCall::launch(StreamId{stream}, TaskId{task}));
  }
  return plan;
}

TEST_CASE("a decision has changed where a task comes behind another one on its stream") {
  const Plan predicted = launches({{0, 0}, {1, 1}, {2, 0}, {3, 1}});
  CHECK(changed_decisions(predicted, predicted) == 0);
  // Streams with other numbers, and another order between streams, are the same decisions.
  CHECK(changed_decisions(predicted, launches({{1, 0}, {3, 0}, {0, 1}, {2, 1}})) == 0);
  // 2 behind 1 and 3 behind 0.
  CHECK(changed_decisions(predicted, launches({{0, 0}, {1, 1}, {2, 1}, {3, 0}})) == 0.5);
  // 3 behind 2; 2 stays behind 0.
  CHECK(changed_decisions(predicted, launches({{0, 0}, {1, 1}, {2, 0}, {3, 0}})) == 0.25);
}

TEST_CASE("changed decisions are the median of the runs, and unknown without any") {
  const Plan predicted = launches({{0, 0}, {1, 1}, {2, 0}, {3, 1}});
  const Plan crossed = launches({{0, 0}, {1, 1}, {2, 1}, {3, 0}});
  CHECK_FALSE(changed_decisions(predicted, std::vector<Plan>{}).has_value());
  CHECK(changed_decisions(predicted, std::vector<Plan>{crossed, predicted, crossed}) == 0.5);
}

}  // namespace
}  // namespace schedlab
