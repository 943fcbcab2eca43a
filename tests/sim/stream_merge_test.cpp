// SPDX-License-Identifier: Apache-2.0
#include "sim/plan/stream_merge.hpp"

#include "sim/base/error.hpp"
#include "sim/engine/simulator.hpp"
#include "sim/plan/graph_capture.hpp"
#include "sim/plan/plan_check.hpp"
#include "tests/support/random_plan.hpp"

#include <doctest/doctest.h>

namespace schedlab {
namespace {

using namespace schedlab::literals;

/// a on stream 0 -> b on stream 1 -> c on stream 2, by events.
[[nodiscard]] Plan chain_on_three_streams() {
  Plan plan;
  for (int priority = 0; priority > -3; --priority) {
    plan.streams.push_back({.device = DeviceId{0}, .priority = priority});
  }
  plan.event_count = 2;
  for (std::uint32_t i = 0; i < 3; ++i) {
    auto& calls = plan.hosts[HostId{0}].calls;
    if (i > 0) {
      calls.push_back(HostCall::record(StreamId{i - 1}, EventId{i - 1}));
      calls.push_back(HostCall::wait(StreamId{i}, EventId{i - 1}));
    }
    calls.push_back(HostCall::launch(StreamId{i}, TaskId{i}));
  }
  return plan;
}

TEST_CASE("On one stream no events are left, and its priority is the most urgent one") {
  const Plan merged = merge_streams(chain_on_three_streams(), 1);
  REQUIRE(merged.streams.size() == 1);
  CHECK(merged.streams[StreamId{0}].priority == -2);
  CHECK(merged.hosts[HostId{0}].calls == std::vector{HostCall::launch(StreamId{0}, TaskId{0}),
                                                     HostCall::launch(StreamId{0}, TaskId{1}),
                                                     HostCall::launch(StreamId{0}, TaskId{2})});
}

TEST_CASE("On two of three streams what crosses from one to the other keeps its event") {
  const Plan merged = merge_streams(chain_on_three_streams(), 2);  // 0 and 2 become one
  REQUIRE(merged.streams.size() == 2);
  CHECK(merged.count(HostCallKind::record) == 2);
  CHECK(merged.count(HostCallKind::wait) == 2);
  CHECK(merged.hosts[HostId{0}].calls.back() == HostCall::launch(StreamId{0}, TaskId{2}));
}

TEST_CASE("Streams of graph nodes are in use, and stay so when a plan is captured") {
  Plan plan = chain_on_three_streams();
  plan.streams.push_back({});  // nothing runs here
  CHECK(streams_in_use(plan) == 3);
  CHECK(streams_in_use(capture_graphs(plan)) == 3);
}

TEST_CASE("One stream goes into another, and what else there is stays") {
  const Plan joined = join_streams(chain_on_three_streams(), StreamId{1}, StreamId{0});
  CHECK(joined.streams.size() == 3);
  CHECK(joined.streams[StreamId{0}].priority == -1);
  CHECK(joined.hosts[HostId{0}].calls == std::vector{HostCall::launch(StreamId{0}, TaskId{0}),
                                                     HostCall::launch(StreamId{0}, TaskId{1}),
                                                     HostCall::record(StreamId{0}, EventId{1}),
                                                     HostCall::wait(StreamId{2}, EventId{1}),
                                                     HostCall::launch(StreamId{2}, TaskId{2})});
  CHECK_THROWS_AS((void)join_streams(joined, StreamId{1}, StreamId{1}), ContractViolation);
}

TEST_CASE("Merged random plans still keep every dependency") {
  for (std::uint64_t seed = 0; seed < 100; ++seed) {
    CAPTURE(seed);
    const TaskGraph graph = test::random_graph(seed);
    const Platform platform = test::random_platform(seed);
    const CostTable costs{graph, platform};
    const Plan plan = test::random_plan(graph, seed, 7, seed % 2 == 0);
    for (const std::uint32_t count : {1U, 2U, 3U, 7U}) {
      CAPTURE(count);
      const Plan merged = merge_streams(plan, count);
      CHECK(streams_in_use(merged) <= count);
      CHECK(check(graph, platform, merged).empty());
      CHECK(simulate({graph, platform, costs}, merged).tasks.size() == graph.task_count());
    }
  }
}

TEST_CASE("Plans with device graphs or several hosts are refused") {
  const Plan plan = chain_on_three_streams();
  CHECK_THROWS_AS((void)merge_streams(capture_graphs(plan), 1), InfeasibleError);
  Plan two = plan;
  two.hosts.push_back({});
  CHECK_THROWS_AS((void)merge_streams(two, 1), InfeasibleError);
}

}  // namespace
}  // namespace schedlab
