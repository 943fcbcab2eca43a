// SPDX-License-Identifier: Apache-2.0

#include "sim/engine/simulator.hpp"
#include "tests/support/plan_by.hpp"
#include "tests/support/scenes.hpp"

#include <doctest/doctest.h>

namespace schedlab {
namespace {

using namespace std::chrono_literals;
using testing::Scene;

TEST_CASE("an L x T gradient grid takes L + T - 1 node times along its diagonals") {
  for (const std::uint32_t layers : {1U, 2U, 4U, 7U}) {
    for (const std::uint32_t steps : {1U, 3U, 5U, 20U}) {
      CAPTURE(layers);
      CAPTURE(steps);
      const Scene scene{testing::gradient_grid(layers, steps), 10us};
      const Plan plan = testing::plan_by("diagonal", scene.problem());
      CHECK(plan.streams.size() == layers);
      CHECK(simulate(scene.problem(), plan).makespan() == (layers + steps - 1) * 10us);
    }
  }
}

TEST_CASE("the paper's 4 x 5 grid takes 20 node times in series and 8 along diagonals") {
  const Scene scene{testing::gradient_grid(4, 5), 10us};
  CHECK(simulate(scene.problem(), testing::plan_by("single_stream", scene.problem())).makespan() ==
        200us);
  CHECK(simulate(scene.problem(), testing::plan_by("diagonal", scene.problem())).makespan() ==
        80us);
}

TEST_CASE("layer l runs on stream l mod max_streams") {
  const Scene scene{testing::gradient_grid(4, 5), 10us};
  const Plan plan = testing::plan_by("diagonal", scene.problem(), {{"max_streams", 2}});
  CHECK(plan.streams.size() == 2);
  for (const HostCall call : plan.hosts[HostId{0}].calls) {
    if (call.kind() != HostCallKind::launch) continue;
    CHECK(call.stream().value() ==
          static_cast<std::uint32_t>(scene.graph.tags(call.task()).layer) % 2);
  }
  // Stream 0 has layers 0 and 2, stream 1 layers 1 and 3: ten node times each. The first node of
  // stream 0, (2,4), has to wait for (3,4), the first of stream 1; no diagonal with two nodes on
  // one stream leaves the other idle longer than that: 11 node times.
  CHECK(simulate(scene.problem(), plan).makespan() == 110us);
}

TEST_CASE("more streams never make a diagonal schedule of a grid slower") {
  const Scene scene{testing::gradient_grid(6, 9), 10us};
  Duration before = Duration::max();
  for (std::uint32_t streams = 1; streams <= 6; ++streams) {
    CAPTURE(streams);
    const Plan plan = testing::plan_by("diagonal", scene.problem(), {{"max_streams", streams}});
    const Duration makespan = simulate(scene.problem(), plan).makespan();
    CHECK(makespan <= before);
    before = makespan;
  }
  CHECK(before == (6 + 9 - 1) * 10us);
}

TEST_CASE("streams of an iteration are created before their first use and destroyed at the end") {
  const Scene scene{testing::gradient_grid(3, 2), 10us};
  const Plan plan = testing::plan_by(
      "diagonal", scene.problem(), {{"streams_per_iteration", true}, {"priority", -1}});
  const auto& calls = plan.hosts[HostId{0}].calls;
  CHECK(calls.front() == HostCall::create_stream(StreamId{2}));  // layer 2 is on top
  CHECK(calls.back() == HostCall::destroy_stream(StreamId{2}));
  CHECK(plan.count(HostCallKind::create_stream) == 3);
  CHECK(plan.count(HostCallKind::destroy_stream) == 3);
  CHECK(plan.streams[StreamId{0}].priority == -1);
}

}  // namespace
}  // namespace schedlab
