// SPDX-License-Identifier: Apache-2.0
// The two policies of swFLOWpro for chips of several core groups, and their alternative.
#include "hw_models/machine_spec.hpp"
#include "hw_models/registry.hpp"
#include "policies/registry.hpp"
#include "sim/base/error.hpp"
#include "sim/engine/simulator.hpp"
#include "sim/plan/plan_check.hpp"
#include "tests/support/plan_by.hpp"
#include "tests/support/scenes.hpp"
#include "workloads/models/convolution/conv_nets.hpp"

#include <doctest/doctest.h>

#include <map>
#include <set>
#include <utility>
#include <vector>

namespace schedlab {
namespace {

using namespace std::chrono_literals;
using testing::graph_of;
using testing::Scene;

/// The stream of each task, by task.
std::map<std::uint32_t, std::uint32_t> streams_of(const Plan& plan) {
  std::map<std::uint32_t, std::uint32_t> result;
  for (const HostCall& call : plan.hosts[HostId{0}].calls) {
    if (call.kind() == HostCallKind::launch) result[call.task().value()] = call.stream().value();
  }
  return result;
}

TEST_CASE("round_robin_fifo deals operators in turn and never moves one to an idle group") {
  // 0, 1, 2, 3 are ready at once: groups 0, 1, 0, 1. Group 1 is idle from 2 us on; 2 waits for 0.
  const Scene scene{graph_of({5us, 1us, 3us, 1us}, {})};
  const Plan plan = testing::plan_by("round_robin_fifo", scene.problem(), {{"max_streams", 2}});
  CHECK(streams_of(plan) == std::map<std::uint32_t, std::uint32_t>{{0, 0}, {1, 1}, {2, 0}, {3, 1}});
  CHECK(simulate(scene.problem(), plan).makespan() == 8us);
}

TEST_CASE("round_robin_fifo deals what becomes ready later where the turn is") {
  // 0 and 1 go to groups 0 and 1; 1 ends at 1 us and makes 2 ready: group 2. 0 ends at 2 us and
  // makes 3 and 4 ready: groups 0 and 1.
  const Scene scene{graph_of({2us, 1us, 1us, 1us, 1us}, {{1, 2}, {0, 3}, {0, 4}})};
  CHECK(streams_of(testing::plan_by("round_robin_fifo", scene.problem(), {{"max_streams", 3}})) ==
        std::map<std::uint32_t, std::uint32_t>{{0, 0}, {1, 1}, {2, 2}, {3, 0}, {4, 1}});
}

TEST_CASE("successor_first stays on the successors, then beside them, then takes the oldest") {
  // 0 -> 2 -> 5 and 0 -> 3, 0 -> 4 on one group; 1 has been ready from the start.
  const Scene scene{graph_of({1us, 1us, 1us, 1us, 1us, 1us}, {{0, 2}, {0, 3}, {0, 4}, {2, 5}})};
  const Plan plan = testing::plan_by("successor_first", scene.problem(), {{"max_streams", 1}});
  std::vector<std::uint32_t> order;
  for (const HostCall& call : plan.hosts[HostId{0}].calls) {
    if (call.kind() == HostCallKind::launch) order.push_back(call.task().value());
  }
  // 0; its successor 2; 2's successor 5; 5's predecessor 2 has no other ready successor: the
  // oldest, 1; nothing near 1: 3, then beside it 4.
  CHECK(order == std::vector<std::uint32_t>{0, 2, 5, 1, 3, 4});
}

TEST_CASE("successor_first takes another successor of its predecessor before older operators") {
  // 0 -> 2, 0 -> 3; 1 is older than 3.
  const Scene scene{graph_of({1us, 1us, 1us, 1us}, {{0, 2}, {0, 3}})};
  const Plan plan = testing::plan_by("successor_first", scene.problem(), {{"max_streams", 1}});
  std::vector<std::uint32_t> order;
  for (const HostCall& call : plan.hosts[HostId{0}].calls) {
    if (call.kind() == HostCallKind::launch) order.push_back(call.task().value());
  }
  CHECK(order == std::vector<std::uint32_t>{0, 2, 3, 1});
}

ConvNetSpec small_net(ConvNetwork network, std::int64_t split) {
  ConvNetSpec spec;
  spec.network = network;
  spec.batch = 4;
  spec.split = split;
  spec.image = 67;
  spec.classes = 10;
  return spec;
}

TEST_CASE("successor_first keeps each slice of a split batch on its group, in the forward pass") {
  ConvNetSpec spec = small_net(ConvNetwork::resnet50, 4);
  spec.pass = ConvNetPass::forward;
  // Equal tasks, so that no group runs dry while others are behind.
  const Scene scene{conv_net(spec), 10us};
  const auto streams =
      streams_of(testing::plan_by("successor_first", scene.problem(), {{"max_streams", 4}}));
  std::map<std::int32_t, std::set<std::uint32_t>> used;
  for (const auto& [task, stream] : streams) {
    used[scene.graph.tags(TaskId{task}).microbatch].insert(stream);
  }
  CHECK(used.size() == 4);
  for (const auto& [slice, groups] : used) {
    CAPTURE(slice);
    CHECK(groups.size() == 1);
  }
}

TEST_CASE("streams are named after the core groups that they stand for") {
  const Scene scene{graph_of({1us, 1us}, {})};
  const Plan plan = testing::plan_by("successor_first", scene.problem(), {{"max_streams", 2}});
  CHECK(plan.streams[StreamId{0}].name == "core group 0");
  CHECK(plan.streams[StreamId{1}].name == "core group 1");
}

TEST_CASE(
    "choosing operators takes one thread after another, and each only when its group is idle") {
  // Four operators of 10 us on two groups, 3 us to choose one: the first two start at 3 and 6 us
  // and end at 13 and 16; the next two are chosen from then on, start at 16 and 19 and end at 29.
  const Scene scene{graph_of({10us, 10us, 10us, 10us}, {})};
  for (const char* name : {"successor_first", "round_robin_fifo"}) {
    CAPTURE(name);
    const auto policy =
        make_policy(name, {{"max_streams", std::int64_t{2}}, {"scheduling_us", 3.0}});
    const Plan plan = policy->plan(scene.problem());
    CHECK(check(scene.graph, scene.platform, plan).empty());
    CHECK(simulate(scene.problem(), plan).makespan() == 29us);
  }
}

TEST_CASE("a scheduling cost of nothing leaves plans as they are") {
  const Scene scene{conv_net(small_net(ConvNetwork::alexnet, 2)), Rng{4}};
  CHECK(make_policy("successor_first", {{"scheduling_us", 0.0}})->plan(scene.problem()) ==
        testing::plan_by("successor_first", scene.problem()));
}

TEST_CASE("intra_operator needs a machine whose operators spread over all core groups") {
  ConvNetSpec spec = small_net(ConvNetwork::alexnet, 1);
  spec.transfers = false;  // both kinds of cores share the memory
  const TaskGraph graph = conv_net(spec);
  MachineSpec machine = load_machine("sw26010_pro");
  const auto model = make_cost_model(default_cost_model);
  const CostTable apart{graph, machine.platform, *model};
  CHECK_THROWS_WITH_AS((void)testing::plan_by("intra_operator", {graph, machine.platform, apart}),
                       doctest::Contains("units_per_kernel"),
                       InfeasibleError);
  apply_overrides(machine, {{"units_per_kernel", std::int64_t{6}}});
  const CostTable together{graph, machine.platform, *model};
  const Problem problem{graph, machine.platform, together};
  const Plan plan = testing::plan_by("intra_operator", problem);
  CHECK(check(graph, machine.platform, plan).empty());
  CHECK(plan.streams.size() == 1);
  CHECK(simulate(problem, plan).tasks.size() == graph.task_count());
}

TEST_CASE("both policies make sound plans for networks whole and split") {
  for (const ConvNetwork network : {ConvNetwork::alexnet, ConvNetwork::resnet50}) {
    for (const std::int64_t split : {1, 3}) {
      ConvNetSpec spec = small_net(network, split);
      spec.statistics = split == 3 ? BatchStatistics::synchronized : BatchStatistics::per_slice;
      const Scene scene{conv_net(spec), Rng{5}};
      for (const Plan& plan : {testing::plan_by("round_robin_fifo", scene.problem()),
                               testing::plan_by("successor_first", scene.problem())}) {
        CAPTURE(plan.policy);
        CHECK(check(scene.graph, scene.platform, plan).empty());
        CHECK(simulate(scene.problem(), plan).tasks.size() == scene.graph.task_count());
      }
    }
  }
}

}  // namespace
}  // namespace schedlab
