// SPDX-License-Identifier: Apache-2.0
#include "sim/engine/simulator.hpp"
#include "tests/support/plan_oracle.hpp"
#include "tests/support/random_plan.hpp"

#include <string_view>

using namespace schedlab;

namespace {

class Half final : public CostModel {
 public:
  [[nodiscard]] std::string_view name() const override { return "half"; }
  [[nodiscard]] Estimate estimate(const Operation& operation, const Device&) const override {
    return {.duration = operation.fixed_duration, .share = 0.5};
  }
};

void check_both_engines(const Problem& problem, const Plan& plan) {
  const Trace expected = test::trace_by_definition(problem, plan);
  for (const EngineKind engine : {EngineKind::in_order, EngineKind::event}) {
    CAPTURE(static_cast<int>(engine));
    const Trace trace = simulate(problem, plan, {.engine = engine, .record_hosts = true});
    CHECK(trace.tasks == expected.tasks);
    CHECK(trace.hosts == expected.hosts);
    CHECK(trace.ended == expected.ended);
  }
}

}  // namespace

TEST_CASE(
    "both engines give every start, end and host time that the definition of the plan gives") {
  constexpr std::uint64_t seeds = 300;
  for (std::uint64_t seed = 0; seed < seeds; ++seed) {
    CAPTURE(seed);
    const TaskGraph graph = test::random_graph(seed ^ 0xDEF1ULL);
    const Platform platform = test::random_platform(seed);
    const CostTable costs{graph, platform};
    const Plan plan =
        test::random_plan(graph, seed, 1 + static_cast<std::uint32_t>(seed % 7), true);
    check_both_engines({graph, platform, costs}, plan);
  }
}

TEST_CASE("and so they do with a legacy default stream and blocking streams") {
  for (std::uint64_t seed = 0; seed < 300; ++seed) {
    CAPTURE(seed);
    const TaskGraph graph = test::random_graph(seed ^ 0x1E6AC7ULL);
    const Platform platform = test::random_platform(seed);
    const CostTable costs{graph, platform};
    Plan plan = test::random_plan(graph, seed, 2 + static_cast<std::uint32_t>(seed % 7), true);
    test::add_legacy_default_stream(plan, seed);
    check_both_engines({graph, platform, costs}, plan);
  }
}

TEST_CASE("and so they do where kernels are launched programmatically") {
  for (std::uint64_t seed = 0; seed < 300; ++seed) {
    CAPTURE(seed);
    const TaskGraph graph = test::random_graph(seed ^ 0x9D1ULL);
    const Platform platform = test::random_platform(seed);
    const CostTable costs{graph, platform};
    Plan plan = test::random_plan(graph, seed, 1 + static_cast<std::uint32_t>(seed % 4), true);
    test::launch_some_programmatically(plan, seed);
    check_both_engines({graph, platform, costs}, plan);
  }
}

TEST_CASE("on limited units no task starts before the definition allows, and some start later") {
  std::size_t later = 0;
  for (std::uint64_t seed = 0; seed < 100; ++seed) {
    CAPTURE(seed);
    const TaskGraph graph = test::random_graph(seed);
    Platform platform = test::random_platform(seed);
    platform.hosts[HostId{0}].launch_queue_depth = 0;  // else the host looks at the device
    Device& device = platform.devices[DeviceId{0}];
    device.unit_class_of.fill(device.unit_classes.push_back({"unit", 2}));
    const CostTable costs{graph, platform, Half{}};
    const Plan plan = test::random_plan(graph, seed, 5, false);
    const Problem problem{graph, platform, costs};
    const Trace bound = test::trace_by_definition(problem, plan);
    const Trace trace = simulate(problem, plan);
    REQUIRE(trace.tasks.size() == bound.tasks.size());
    for (std::size_t i = 0; i < trace.tasks.size(); ++i) {
      CHECK(trace.tasks[i].submitted == bound.tasks[i].submitted);
      CHECK(trace.tasks[i].started >= bound.tasks[i].started);
      if (trace.tasks[i].started > bound.tasks[i].started) ++later;
    }
  }
  CHECK(later > 100);  // otherwise the units never limited anything
}

TEST_CASE("the definition gives the times worked out by hand for two streams and an event") {
  TaskGraphBuilder builder;
  const OperationId operation = builder.add_operation({.name = "task"});
  for (const Duration d : {Duration{10}, Duration{20}, Duration{5}}) {
    builder.set_duration(builder.add_task(operation), d);
  }
  builder.add_edge(TaskId{0}, TaskId{2});
  const TaskGraph graph = std::move(builder).build();
  Platform platform = ideal_platform();
  platform.hosts[HostId{0}].costs.launch = Duration{3};
  platform.devices[DeviceId{0}].event_latency = Duration{2};
  const CostTable costs{graph, platform};
  Plan plan;
  plan.streams.resize(2);
  plan.event_count = 1;
  plan.hosts[HostId{0}].calls = {HostCall::launch(StreamId{0}, TaskId{0}),
                                 HostCall::record(StreamId{0}, EventId{0}),
                                 HostCall::launch(StreamId{1}, TaskId{1}),
                                 HostCall::wait(StreamId{1}, EventId{0}),
                                 HostCall::launch(StreamId{1}, TaskId{2})};
  const Trace trace = test::trace_by_definition({graph, platform, costs}, plan);
  // Launches end at 3, 6, 9. Task 0: 3..13. Task 1: 6..26. The event at 13 is seen at 15, but the
  // stream is busy until 26: task 2 runs 26..31.
  CHECK(trace.tasks[0].started == Time{Duration{3}});
  CHECK(trace.tasks[0].ended == Time{Duration{13}});
  CHECK(trace.tasks[1].started == Time{Duration{6}});
  CHECK(trace.tasks[1].ended == Time{Duration{26}});
  CHECK(trace.tasks[2].submitted == Time{Duration{9}});
  CHECK(trace.tasks[2].started == Time{Duration{26}});
  CHECK(trace.ended == Time{Duration{31}});
}
