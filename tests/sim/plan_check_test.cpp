// SPDX-License-Identifier: Apache-2.0
#include "sim/plan/plan_check.hpp"

#include "sim/graph/task_graph.hpp"
#include "sim/machine/platform.hpp"
#include "sim/plan/plan.hpp"

#include <doctest/doctest.h>

#include <string>
#include <vector>

using namespace schedlab;

namespace {

constexpr StreamId s0{0};
constexpr StreamId s1{1};
constexpr StreamId s2{2};
constexpr EventId e0{0};
constexpr EventId e1{1};
constexpr TaskId a{0};
constexpr TaskId b{1};

/// Tasks "a", "b", ... in a chain a -> b -> ...
TaskGraph chain(std::uint32_t tasks) {
  TaskGraphBuilder builder;
  const OperationId operation = builder.add_operation({.name = "t"});
  for (std::uint32_t i = 0; i < tasks; ++i) {
    builder.add_task(operation, {}, std::string(1, static_cast<char>('a' + i)));
    if (i > 0) builder.add_edge(TaskId{i - 1}, TaskId{i});
  }
  return std::move(builder).build();
}

Plan plan_of(std::vector<HostCall> calls, std::uint32_t streams = 3, std::uint32_t events = 2) {
  Plan plan;
  plan.streams.resize(streams);
  plan.event_count = events;
  plan.hosts[HostId{0}].calls = std::move(calls);
  return plan;
}

std::vector<Finding> check_chain(std::uint32_t tasks, std::vector<HostCall> calls) {
  return check(chain(tasks), ideal_platform(), plan_of(std::move(calls)));
}

bool mentions(const Finding& finding, const std::string& part) {
  return finding.message.find(part) != std::string::npos;
}

}  // namespace

TEST_CASE("every kind of finding has a name of its own") {
  CHECK(to_string(FindingKind::malformed) == "malformed");
  CHECK(to_string(FindingKind::task_not_launched) == "task_not_launched");
  CHECK(to_string(FindingKind::missing_dependency) == "missing_dependency");
  CHECK(to_string(FindingKind::event_never_recorded) == "event_never_recorded");
  CHECK(to_string(FindingKind::event_waited_before_record) == "event_waited_before_record");
  CHECK(to_string(FindingKind::unordered_accumulation) == "unordered_accumulation");
  CHECK(to_string(FindingKind::deadlock) == "deadlock");
  CHECK(to_string(FindingKind::out_of_memory) == "out_of_memory");
  CHECK(to_string(FindingKind::stream_not_alive) == "stream_not_alive");
}

TEST_CASE("a stream, an event, or any synchronize orders two tasks") {
  using C = HostCall;
  CHECK(check_chain(2, {C::launch(s0, a), C::launch(s0, b)}).empty());
  CHECK(check_chain(2, {C::launch(s0, a), C::record(s0, e0), C::wait(s1, e0), C::launch(s1, b)})
            .empty());
  CHECK(check_chain(2, {C::launch(s0, a), C::synchronize_stream(s0), C::launch(s1, b)}).empty());
  CHECK(check_chain(
            2, {C::launch(s0, a), C::record(s0, e0), C::synchronize_event(e0), C::launch(s1, b)})
            .empty());
  CHECK(check_chain(2, {C::launch(s0, a), C::synchronize_all(), C::launch(s1, b)}).empty());
}

TEST_CASE("order is handed on through streams that run neither of the two tasks") {
  using C = HostCall;
  // a on s0 -> event 0 -> s2 -> event 1 -> b on s1.
  CHECK(check_chain(2,
                    {C::launch(s0, a),
                     C::record(s0, e0),
                     C::wait(s2, e0),
                     C::record(s2, e1),
                     C::wait(s1, e1),
                     C::launch(s1, b)})
            .empty());
}

TEST_CASE("a synchronize of another stream, an idle query and a sleep order nothing") {
  using C = HostCall;
  for (const HostCall call :
       {C::synchronize_stream(s1), C::answered_query(s0, true), C::sleep_ns(1'000'000)}) {
    CAPTURE(to_string(call.kind()));
    const auto findings = check_chain(2, {C::launch(s0, a), call, C::launch(s1, b)});
    REQUIRE(findings.size() == 1);
    CHECK(findings[0].kind == FindingKind::missing_dependency);
    CHECK(findings[0].host == HostId{0});
    CHECK(findings[0].call == 2);
    CHECK(
        findings[0].message ==
        "b on stream 1 (call 2) is not ordered after a on stream 0 (call 0): no event is recorded "
        "on stream 0 after a");
  }
}

TEST_CASE(
    "the message tells an early record from a missing wait and from a launch in the wrong order") {
  using C = HostCall;
  auto findings =
      check_chain(2, {C::record(s0, e0), C::launch(s0, a), C::wait(s1, e0), C::launch(s1, b)});
  REQUIRE(findings.size() == 1);
  CHECK(mentions(findings[0],
                 "event 0, for which stream 1 waits, is recorded before a is launched (call 0 on "
                 "stream 0)"));

  findings = check_chain(2, {C::launch(s0, a), C::record(s0, e1), C::launch(s1, b)});
  REQUIRE(findings.size() == 1);
  CHECK(mentions(findings[0],
                 "event 1 is recorded on stream 0 after a (call 1), but stream 1 does not wait for "
                 "it"));

  findings = check_chain(2, {C::launch(s0, b), C::launch(s0, a)});
  REQUIRE(findings.size() == 1);
  CHECK(findings[0].call == 0);
  CHECK(mentions(findings[0], "it is launched before a"));
}

TEST_CASE("a wait that served an earlier task of the stream is not blamed for a later one") {
  using C = HostCall;
  TaskGraphBuilder builder;
  const OperationId operation = builder.add_operation({.name = "t"});
  for (const char* name : {"a", "b", "other"}) builder.add_task(operation, {}, name);
  builder.add_edge(a, b);
  const TaskGraph graph = std::move(builder).build();
  const auto findings = check(graph,
                              ideal_platform(),
                              plan_of({C::record(s0, e0),
                                       C::launch(s0, a),
                                       C::wait(s1, e0),
                                       C::launch(s1, TaskId{2}),
                                       C::launch(s1, b)}));
  REQUIRE(findings.size() == 1);
  CHECK(mentions(findings[0], "no event is recorded on stream 0 after a"));
}

TEST_CASE("a wait meets the record as it is at the call, not a later one") {
  using C = HostCall;
  // The event is recorded again after the wait, behind a: that comes too late for the wait.
  const auto findings = check_chain(
      2,
      {C::record(s0, e0), C::launch(s0, a), C::wait(s1, e0), C::record(s0, e0), C::launch(s1, b)});
  REQUIRE(findings.size() == 1);
  CHECK(findings[0].kind == FindingKind::missing_dependency);
  // Recorded again before the wait, it is in time.
  CHECK(check_chain(2,
                    {C::record(s0, e0),
                     C::launch(s0, a),
                     C::record(s0, e0),
                     C::wait(s1, e0),
                     C::launch(s1, b)})
            .empty());
}

TEST_CASE("an event that is recorded nowhere, and one that is recorded too late, are told apart") {
  using C = HostCall;
  auto findings = check_chain(1, {C::wait(s1, e1), C::launch(s0, a)});
  REQUIRE(findings.size() == 1);
  CHECK(findings[0].kind == FindingKind::event_never_recorded);
  CHECK(mentions(findings[0], "stream 1 (call 0) waits for event 1, which no call records"));

  findings = check_chain(1, {C::wait(s1, e1), C::launch(s0, a), C::record(s0, e1)});
  REQUIRE(findings.size() == 1);
  CHECK(findings[0].kind == FindingKind::event_waited_before_record);
  CHECK(mentions(findings[0], "event 1, which is recorded only later (call 2)"));

  findings = check_chain(1, {C::synchronize_event(e0), C::launch(s0, a)});
  REQUIRE(findings.size() == 1);
  CHECK(findings[0].kind == FindingKind::event_never_recorded);
}

TEST_CASE("tasks that are never launched are named, and counted when there are many") {
  auto findings = check_chain(3, {HostCall::launch(s0, a)});
  REQUIRE(findings.size() == 2);  // b and c, and no missing_dependency on top
  CHECK(findings[0].kind == FindingKind::task_not_launched);
  CHECK(findings[0].host == HostId::none());
  CHECK(findings[0].message == "b (task 1) is never launched");
  CHECK(findings[1].message == "c (task 2) is never launched");

  findings = check_chain(2, {HostCall::launch(s0, b)});
  REQUIRE(findings.size() == 1);
  CHECK(findings[0].message == "a (task 0) is never launched");

  findings = check_chain(20, {HostCall::launch(s0, a)});
  REQUIRE(findings.size() == 6);  // five names and the count of the other 19 - 5 = 14
  CHECK(findings[5].message == "14 more tasks are never launched, 19 of 20 in all");
}

TEST_CASE("a call that names something that does not exist is malformed, and the check goes on") {
  using C = HostCall;
  const auto findings = check_chain(1,
                                    {C::launch(StreamId{7}, a),
                                     C::record(s0, EventId{2}),
                                     C::launch(s0, TaskId{1}),
                                     C::send(0),
                                     C::graph_load(0),
                                     C::graph_launch(s0, 0),
                                     C::create_stream(StreamId::none()),
                                     C::launch(s0, a),
                                     C::launch(s0, a)});
  const std::vector<std::string> parts{"names stream 7, but the plan has 3 streams",
                                       "names event 2, but the plan has 2 events",
                                       "names task 1, but the graph has 1 tasks",
                                       "names message 0, but the plan has 0 messages",
                                       "names graph 0, but the plan has 0 graphs",
                                       "names graph 0, but the plan has 0 graphs",
                                       "needs a stream and names none",
                                       "launches a a second time; the first is call 7"};
  REQUIRE(findings.size() == parts.size());
  for (std::size_t i = 0; i < parts.size(); ++i) {
    CAPTURE(findings[i].message);
    CHECK(findings[i].kind == FindingKind::malformed);
    CHECK(findings[i].call == (i < 7 ? i : 8));
    CHECK(mentions(findings[i], parts[i]));
  }
}

TEST_CASE("a stream on a device that the platform does not have is malformed") {
  Plan plan = plan_of({HostCall::launch(s0, a)}, 1);
  CHECK(check(chain(1), ideal_platform(), plan).empty());
  plan.streams[s0].device = DeviceId{1};
  const auto findings = check(chain(1), ideal_platform(), plan);
  REQUIRE(findings.size() == 1);
  CHECK(findings[0].kind == FindingKind::malformed);
  CHECK(findings[0].message == "stream 0 is on device 1, but the platform has 1 device");
}

TEST_CASE("a stream that the plan creates may be used only between its creation and destruction") {
  using C = HostCall;
  CHECK(check_chain(1, {C::create_stream(s1), C::launch(s1, a), C::destroy_stream(s1)}).empty());
  CHECK(check_chain(2,
                    {C::create_stream(s1),
                     C::launch(s1, a),
                     C::destroy_stream(s1),
                     C::synchronize_all(),
                     C::create_stream(s1),
                     C::launch(s1, b)})
            .empty());

  auto findings = check_chain(1, {C::launch(s1, a), C::create_stream(s1)});
  REQUIRE(findings.size() == 1);
  CHECK(findings[0].kind == FindingKind::stream_not_alive);
  CHECK(mentions(findings[0], "call 0 (launch) uses stream 1, which is not created before"));

  findings = check_chain(1, {C::create_stream(s1), C::destroy_stream(s1), C::launch(s1, a)});
  REQUIRE(findings.size() == 1);
  CHECK(findings[0].kind == FindingKind::stream_not_alive);
  CHECK(mentions(findings[0], "uses stream 1, which was destroyed by call 1"));

  // On a device the second stream would not be behind the first.
  findings = check_chain(2,
                         {C::create_stream(s1),
                          C::launch(s1, a),
                          C::destroy_stream(s1),
                          C::create_stream(s1),
                          C::launch(s1, b)});
  REQUIRE(findings.size() == 1);
  CHECK(findings[0].kind == FindingKind::stream_not_alive);
  CHECK(
      mentions(findings[0], "creates stream 1 again, whose work before its destruction may still"));
  // A wait for the last task is enough, whatever else the stream held.
  CHECK(check_chain(2,
                    {C::create_stream(s1),
                     C::launch(s1, a),
                     C::record(s1, e0),
                     C::synchronize_event(e0),
                     C::destroy_stream(s1),
                     C::create_stream(s1),
                     C::launch(s1, b)})
            .empty());

  findings = check_chain(1, {C::create_stream(s1), C::create_stream(s1), C::launch(s1, a)});
  REQUIRE(findings.size() == 1);
  CHECK(findings[0].kind == FindingKind::malformed);
  CHECK(mentions(findings[0], "creates stream 1, which exists already since call 0"));
}

TEST_CASE("two tasks that add into one tensor must be ordered, in either order") {
  using C = HostCall;
  TaskGraphBuilder builder;
  const OperationId operation = builder.add_operation({.name = "add"});
  const TensorId sum = builder.add_tensor({.name = "sum", .accumulate = true, .persistent = true});
  const TensorId own = builder.add_tensor({.accumulate = true, .persistent = true});
  for (const TaskId task : {a, b}) {
    builder.add_task(operation, {}, task == a ? "a" : "b");
    builder.writes(task, sum);
  }
  builder.writes(a, own);  // one writer only: nothing to order
  const TaskGraph graph = std::move(builder).build();
  const auto findings_of = [&](std::vector<HostCall> calls) {
    return check(graph, ideal_platform(), plan_of(std::move(calls)));
  };
  CHECK(findings_of({C::launch(s0, a), C::launch(s0, b)}).empty());
  CHECK(findings_of({C::launch(s0, b), C::record(s0, e0), C::wait(s1, e0), C::launch(s1, a)})
            .empty());
  const auto findings = findings_of({C::launch(s0, b), C::launch(s1, a)});
  REQUIRE(findings.size() == 1);
  CHECK(findings[0].kind == FindingKind::unordered_accumulation);
  CHECK(
      findings[0].message ==
      "b on stream 0 (call 0) and a on stream 1 (call 1) both add into sum and may do so at once: "
      "no event is recorded on stream 0 after b");
}

TEST_CASE("each addition is held against the one before it, not only against the first") {
  using C = HostCall;
  TaskGraphBuilder builder;
  const OperationId operation = builder.add_operation({.name = "add"});
  const TensorId sum = builder.add_tensor({.name = "sum", .accumulate = true, .persistent = true});
  for (const char* name : {"a", "b", "c"})
    builder.writes(builder.add_task(operation, {}, name), sum);
  const TaskGraph graph = std::move(builder).build();
  // b and c both wait for a, but not for each other.
  const auto findings = check(graph,
                              ideal_platform(),
                              plan_of({C::launch(s0, a),
                                       C::record(s0, e0),
                                       C::wait(s1, e0),
                                       C::launch(s1, b),
                                       C::wait(s2, e0),
                                       C::launch(s2, TaskId{2})}));
  REQUIRE(findings.size() == 1);
  CHECK(findings[0].kind == FindingKind::unordered_accumulation);
  CHECK(
      mentions(findings[0], "b on stream 1 (call 3) and c on stream 2 (call 5) both add into sum"));
}

TEST_CASE("a flood of one kind is cut to the limit and hides no other kind") {
  using C = HostCall;
  // 20 independent pairs: t0 -> t1, t2 -> t3, ..., none ordered; the last call waits for nothing.
  TaskGraphBuilder builder;
  const OperationId operation = builder.add_operation({.name = "t"});
  std::vector<HostCall> calls;
  for (std::uint32_t i = 0; i < 40; ++i) {
    builder.add_task(operation);
    if (i % 2 == 1) builder.add_edge(TaskId{i - 1}, TaskId{i});
    calls.push_back(C::launch(i % 2 == 0 ? s0 : s1, TaskId{i}));
  }
  calls.push_back(C::wait(s0, e0));
  const TaskGraph graph = std::move(builder).build();
  const Plan plan = plan_of(calls);
  CHECK(check(graph, ideal_platform(), plan).size() == 21);
  const auto findings = check(graph, ideal_platform(), plan, {.max_findings = 5});
  REQUIRE(findings.size() == 5);
  for (std::size_t i = 0; i < 4; ++i) CHECK(findings[i].call == 2 * i + 1);
  CHECK(findings[4].kind == FindingKind::event_never_recorded);
  CHECK(check(graph, ideal_platform(), plan, {.max_findings = 0}).empty());
}

TEST_CASE("an empty plan for an empty graph has no findings") {
  CHECK(check(TaskGraph{}, ideal_platform(), Plan{}).empty());
}
