// SPDX-License-Identifier: Apache-2.0
#include "sim/base/rng.hpp"
#include "sim/plan/plan_check.hpp"

#include <algorithm>
#include <string>
#include <utility>
#include <vector>

using namespace schedlab;

namespace {

using C = HostCall;
constexpr StreamId s0{0};
constexpr StreamId s1{1};

/// `count` tasks t0, t1, ... with these edges.
TaskGraph tasks(std::uint32_t count,
                const std::vector<std::pair<std::uint32_t, std::uint32_t>>& edges) {
  TaskGraphBuilder builder;
  const OperationId operation = builder.add_operation({.name = "task"});
  for (std::uint32_t i = 0; i < count; ++i)
    builder.add_task(operation, {}, "t" + std::to_string(i));
  for (const auto& [from, to] : edges) builder.add_edge(TaskId{from}, TaskId{to});
  return std::move(builder).build();
}

/// Nodes with these needs on stream 0, launched once with tasks `first`, `first` + 1, ...
DeviceGraph graph_of(const std::vector<std::vector<std::uint32_t>>& needs,
                     std::uint32_t first = 0,
                     std::uint32_t launches = 1) {
  DeviceGraph graph;
  graph.name = "step";
  for (const auto& n : needs) graph.add_node(s0, n);
  for (std::uint32_t launch = 0; launch < launches; ++launch) {
    std::vector<TaskId> row;
    for (std::uint32_t i = 0; i < needs.size(); ++i) row.emplace_back(first++);
    graph.add_launch(row);
  }
  return graph;
}

Plan plan_of(std::vector<DeviceGraph> graphs, std::vector<HostCall> calls) {
  Plan plan;
  plan.streams.resize(2);
  plan.event_count = 1;
  plan.graphs = std::move(graphs);
  plan.hosts[HostId{0}].calls = std::move(calls);
  return plan;
}

std::vector<Finding> findings(const TaskGraph& graph, const Plan& plan) {
  return check(graph, ideal_platform(), plan);
}

void expect_one(const std::vector<Finding>& found, FindingKind kind, const char* part) {
  REQUIRE(found.size() == 1);
  CAPTURE(found[0].message);
  CHECK(found[0].kind == kind);
  CHECK(found[0].message.find(part) != std::string::npos);
}

}  // namespace

TEST_CASE("within a graph only paths of needs order tasks") {
  const TaskGraph graph = tasks(3, {{0, 1}, {0, 2}});
  const auto launch = std::vector{C::graph_launch(s0, 0)};
  CHECK(findings(graph, plan_of({graph_of({{}, {0}, {1}})}, launch)).empty());
  expect_one(findings(graph, plan_of({graph_of({{}, {0}, {}})}, launch)),
             FindingKind::missing_dependency,
             "t2 on stream 0 (call 0) is not ordered after t0 on stream 0 (call 0): no path of "
             "step leads from one to the other");
}

TEST_CASE(
    "around a graph stream order, events and synchronizes count; the graph is one operation") {
  // t0 before the graph {t1, t2}, t3 after it.
  const TaskGraph graph = tasks(4, {{0, 1}, {0, 2}, {1, 3}, {2, 3}});
  const DeviceGraph both = graph_of({{}, {}}, 1);
  const auto found = [&](std::vector<HostCall> calls) {
    return findings(graph, plan_of({both}, std::move(calls)));
  };
  const HostCall first = C::launch(s0, TaskId{0});
  const HostCall last = C::launch(s1, TaskId{3});
  const HostCall run = C::graph_launch(s0, 0);
  const HostCall record = C::record(s0, EventId{0});
  const HostCall wait = C::wait(s1, EventId{0});
  CHECK(found({first, run, record, wait, last}).empty());
  CHECK(found({first, run, C::synchronize_stream(s0), last}).empty());
  CHECK(found({first, run, C::launch(s0, TaskId{3})}).empty());
  const auto late = found({run, first, record, wait, last});
  REQUIRE(late.size() == 2);
  CHECK(late[0].kind == FindingKind::missing_dependency);
  CHECK(late[0].message.find("t1") != std::string::npos);
  const auto early = found({first, record, run, wait, last});  // the record misses the graph
  REQUIRE(early.size() == 2);
  CHECK(early[0].message.find("is recorded before t1 is launched") != std::string::npos);
}

TEST_CASE("a graph's launch comes behind its launch before, in whatever stream") {
  const TaskGraph graph = tasks(4, {{0, 2}, {1, 3}});
  const auto twice = std::vector{C::graph_launch(s0, 0), C::graph_launch(s1, 0)};
  CHECK(findings(graph, plan_of({graph_of({{}, {}}, 0, 2)}, twice)).empty());
  const auto two = std::vector{C::graph_launch(s0, 0), C::graph_launch(s1, 1)};
  CHECK(findings(graph, plan_of({graph_of({{}, {}}), graph_of({{}, {}}, 2)}, two)).size() == 2);
}

TEST_CASE("two tasks of a graph that add into one tensor need a path") {
  TaskGraphBuilder builder;
  const OperationId operation = builder.add_operation({.name = "task"});
  const TensorId sum = builder.add_tensor({.bytes = Bytes{8}, .accumulate = true});
  for (int i = 0; i < 3; ++i) builder.writes(builder.add_task(operation), sum);
  const TaskGraph graph = std::move(builder).build();
  const auto launch = std::vector{C::graph_launch(s0, 0)};
  CHECK(findings(graph, plan_of({graph_of({{}, {0}, {1}})}, launch)).empty());
  const auto found = findings(graph, plan_of({graph_of({{}, {0}, {0}})}, launch));
  REQUIRE(found.size() == 1);
  CHECK(found[0].kind == FindingKind::unordered_accumulation);
}

TEST_CASE("graphs that are launched wrongly are named") {
  const TaskGraph graph = tasks(2, {});
  const DeviceGraph good = graph_of({{}, {}});
  const HostCall run = C::graph_launch(s0, 0);
  const auto found = [&](const DeviceGraph& g, std::vector<HostCall> calls) {
    return findings(graph, plan_of({g}, std::move(calls)));
  };
  CHECK(found(good, {C::graph_load(0), run}).empty());
  expect_one(found(good, {run, C::graph_load(0)}),
             FindingKind::graph_not_loaded,
             "call 0 (graph_launch) launches step, which is not loaded before");
  expect_one(found(good, {C::graph_load(0), C::graph_load(0), run}),
             FindingKind::malformed,
             "call 1 (graph_load) loads step again; the first is call 0");
  expect_one(found(good, {run, run}),
             FindingKind::malformed,
             "call 1 (graph_launch) launches step once more than it has rows of tasks (1)");
  expect_one(found(good, {run, C::graph_launch(s0, 1)}),
             FindingKind::malformed,
             "names graph 1, but the plan has 1 graphs");
  expect_one(found(good, {run, C::launch(s0, TaskId{1})}),
             FindingKind::malformed,
             "(launch) launches t1 a second time; the first is call 0");
  DeviceGraph lost;
  lost.name = "lost";
  lost.add_node(StreamId{9}, {});
  const auto lost_findings = found(lost, {run});
  REQUIRE(lost_findings.size() == 4);  // the graph, its launch, and two tasks that do not run
  CHECK(lost_findings.back().kind == FindingKind::task_not_launched);
  CHECK(std::any_of(lost_findings.begin(), lost_findings.end(), [](const Finding& f) {
    return f.message == "lost has node 0 of stream 9, but the plan has 2 streams";
  }));

  Plan two_hosts = plan_of({graph_of({{}}, 0, 2)}, {run});
  two_hosts.hosts.push_back({"other", {run}});
  const auto shared = findings(graph, two_hosts);
  REQUIRE(shared.size() == 2);
  CHECK(shared[0].message.find("a graph belongs to one host") != std::string::npos);
}

TEST_CASE("random graphs: a missing dependency is found exactly where there is no path") {
  for (std::uint64_t seed = 0; seed < 200; ++seed) {
    CAPTURE(seed);
    Rng rng{seed};
    const auto n = static_cast<std::uint32_t>(2 + rng.below(14));
    std::vector<std::vector<std::uint32_t>> needs(n);
    std::vector<std::vector<bool>> path(n, std::vector<bool>(n, false));
    std::vector<std::pair<std::uint32_t, std::uint32_t>> edges;
    std::size_t missing = 0;
    for (std::uint32_t to = 0; to < n; ++to) {
      for (std::uint32_t from = 0; from < to; ++from) {
        if (rng.below(5) != 0) continue;
        needs[to].push_back(from);
        path[from][to] = true;
        for (std::uint32_t a = 0; a < from; ++a) path[a][to] = path[a][to] || path[a][from];
      }
      for (std::uint32_t from = 0; from < to; ++from) {
        if (rng.below(4) != 0) continue;
        edges.emplace_back(from, to);
        if (!path[from][to]) ++missing;
      }
    }
    const auto found =
        findings(tasks(n, edges), plan_of({graph_of(needs)}, {C::graph_launch(s0, 0)}));
    CHECK(found.size() == missing);
  }
}
