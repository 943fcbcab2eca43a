// SPDX-License-Identifier: Apache-2.0
#include "sim/base/error.hpp"
#include "sim/engine/simulator.hpp"

using namespace schedlab;

namespace {

/// A platform, a graph without edges whose tasks last what the test says, and a plan under
/// construction.
struct Bench {
  Platform platform = ideal_platform(3);
  TaskGraphBuilder builder;
  OperationId operation = builder.add_operation({.name = "task"});
  Plan plan;

  Device& device() { return platform.devices[DeviceId{0}]; }
  HostCosts& costs() { return platform.hosts[HostId{0}].costs; }
  TaskId task(Duration duration) {
    const TaskId id = builder.add_task(operation);
    builder.set_duration(id, duration);
    return id;
  }
  StreamId stream(int priority = 0) {
    return plan.streams.push_back({.device = DeviceId{0}, .priority = priority});
  }
  void call(HostCall c) {
    if (c.kind() == HostCallKind::record) {
      plan.event_count = std::max(plan.event_count, c.event().value() + 1);
    }
    plan.hosts[HostId{0}].calls.push_back(c);
  }
  void launch(StreamId s, TaskId t) { call(HostCall::launch(s, t)); }
  /// One class of `count` units that every task uses; a task of share 1/count takes one.
  void limit_units(std::uint32_t count) {
    const UnitClassId unit_class = device().unit_classes.push_back({"unit", count});
    device().unit_class_of.fill(unit_class);
  }
  Trace run(double share = 1.0) {
    const TaskGraph graph = std::move(builder).build();
    struct Shared final : CostModel {
      explicit Shared(double s) : share(s) {}
      [[nodiscard]] std::string_view name() const override { return "shared"; }
      [[nodiscard]] Estimate estimate(const Operation&, const Device&) const override {
        return {.duration = Duration{0}, .share = share};
      }
      double share;
    };
    const CostTable costs_table{graph, platform, Shared{share}};
    const Trace events = simulate(
        {graph, platform, costs_table}, plan, {.engine = EngineKind::event, .record_hosts = true});
    if (in_order_applies({graph, platform, costs_table}, plan)) {
      CHECK(simulate({graph, platform, costs_table}, plan, {.record_hosts = true}) == events);
    }
    return events;
  }
};

Time at(Duration d) {
  return Time{d};
}

}  // namespace

TEST_CASE("one in-order stream fed by a host takes max_i (sum_{j<=i} h_j + sum_{j>=i} d_j)") {
  // h = 3 us each, d = 1, 10, 1, 1 us. i=1: 3+13 = 16; i=2: 6+12 = 18; i=3: 9+2 = 11; i=4: 12+1
  // = 13.
  Bench b;
  b.costs().launch = 3us;
  const StreamId s = b.stream();
  for (const Duration d : {Duration{1us}, Duration{10us}, Duration{1us}, Duration{1us}}) {
    b.launch(s, b.task(d));
  }
  const Trace trace = b.run();
  CHECK(trace.makespan() == 18us);
  CHECK(trace.tasks[0].submitted == at(3us));
  CHECK(trace.tasks[1].started == at(6us));
  CHECK(trace.tasks[2].started == at(16us));
}

TEST_CASE("a wait sees the event's record as it is at the call; a later record does not matter") {
  Bench b;
  const StreamId s = b.stream();
  const StreamId t = b.stream();
  const EventId e{0};
  const TaskId first = b.task(5us);
  const TaskId second = b.task(20us);
  const TaskId waiter = b.task(1us);
  b.launch(s, first);
  b.call(HostCall::record(s, e));
  b.call(HostCall::wait(t, e));
  b.launch(s, second);
  b.call(HostCall::record(s, e));  // would be 25 us
  b.launch(t, waiter);
  CHECK(b.run().tasks[2].started == at(5us));
}

TEST_CASE("an event that was never recorded counts as complete") {
  Bench b;
  const StreamId s = b.stream();
  const StreamId t = b.stream();
  const TaskId task = b.task(5us);
  const TaskId other = b.task(1us);
  b.call(HostCall::wait(t, EventId{0}));
  b.launch(s, task);
  b.call(HostCall::record(s, EventId{0}));
  b.launch(t, other);
  CHECK(b.run().tasks[1].started == at(0us));
}

TEST_CASE(
    "gaps delay the next task of a stream, event latency a stream that waits, launch latency all") {
  Bench b;
  b.device().stream_gap = 2us;
  b.device().event_latency = 7us;
  b.device().launch_latency = 1us;
  const StreamId s = b.stream();
  const StreamId t = b.stream();
  const TaskId first = b.task(10us);
  const TaskId second = b.task(10us);
  const TaskId waiter = b.task(1us);
  b.launch(s, first);                       // 1 .. 11
  b.call(HostCall::record(s, EventId{0}));  // complete at 11
  b.launch(s, second);                      // 11 + 2 .. 23
  b.call(HostCall::wait(t, EventId{0}));    // passes at 11 + 7
  b.launch(t, waiter);
  const Trace trace = b.run();
  CHECK(trace.tasks[0].started == at(1us));
  CHECK(trace.tasks[1].started == at(13us));
  CHECK(trace.tasks[2].started == at(18us));
}

TEST_CASE("a full launch queue blocks the host until a task of that stream has completed") {
  Bench b;
  b.platform.hosts[HostId{0}].launch_queue_depth = 2;
  b.costs().launch = 1us;
  const StreamId s = b.stream();
  for (int i = 0; i < 4; ++i) b.launch(s, b.task(10us));
  const Trace trace = b.run();
  // Launched at 1 and 2; the third launch waits from 2 until the first task ends at 1 + 10 = 11,
  // and returns at 12.
  CHECK(trace.tasks[2].submitted == at(12us));
  CHECK(trace.tasks[3].submitted == at(22us));
  CHECK(trace.hosts[2].blocked == 9us);
  CHECK(trace.makespan() == 41us);
}

TEST_CASE("a synchronizing host goes on after its wake-up time") {
  Bench b;
  b.costs() = {.launch = 1us, .synchronize = 2us, .wake_up = 5us};
  const StreamId s = b.stream();
  const StreamId t = b.stream();
  b.launch(s, b.task(10us));                // 1 .. 11
  b.call(HostCall::synchronize_stream(s));  // until 11, then 5 us to wake up
  b.launch(t, b.task(1us));                 // submitted at 17
  b.call(HostCall::synchronize_stream(s));  // idle already: 2 us, no wake-up
  b.launch(t, b.task(1us));                 // 17 + 2 + 1 = 20
  const Trace trace = b.run();
  CHECK(trace.tasks[1].submitted == at(17us));
  CHECK(trace.tasks[2].submitted == at(20us));
  CHECK(trace.hosts[1].blocked == 8us);  // from 3 to 11
}

TEST_CASE("more streams than connections: a stream waits behind work it has nothing to do with") {
  // Streams 0 and 2 share connection 0 of 2. Stream 0 holds two tasks; the second can be dispatched
  // only when the first has completed at 10, so the task of stream 2 behind it starts at 10, not at
  // 0.
  Bench b;
  b.device().connections = 2;
  const StreamId s0 = b.stream();
  const StreamId s1 = b.stream();
  const StreamId s2 = b.stream();
  b.launch(s0, b.task(10us));
  b.launch(s0, b.task(10us));
  b.launch(s1, b.task(4us));
  b.launch(s2, b.task(3us));
  const Trace trace = b.run();
  CHECK(trace.tasks[2].started == at(0us));
  CHECK(trace.tasks[3].started == at(10us));
}

TEST_CASE("with a connection each, no stream waits for another") {
  Bench b;
  b.device().connections = 3;
  const StreamId s0 = b.stream();
  b.stream();
  const StreamId s2 = b.stream();
  b.launch(s0, b.task(10us));
  b.launch(s0, b.task(10us));
  b.launch(s2, b.task(3us));
  CHECK(b.run().tasks[2].started == at(0us));
}

TEST_CASE("a freed unit goes to the most urgent stream; nothing that runs is evicted") {
  Bench b;
  b.limit_units(1);
  const StreamId low = b.stream(0);
  const StreamId low2 = b.stream(0);
  const StreamId high = b.stream(-2);
  b.costs().launch = 1us;
  b.launch(low, b.task(10us));   // 1 .. 11: not evicted
  b.launch(low2, b.task(10us));  // submitted at 2, waits
  b.launch(high, b.task(5us));   // submitted at 3, first at 11
  const Trace trace = b.run();
  CHECK(trace.tasks[0].ended == at(11us));
  CHECK(trace.tasks[2].started == at(11us));
  CHECK(trace.tasks[1].started == at(16us));
}

TEST_CASE("an urgent kernel that does not fit blocks a lower level that would fit") {
  // As the K8/K9 experiment of Amert et al., RTSS 2017, rule P2: two units, a task of one unit runs
  // 10 us; the urgent task needs both units; the low one-unit task would fit beside the first but
  // must not overtake.
  Bench b;
  const UnitClassId unit_class = b.device().unit_classes.push_back({"unit", 2});
  b.device().unit_class_of.fill(unit_class);
  const OperationId wide = b.builder.add_operation({.name = "wide"});
  const StreamId low = b.stream(0);
  const StreamId low2 = b.stream(0);
  const StreamId high = b.stream(-1);
  b.costs().launch = 1us;
  b.launch(low, b.task(10us));
  const TaskId urgent = b.builder.add_task(wide);
  b.builder.set_duration(urgent, 5us);
  b.launch(high, urgent);
  b.launch(low2, b.task(3us));
  const TaskGraph graph = std::move(b.builder).build();
  struct Widths final : CostModel {
    [[nodiscard]] std::string_view name() const override { return "widths"; }
    [[nodiscard]] Estimate estimate(const Operation& operation, const Device&) const override {
      return {.duration = Duration{0}, .share = operation.name == "wide" ? 1.0 : 0.5};
    }
  };
  const CostTable costs{graph, b.platform, Widths{}};
  const Trace trace = simulate({graph, b.platform, costs}, b.plan);
  CHECK(trace.tasks[1].started == at(11us));  // when the first has ended
  CHECK(trace.tasks[2].started == at(16us));  // submitted at 3, after the urgent one
}

TEST_CASE("unit classes run side by side") {
  Bench b;
  const UnitClassId cube = b.device().unit_classes.push_back({"cube", 1});
  const UnitClassId vector = b.device().unit_classes.push_back({"vector", 1});
  b.device().unit_class_of[static_cast<std::size_t>(TaskKind::gemm)] = cube;
  b.device().unit_class_of[static_cast<std::size_t>(TaskKind::pointwise)] = vector;
  const OperationId gemm = b.builder.add_operation({.name = "gemm", .kind = TaskKind::gemm});
  const OperationId pointwise =
      b.builder.add_operation({.name = "pointwise", .kind = TaskKind::pointwise});
  const auto add = [&](OperationId operation) {
    const TaskId task = b.builder.add_task(operation);
    b.builder.set_duration(task, 10us);
    b.launch(b.stream(), task);
  };
  add(gemm);
  add(pointwise);
  add(gemm);
  const Trace trace = b.run();
  CHECK(trace.tasks[0].started == at(0us));
  CHECK(trace.tasks[1].started == at(0us));   // the vector unit is free
  CHECK(trace.tasks[2].started == at(10us));  // the cube is not
}

TEST_CASE("the limit of resident kernels holds even where units are unlimited") {
  Bench b;
  b.device().resident_kernels = 2;
  for (int i = 0; i < 3; ++i) b.launch(b.stream(), b.task(10us));
  CHECK(b.run().tasks[2].started == at(10us));
}

TEST_CASE("host threads meet in messages, and a cycle of them is reported, not waited for") {
  Bench b;
  b.plan.hosts.push_back({});
  b.plan.messages = {{HostId{0}, HostId{1}, {}}, {HostId{1}, HostId{0}, {}}};
  auto& first = b.plan.hosts[HostId{0}].calls;
  auto& second = b.plan.hosts[HostId{1}].calls;
  SUBCASE("matched: both go on when the later one arrives") {
    first = {
        HostCall::sleep_ns(5000), HostCall::send(0), HostCall::launch(b.stream(), b.task(1us))};
    second = {HostCall::receive(0), HostCall::launch(b.stream(), b.task(1us))};
    const Trace trace = b.run();
    CHECK(trace.tasks[0].submitted == at(5us));
    CHECK(trace.tasks[1].submitted == at(5us));
  }
  SUBCASE("crossed: each sends first") {
    first = {HostCall::send(0), HostCall::receive(1)};
    second = {HostCall::send(1), HostCall::receive(0)};
    CHECK_THROWS_WITH_AS(
        b.run(), doctest::Contains("host 1 \"\": in call 0 (send)"), InfeasibleError);
  }
}

TEST_CASE("calls on what does not exist are refused by name") {
  Bench b;
  const StreamId s = b.stream();
  SUBCASE("a stream the plan does not have") {
    b.launch(StreamId{7}, b.task(1us));
  }
  SUBCASE("a task the graph does not have") {
    b.launch(s, TaskId{3});
  }
  SUBCASE("a stream after its destruction") {
    b.call(HostCall::destroy_stream(s));
    b.launch(s, b.task(1us));
  }
  SUBCASE("a stream that exists is created") {
    b.launch(s, b.task(1us));
    b.call(HostCall::create_stream(s));
  }
  CHECK_THROWS_AS(b.run(), ContractViolation);
}

TEST_CASE("a stream that was destroyed can be created again, and each creation costs the host") {
  Bench b;
  b.costs().create_stream = 3us;
  b.costs().destroy_stream = 2us;
  const StreamId s = b.stream();
  for (int run = 0; run < 3; ++run) {
    b.call(HostCall::create_stream(s));
    b.launch(s, b.task(10us));
    b.call(HostCall::destroy_stream(s));
    b.call(HostCall::synchronize_all());
  }
  const Trace trace = b.run();
  // The host creates for 3 us and launches at once; the task ends 10 us later, when the stream has
  // long been destroyed.
  CHECK(trace.tasks[2].started == Time{2 * (3us + 10us) + 3us});
  CHECK(trace.makespan() == 3 * (3us + 10us));
}

namespace {

/// Launches two tasks, polls the first stream and sleeps until it is idle, then launches a third.
class Poller final : public OnlinePolicy {
 public:
  IdVector<StreamId, StreamSpec> initial_streams() override {
    return IdVector<StreamId, StreamSpec>{std::vector<StreamSpec>(1)};
  }
  std::optional<OnlineStep> next(const HostView& view) override {
    switch (step_) {
      case 0:
        step_ = 1;
        return OnlineStep{HostCall::create_stream(StreamId{1}), {.priority = -1}};
      case 1:
        step_ = 2;
        return OnlineStep{HostCall::launch(StreamId{0}, TaskId{0}), {}};
      case 2:
        if (view.last_query.value_or(false)) {
          step_ = 3;
          return OnlineStep{HostCall::launch(StreamId{1}, TaskId{1}), {}};
        }
        if (view.last_query.has_value()) return OnlineStep{HostCall::sleep_ns(2000), {}};
        return OnlineStep{HostCall::query(StreamId{0}), {}};
      default:
        return std::nullopt;
    }
  }

 private:
  int step_ = 0;
};

}  // namespace

TEST_CASE("what an online policy decides is recorded, and the recorded plan runs the same") {
  Bench b;
  b.costs() = {.launch = 1us, .query = 500ns, .create_stream = 1us};
  b.task(6us);
  b.task(1us);
  const TaskGraph graph = std::move(b.builder).build();
  const CostTable costs{graph, b.platform};
  const Problem problem{graph, b.platform, costs};
  Poller poller;
  Simulator simulator;
  const auto recording = simulator.record(problem, poller, {.record_hosts = true});
  // Launched at 2, runs 2..8. Queries end at 2.5, 5, 7.5 (busy; 2 us of sleep between) and 10
  // (idle).
  CHECK(recording.plan.count(HostCallKind::query) == 4);
  CHECK(recording.plan.hosts[HostId{0}].calls[2].answer() == false);
  CHECK(recording.trace.tasks[1].submitted == at(11us));
  CHECK(recording.plan.streams[StreamId{1}].priority == -1);
  for (const EngineKind kind : {EngineKind::event, EngineKind::in_order}) {
    CHECK(simulate(problem, recording.plan, {.engine = kind, .record_hosts = true}) ==
          recording.trace);
  }
}
