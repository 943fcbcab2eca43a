// SPDX-License-Identifier: Apache-2.0
#include "sim/engine/simulator.hpp"
#include "sim/plan/default_stream.hpp"
#include "tests/support/random_plan.hpp"

#include <doctest/doctest.h>

#include <optional>
#include <utility>
#include <vector>

using namespace schedlab;
using namespace std::chrono_literals;
using C = schedlab::HostCall;

namespace {

constexpr StreamId s0{0};  // the legacy default stream
constexpr StreamId s1{1};
constexpr StreamId s2{2};
constexpr StreamId s3{3};  // non-blocking

/// Tasks of 10 us without edges.
TaskGraph independent(std::uint32_t count) {
  TaskGraphBuilder builder;
  const OperationId operation = builder.add_operation({.name = "t", .fixed_duration = 10us});
  for (std::uint32_t i = 0; i < count; ++i) builder.add_task(operation);
  return std::move(builder).build();
}

Plan plan_of(std::vector<HostCall> calls) {
  Plan plan;
  plan.streams.resize(4);
  plan.streams[s0].sync = StreamSync::legacy_default;
  plan.streams[s1].sync = StreamSync::blocking;
  plan.streams[s2].sync = StreamSync::blocking;
  plan.event_count = 2;
  plan.hosts[HostId{0}].calls = std::move(calls);
  return plan;
}

/// Starts in microseconds, by task; both engines must agree where both can run it.
std::vector<double> starts(const Plan& plan, std::uint32_t tasks, const Platform& platform) {
  const TaskGraph graph = independent(tasks);
  const CostTable costs{graph, platform};
  const Problem problem{graph, platform, costs};
  const Trace trace = simulate(problem, plan, {.engine = EngineKind::event});
  if (in_order_applies(problem, plan)) {
    CHECK(simulate(problem, plan, {.engine = EngineKind::in_order}).tasks == trace.tasks);
  }
  std::vector<double> result(tasks);
  for (const TaskSpan& span : trace.tasks) result[span.task.value()] = to_us(span.started);
  return result;
}

using Starts = std::vector<double>;

/// The same plan with the implicit order said by records and waits: every operation in the legacy
/// default stream waits for the latest operation of every blocking stream, and the other way round.
Plan with_explicit_order(const Plan& plan) {
  Plan made = plan;
  auto& calls = made.hosts[HostId{0}].calls;
  calls.clear();
  IdVector<StreamId, std::optional<EventId>> latest(plan.streams.size());
  const auto sync = [&](StreamId s) { return plan.streams[s].sync; };
  for (const HostCall call : plan.hosts[HostId{0}].calls) {
    const StreamId stream = call.stream();
    const bool enters = call.kind() == HostCallKind::launch ||
                        call.kind() == HostCallKind::record || call.kind() == HostCallKind::wait;
    if (!enters || sync(stream) == StreamSync::non_blocking) {
      calls.push_back(call);
      continue;
    }
    for (const StreamId other : plan.streams.ids()) {
      const bool opposite = sync(other) != StreamSync::non_blocking && sync(other) != sync(stream);
      if (opposite && latest[other]) calls.push_back(C::wait(stream, *latest[other]));
    }
    calls.push_back(call);
    latest[stream] = EventId{made.event_count++};
    calls.push_back(C::record(stream, *latest[stream]));
  }
  for (StreamSpec& stream : made.streams) stream.sync = StreamSync::non_blocking;
  return made;
}

}  // namespace

TEST_CASE("an operation in the legacy default stream waits for blocking streams, and they for it") {
  const Platform ideal = ideal_platform();
  // Two blocking streams side by side, then the legacy one alone, then both again.
  CHECK(starts(plan_of({C::launch(s1, TaskId{0}),
                        C::launch(s2, TaskId{1}),
                        C::launch(s2, TaskId{2}),
                        C::launch(s0, TaskId{3}),
                        C::launch(s1, TaskId{4}),
                        C::launch(s2, TaskId{5})}),
               6,
               ideal) == Starts{0, 0, 10, 20, 30, 30});
  // A non-blocking stream goes its own way.
  CHECK(starts(plan_of({C::launch(s1, TaskId{0}),
                        C::launch(s0, TaskId{1}),
                        C::launch(s3, TaskId{2}),
                        C::launch(s3, TaskId{3})}),
               4,
               ideal) == Starts{0, 10, 0, 10});
  // Without a task in the legacy stream blocking streams know nothing of each other.
  CHECK(starts(plan_of({C::launch(s1, TaskId{0}), C::launch(s2, TaskId{1})}), 2, ideal) ==
        Starts{0, 0});
}

TEST_CASE("records and waits are operations of the legacy default stream too") {
  const Platform ideal = ideal_platform();
  const EventId e{0};
  // The record stands between task 0 and task 1, and for all work of blocking streams before it.
  CHECK(starts(plan_of({C::launch(s1, TaskId{0}),
                        C::record(s0, e),
                        C::launch(s2, TaskId{1}),
                        C::wait(s3, e),
                        C::launch(s3, TaskId{2})}),
               3,
               ideal) == Starts{0, 10, 10});
  // A wait for a non-blocking stream holds up all blocking ones.
  CHECK(starts(plan_of({C::launch(s3, TaskId{0}),
                        C::record(s3, e),
                        C::wait(s0, e),
                        C::launch(s1, TaskId{1})}),
               2,
               ideal) == Starts{0, 10});
}

TEST_CASE("the word gets from stream to stream as it does from an event") {
  Platform platform = ideal_platform();
  platform.devices[DeviceId{0}].event_latency = 2us;
  CHECK(starts(
            plan_of({C::launch(s1, TaskId{0}), C::launch(s0, TaskId{1}), C::launch(s2, TaskId{2})}),
            3,
            platform) == Starts{0, 12, 24});
}

TEST_CASE("a graph launched into a blocking stream is one of its operations") {
  Plan plan = plan_of({C::launch(s0, TaskId{0}), C::graph_launch(s1, 0), C::launch(s0, TaskId{3})});
  DeviceGraph graph;
  graph.add_node(s1, {});
  graph.add_node(s3, {0});
  graph.add_launch(std::vector<TaskId>{TaskId{1}, TaskId{2}});
  plan.graphs.push_back(graph);
  CHECK(starts(plan, 4, ideal_platform()) == Starts{0, 10, 20, 30});
}

TEST_CASE("with several hosts the order is that of their calls in virtual time") {
  Plan plan = plan_of({C::sleep_ns(3000), C::launch(s0, TaskId{0})});
  plan.hosts.push_back({"early", {C::launch(s1, TaskId{1})}});
  CHECK(starts(plan, 2, ideal_platform()) == Starts{10, 0});
  plan.hosts[HostId{1}].calls.insert(plan.hosts[HostId{1}].calls.begin(), C::sleep_ns(4000));
  CHECK(starts(plan, 2, ideal_platform()) == Starts{3, 13});
}

TEST_CASE("a legacy default stream orders the streams of its own device only") {
  Platform platform = ideal_platform();
  platform.devices.push_back(platform.devices[DeviceId{0}]);
  Plan plan =
      plan_of({C::launch(s1, TaskId{0}), C::launch(s2, TaskId{1}), C::launch(s0, TaskId{2})});
  plan.streams[s2].device = DeviceId{1};
  plan.streams[s3] = plan.streams[s0];
  plan.streams[s3].device = DeviceId{1};
  plan.hosts[HostId{0}].calls.push_back(C::launch(s3, TaskId{3}));
  plan.hosts[HostId{0}].calls.push_back(C::launch(s1, TaskId{4}));
  CHECK(starts(plan, 5, platform) == Starts{0, 0, 10, 10, 20});
}

TEST_CASE("random plans start as with the order said by records and waits that cost nothing") {
  std::size_t held = 0;  // starts that the legacy default stream delayed
  for (std::uint64_t seed = 0; seed < 400; ++seed) {
    CAPTURE(seed);
    const TaskGraph graph = test::random_graph(seed);
    Platform platform = test::random_platform(seed);
    HostCosts& host = platform.hosts[HostId{0}].costs;
    host.record = host.wait = Duration{0};
    Device& device = platform.devices[DeviceId{0}];
    device.connections = 0;  // records and waits would take places in shared ones
    if (seed % 2 == 1) device.unit_class_of.fill(device.unit_classes.push_back({"unit", 2}));
    class Half final : public CostModel {
     public:
      [[nodiscard]] std::string_view name() const override { return "half"; }
      [[nodiscard]] Estimate estimate(const Operation& operation, const Device&) const override {
        return {.duration = operation.fixed_duration, .share = 0.5};
      }
    };
    const CostTable costs{graph, platform, Half{}};
    const Problem problem{graph, platform, costs};
    Plan plan = test::random_plan(graph, seed, 2 + static_cast<std::uint32_t>(seed % 7), false);
    const Trace free = simulate(problem, plan, {.engine = EngineKind::event});
    test::add_legacy_default_stream(plan, seed);
    const Trace implicit = simulate(problem, plan, {.engine = EngineKind::event});
    const Trace said = simulate(problem, with_explicit_order(plan), {.engine = EngineKind::event});
    CHECK(implicit.tasks == said.tasks);
    for (std::size_t i = 0; i < free.tasks.size(); ++i) {
      if (implicit.tasks[i].started > free.tasks[i].started) ++held;
    }
  }
  CHECK(held > 1000);
}

TEST_CASE("with a legacy default stream the in-order sweep agrees with the event engine") {
  for (std::uint64_t seed = 0; seed < 300; ++seed) {
    CAPTURE(seed);
    const TaskGraph graph = test::random_graph(seed);
    const Platform platform = test::random_platform(seed);  // shared connections and full queues
    const CostTable costs{graph, platform};
    Plan plan = test::random_plan(graph, seed, 1 + static_cast<std::uint32_t>(seed % 9), true);
    test::add_legacy_default_stream(plan, seed);
    const Problem problem{graph, platform, costs};
    SimulationOptions options{.record_hosts = seed % 2 == 0, .record_flows = true};
    options.engine = EngineKind::event;
    const Trace by_events = simulate(problem, plan, options);
    options.engine = EngineKind::in_order;
    const Trace by_sweep = simulate(problem, plan, options);
    CHECK(by_events.tasks == by_sweep.tasks);
    CHECK(by_events.hosts == by_sweep.hosts);
    CHECK(by_events.flows == by_sweep.flows);
    CHECK(by_events.makespan() == by_sweep.makespan());
  }
}

TEST_CASE("a policy that decides while it runs gets a legacy default stream too") {
  /// Creates two streams and launches a task in each in turn.
  class Alternating final : public OnlinePolicy {
   public:
    [[nodiscard]] std::optional<OnlineStep> next(const HostView&) override {
      const std::uint32_t at = next_++;
      if (at < 2) {
        return OnlineStep{C::create_stream(StreamId{at}), {.priority = -1, .name = "mine"}};
      }
      if (at == 6) return std::nullopt;
      return OnlineStep{C::launch(StreamId{at % 2}, TaskId{at - 2}), {}};
    }

   private:
    std::uint32_t next_ = 0;
  };
  const TaskGraph graph = independent(4);
  const Platform platform = ideal_platform(2);
  const CostTable costs{graph, platform};
  const Problem problem{graph, platform, costs};
  Simulator simulator;
  Alternating alone;
  CHECK(simulator.record(problem, alone).trace.makespan() == 20us);
  const auto policy = with_legacy_default_stream(std::make_unique<Alternating>());
  const auto recording = simulator.record(problem, *policy);
  CHECK(recording.trace.makespan() == 40us);
  REQUIRE(recording.plan.streams.size() == 2);
  CHECK(recording.plan.streams[s0].sync == StreamSync::legacy_default);
  CHECK(recording.plan.streams[s1].sync == StreamSync::blocking);
  CHECK(recording.plan.streams[s1].priority == -1);
  CHECK(simulator.run(problem, recording.plan) == recording.trace);
}
