// SPDX-License-Identifier: Apache-2.0
#include "sim/plan/graph_capture.hpp"

#include "sim/base/error.hpp"
#include "sim/base/rng.hpp"
#include "sim/engine/simulator.hpp"
#include "sim/plan/launch_clocks.hpp"
#include "sim/plan/plan_builder.hpp"
#include "sim/plan/plan_check.hpp"
#include "sim/plan/stream_order.hpp"
#include "tests/support/random_plan.hpp"

#include <utility>
#include <vector>

using namespace schedlab;

namespace {

using C = HostCall;
constexpr StreamId s0{0};
constexpr StreamId s1{1};

}  // namespace

TEST_CASE("capture: stream order and events become needs, and what others imply is left out") {
  Plan eager;
  for (int i = 0; i < 3; ++i) eager.streams.push_back({DeviceId{0}, -i, {}});
  eager.event_count = 2;
  const StreamId s2{2};
  const auto t = [](std::uint32_t i) { return TaskId{i}; };
  eager.hosts[HostId{0}].calls = {C::create_stream(s1),
                                  C::launch(s0, t(0)),
                                  C::record(s0, EventId{0}),
                                  C::launch(s0, t(1)),
                                  C::wait(s1, EventId{0}),
                                  C::launch(s1, t(2)),  // after 0
                                  C::query(s1),
                                  C::sleep_ns(5),
                                  C::record(s1, EventId{1}),
                                  C::wait(s2, EventId{0}),
                                  C::wait(s2, EventId{1}),  // implies 0
                                  C::launch(s2, t(3)),
                                  C::wait(s0, EventId{1}),
                                  C::wait(s0, EventId{0}),  // known, by both ways
                                  C::launch(s0, t(4))};
  const Plan made = capture_graphs(eager);
  REQUIRE(made.graphs.size() == 1);
  const DeviceGraph& graph = made.graphs[0];
  const std::vector<std::vector<std::uint32_t>> needs{{}, {0}, {0}, {2}, {1, 2}};
  REQUIRE(graph.node_count() == needs.size());
  for (std::uint32_t node = 0; node < needs.size(); ++node) {
    CAPTURE(node);
    CHECK(std::vector<std::uint32_t>(graph.needs(node).begin(), graph.needs(node).end()) ==
          needs[node]);
    CHECK(graph.task(0, node) == t(node));
  }
  CHECK(graph.stream(3) == s2);
  CHECK(made.hosts[HostId{0}].calls == std::vector<HostCall>{C::graph_launch(s0, 0)});
  CHECK(made.streams == eager.streams);
  expect_well_formed(made, 5);
}

TEST_CASE("capture: waiting again for what a stream has waited for changes nothing") {
  Plan eager;
  eager.streams.resize(2);
  eager.event_count = 2;
  eager.hosts[HostId{0}].calls = {C::launch(s0, TaskId{0}),
                                  C::record(s0, EventId{0}),
                                  C::record(s0, EventId{1}),
                                  C::wait(s1, EventId{0}),
                                  C::wait(s1, EventId{0}),
                                  C::wait(s1, EventId{1}),  // recorded at the same place
                                  C::launch(s1, TaskId{1})};
  const Plan made = capture_graphs(eager);
  REQUIRE(made.graphs.size() == 1);
  REQUIRE(made.graphs[0].needs(1).size() == 1);
  CHECK(made.graphs[0].needs(1)[0] == 0);

  for (std::uint64_t seed = 0; seed < 200; ++seed) {
    CAPTURE(seed);
    const Plan plan = test::random_plan(test::random_graph(seed), seed, 5, true);
    Plan again = plan;
    Rng rng{seed};
    auto& calls = again.hosts[HostId{0}].calls;
    calls.clear();
    for (const HostCall call : plan.hosts[HostId{0}].calls) {
      calls.push_back(call);
      if (call.kind() == HostCallKind::wait && rng.below(2) == 0) calls.push_back(call);
    }
    CHECK(capture_graphs(again).graphs == capture_graphs(plan).graphs);
  }
}

TEST_CASE("capture: a synchronize ends a graph and stays, with the stream of the launch") {
  Plan eager;
  eager.streams.resize(2);
  eager.event_count = 1;
  eager.hosts[HostId{0}].calls = {C::launch(s1, TaskId{0}),
                                  C::record(s1, EventId{0}),
                                  C::synchronize_event(EventId{0}),
                                  C::wait(s0, EventId{0}),
                                  C::launch(s0, TaskId{1}),
                                  C::synchronize_all()};
  const Plan made = capture_graphs(eager, {.load = true});
  CHECK(made.hosts[HostId{0}].calls == std::vector<HostCall>{C::graph_load(0),
                                                             C::graph_launch(s1, 0),
                                                             C::synchronize_stream(s1),
                                                             C::graph_load(1),
                                                             C::graph_launch(s0, 1),
                                                             C::synchronize_all()});
  CHECK(made.graphs[1].needs(0).empty());
}

TEST_CASE("capture: what lies in an earlier graph of another stream is waited for by an event") {
  Plan eager;
  eager.streams.resize(3);
  const StreamId idle{2};  // to wait for it ends a capture and orders nothing
  eager.event_count = 1;
  eager.hosts[HostId{0}].calls = {C::launch(s0, TaskId{0}),
                                  C::record(s0, EventId{0}),
                                  C::synchronize_stream(idle),
                                  C::launch(s1, TaskId{1}),
                                  C::synchronize_stream(idle),
                                  C::wait(s1, EventId{0}),
                                  C::launch(s1, TaskId{2}),
                                  C::launch(s0, TaskId{3}),  // by stream order behind task 0
                                  C::synchronize_stream(s0),
                                  C::launch(s0, TaskId{4})};
  const Plan made = capture_graphs(eager);
  CHECK(made.event_count == 1);
  CHECK(made.hosts[HostId{0}].calls == std::vector<HostCall>{C::graph_launch(s0, 0),
                                                             C::record(s0, EventId{0}),
                                                             C::synchronize_stream(idle),
                                                             C::graph_launch(s1, 1),
                                                             C::synchronize_stream(idle),
                                                             C::wait(s1, EventId{0}),
                                                             C::graph_launch(s1, 2),
                                                             C::synchronize_stream(s1),
                                                             C::graph_launch(s0, 3)});
}

TEST_CASE("capture of random plans in pieces: nothing that the eager plan orders is lost") {
  for (std::uint64_t seed = 0; seed < 400; ++seed) {
    CAPTURE(seed);
    const TaskGraph graph = test::random_graph(seed);
    Plan eager =
        test::random_plan(graph, seed, 1 + static_cast<std::uint32_t>(seed % 9), seed % 2 == 0);
    const StreamId idle = eager.streams.push_back({});
    Rng rng{seed};
    auto& calls = eager.hosts[HostId{0}].calls;
    std::vector<HostCall> pieces;
    for (const HostCall call : calls) {
      pieces.push_back(call);
      if (rng.below(3) == 0) pieces.push_back(C::synchronize_stream(idle));
    }
    calls = pieces;
    const Plan made = capture_graphs(eager);
    expect_well_formed(made, graph.task_count());
    CHECK(check(graph, ideal_platform(), made).empty());
  }
}

TEST_CASE("capture refuses what it cannot see: graphs, and events between hosts") {
  Plan eager;
  eager.streams.resize(2);
  eager.event_count = 1;
  eager.hosts[HostId{0}].calls = {C::launch(s0, TaskId{0}), C::record(s0, EventId{0})};
  eager.hosts.push_back({"other", {C::wait(s1, EventId{0}), C::launch(s1, TaskId{1})}});
  CHECK_THROWS_WITH_AS(capture_graphs(eager),
                       doctest::Contains("event 0 of plan \"\" is used by hosts 0 and 1"),
                       InfeasibleError);
  eager.hosts[HostId{1}].calls.erase(eager.hosts[HostId{1}].calls.begin());
  const Plan made = capture_graphs(eager);
  CHECK(made.graphs.size() == 2);
  CHECK_THROWS_AS(capture_graphs(made), InfeasibleError);
}

TEST_CASE("capture of random plans: checked clean, both engines agree, the same times when ideal") {
  for (std::uint64_t seed = 0; seed < 200; ++seed) {
    CAPTURE(seed);
    const TaskGraph graph = test::random_graph(seed);
    const Plan eager =
        test::random_plan(graph, seed, 1 + static_cast<std::uint32_t>(seed % 9), seed % 2 == 0);
    const Plan made = capture_graphs(eager, {.load = seed % 3 == 0});
    expect_well_formed(made, graph.task_count());
    CHECK(check(graph, ideal_platform(), made).empty());
    Platform platform = test::random_platform(seed);
    Rng rng{seed};
    platform.hosts[HostId{0}].costs.graph_launch = Duration{std::int64_t(rng.below(3'000'000))};
    platform.hosts[HostId{0}].costs.graph_launch_node = Duration{std::int64_t(rng.below(5000))};
    platform.devices[DeviceId{0}].graph_node_gap = Duration{std::int64_t(rng.below(900'000))};
    const CostTable costs{graph, platform};
    const Problem problem{graph, platform, costs};
    SimulationOptions options{.record_hosts = true, .record_flows = true};
    options.engine = EngineKind::event;
    const Trace by_events = simulate(problem, made, options);
    options.engine = EngineKind::in_order;
    CHECK(simulate(problem, made, options) == by_events);

    // On the ideal machine every task starts when it did, if nothing ends the capture.
    if (seed % 2 == 0) continue;
    REQUIRE(made.graphs.size() == 1);
    const Platform ideal = ideal_platform(3);
    const CostTable ideal_costs{graph, ideal};
    const Problem ideal_problem{graph, ideal, ideal_costs};
    const Trace before = simulate(ideal_problem, eager);
    const Trace after = simulate(ideal_problem, made);
    for (std::size_t i = 0; i < before.tasks.size(); ++i) {
      CHECK(after.tasks[i].task == before.tasks[i].task);
      CHECK(after.tasks[i].started == before.tasks[i].started);
    }
  }
}

TEST_CASE("capture keeps exactly the order of the plan: needs equal the closure's reduction") {
  // Independent: the order of an eager plan as a matrix of reachability, from streams and events.
  for (std::uint64_t seed = 0; seed < 60; ++seed) {
    CAPTURE(seed);
    const TaskGraph graph = test::random_graph(seed, {.tasks = 24});
    const Plan eager = test::random_plan(graph, seed, 1 + std::uint32_t(seed % 5), false);
    const std::size_t n = graph.task_count();
    std::vector<std::vector<bool>> before(n, std::vector<bool>(n, false));
    std::vector<std::vector<bool>> done(eager.streams.size(), std::vector<bool>(n, false));
    std::vector<std::vector<bool>> event(eager.event_count, std::vector<bool>(n, false));
    for (const HostCall c : eager.hosts[HostId{0}].calls) {
      auto& stream = done[c.stream().value()];
      if (c.kind() == HostCallKind::launch) {
        before[c.task().value()] = stream;
        stream[c.task().value()] = true;
      } else if (c.kind() == HostCallKind::record) {
        event[c.event().value()] = stream;
      } else {
        for (std::size_t i = 0; i < n; ++i) stream[i] = stream[i] || event[c.event().value()][i];
      }
    }
    const DeviceGraph made = capture_graphs(eager).graphs.at(0);
    for (std::uint32_t node = 0; node < n; ++node) {
      std::vector<std::uint32_t> needs;
      for (std::uint32_t a = 0; a < node; ++a) {
        bool direct = before[node][a];
        for (std::uint32_t b = 0; b < n; ++b) direct = direct && !(before[node][b] && before[b][a]);
        if (direct) needs.push_back(a);
      }
      CHECK(std::vector<std::uint32_t>(made.needs(node).begin(), made.needs(node).end()) == needs);
    }
  }
}

TEST_CASE(
    "capture: clocks of launches know what clocks of all streams know, or less of very many") {
  for (const std::size_t streams : {3U, 40U, 600U}) {
    CAPTURE(streams);
    Rng rng{streams};
    LaunchClocks clocks;
    StreamOrder all{0};
    for (std::size_t i = 0; i < streams; ++i) {
      CHECK(clocks.add_stream() == all.add_stream());
    }
    const auto any = [&] { return StreamId{static_cast<std::uint32_t>(rng.below(streams))}; };
    std::vector<std::pair<LaunchClocks::Snapshot, StreamOrder::Snapshot>> events;
    std::size_t forgotten = 0;
    for (int i = 0; i < 6000; ++i) {
      const StreamId stream = any();
      CHECK(clocks.advance(stream) == all.advance(stream));
      if (rng.below(2) == 0) events.emplace_back(clocks.snapshot(stream), all.snapshot(stream));
      if (events.empty()) continue;
      const std::size_t which = rng.below(events.size());
      const auto [mine, other] = events[which];
      const StreamId waiting = any();
      clocks.join(waiting, mine);
      all.join(waiting, other);
      const StreamId asked = any();
      CHECK(clocks.known(waiting, asked) <= all.known(waiting, asked));
      CHECK(clocks.covered(mine, asked) <= all.covered(other, asked));
      CHECK(clocks.known(waiting, waiting) == all.known(waiting, waiting));
      forgotten += clocks.known(waiting, asked) < all.known(waiting, asked) ? 1U : 0U;
      if (rng.below(3) != 0) continue;
      clocks.release(mine);
      all.release(other);
      events.erase(events.begin() + static_cast<std::ptrdiff_t>(which));
    }
    CHECK((forgotten == 0) == (streams <= LaunchClocks::entries_max));
  }
}

TEST_CASE("capture: a chain over ten thousand streams has a need for each link") {
  constexpr std::uint32_t streams = 10'000;  // squared, clocks of all would take 400 MB
  Plan eager;
  eager.streams.resize(streams);
  eager.event_count = streams;
  auto& calls = eager.hosts[HostId{0}].calls;
  for (std::uint32_t i = 0; i < streams; ++i) {
    if (i > 0) calls.push_back(C::wait(StreamId{i}, EventId{i - 1}));
    calls.push_back(C::launch(StreamId{i}, TaskId{i}));
    calls.push_back(C::record(StreamId{i}, EventId{i}));
  }
  const Plan made = capture_graphs(eager);
  REQUIRE(made.graphs.size() == 1);
  CHECK(made.graphs[0].node_count() == streams);
  CHECK(made.graphs[0].edge_count() == streams - 1);
}

TEST_CASE("capture: a task that stays on the host lies between graphs and keeps its order") {
  // 0 -> 1 (host) -> 2 on one stream, and 3 on another behind 1: two graphs, {0} and {2, 3}.
  Plan eager;
  for (int i = 0; i < 2; ++i) eager.streams.push_back({DeviceId{0}, 0, {}});
  eager.event_count = 1;
  eager.hosts[HostId{0}].calls = {C::launch(s0, TaskId{0}),
                                  C::launch(s0, TaskId{1}),
                                  C::record(s0, EventId{0}),
                                  C::launch(s0, TaskId{2}),
                                  C::wait(s1, EventId{0}),
                                  C::launch(s1, TaskId{3})};
  CaptureOptions options;
  options.on_host = IdVector<TaskId, std::uint8_t>{4, 0};
  options.on_host[TaskId{1}] = 1;
  options.load = true;
  const Plan made = capture_graphs(eager, options);
  expect_well_formed(made, 4);
  REQUIRE(made.graphs.size() == 2);
  CHECK(made.graphs[0].tasks(0).front() == TaskId{0});
  CHECK(made.graphs[1].node_count() == 2);
  CHECK(made.graphs[1].needs(1).empty());  // what both need lies before the graph
  CHECK(made.hosts[HostId{0}].calls == std::vector<HostCall>{C::graph_load(0),
                                                             C::graph_launch(s0, 0),
                                                             C::launch(s0, TaskId{1}),
                                                             C::graph_load(1),
                                                             C::graph_launch(s0, 1)});
}

TEST_CASE("capture in parts: the device begins after the first part's launch") {
  constexpr std::uint32_t tasks = 10;
  constexpr std::uint32_t most = 4;
  TaskGraphBuilder builder;
  const OperationId operation =
      builder.add_operation({.name = "t", .kernels = {}, .fixed_duration = 5us});
  Plan eager;
  eager.streams.resize(1);
  for (std::uint32_t i = 0; i < tasks; ++i) {
    const TaskId task = builder.add_task(operation);
    if (i > 0) builder.add_edge(TaskId{i - 1}, task);
    eager.hosts[HostId{0}].calls.push_back(C::launch(s0, task));
  }
  const TaskGraph graph = std::move(builder).build();
  Platform platform = ideal_platform();
  HostCosts& host = platform.hosts[HostId{0}].costs;
  host.graph_launch = 3us;
  host.graph_launch_node = 1us;
  const CostTable costs{graph, platform};
  const Problem problem{graph, platform, costs};
  CHECK(simulate(problem, capture_graphs(eager)).makespan() == 3us + 10 * 1us + 10 * 5us);
  const Plan parts = capture_graphs(eager, {.max_nodes = most});
  REQUIRE(parts.graphs.size() == 3);
  CHECK(parts.graphs[2].node_count() == 2);
  CHECK(check(graph, platform, parts).empty());
  // Later launches, 7 us and 5 us, are hidden behind 20 us of kernels each.
  CHECK(simulate(problem, parts).makespan() == 3us + 4 * 1us + 10 * 5us);
  CHECK(capture_graphs(eager, {.max_nodes = tasks}) == capture_graphs(eager));
}

TEST_CASE("capture: with tasks on the host, or in parts, every dependency still holds") {
  for (std::uint64_t seed = 0; seed < 40; ++seed) {
    CAPTURE(seed);
    Rng rng{seed};
    TaskGraphBuilder builder;
    const OperationId operation =
        builder.add_operation({.name = "t", .kernels = {}, .fixed_duration = 5us});
    constexpr std::uint32_t tasks = 30;
    for (std::uint32_t i = 0; i < tasks; ++i) {
      const TaskId task = builder.add_task(operation);
      for (std::uint32_t j = 0; j < i; ++j) {
        if (rng.below(6) == 0) builder.add_edge(TaskId{j}, task);
      }
    }
    const TaskGraph graph = std::move(builder).build();
    const Platform platform = ideal_platform();
    const CostTable costs{graph, platform};
    const Problem problem{graph, platform, costs};
    PlanBuilder builder_of_plan{problem};
    for (int i = 0; i < 3; ++i) builder_of_plan.add_stream({});
    CaptureOptions options;
    for (const TaskId task : graph.tasks()) {
      builder_of_plan.place(task, StreamId{static_cast<std::uint32_t>(rng.below(3))});
      options.on_host.push_back(rng.below(4) == 0 ? 1 : 0);
    }
    options.max_nodes = static_cast<std::uint32_t>(seed % 4) * 3;
    const Plan made = capture_graphs(std::move(builder_of_plan).build("random"), options);
    for (const DeviceGraph& part : made.graphs) {
      CHECK((options.max_nodes == 0 || part.node_count() <= options.max_nodes));
    }
    CHECK(check(graph, platform, made).empty());
    CHECK(simulate(problem, made).tasks.size() == tasks);
  }
}
