// SPDX-License-Identifier: Apache-2.0
#include "sim/graph/task_graph.hpp"
#include "sim/machine/platform.hpp"
#include "sim/plan/plan.hpp"
#include "sim/plan/plan_check.hpp"

#include <doctest/doctest.h>

#include <string>
#include <utility>
#include <vector>

using namespace schedlab;
using C = schedlab::HostCall;

namespace {

constexpr StreamId s0{0};
constexpr StreamId s1{1};
constexpr EventId e0{0};
constexpr TaskId a{0};
constexpr TaskId b{1};

/// a -> b.
TaskGraph two_tasks() {
  TaskGraphBuilder builder;
  const OperationId operation = builder.add_operation({.name = "t"});
  builder.add_task(operation, {}, "a");
  builder.add_task(operation, {}, "b");
  builder.add_edge(a, b);
  return std::move(builder).build();
}

/// Hosts "rank 0", "rank 1", ...; two streams, one event; message i goes `messages[i]`.first ->
/// .second.
Plan plan_of(std::vector<std::vector<HostCall>> programs,
             const std::vector<std::pair<std::uint32_t, std::uint32_t>>& messages) {
  Plan plan;
  plan.streams.resize(2);
  plan.event_count = 1;
  plan.hosts.clear();
  for (std::size_t i = 0; i < programs.size(); ++i) {
    plan.hosts.push_back({"rank " + std::to_string(i), std::move(programs[i])});
  }
  for (const auto& [from, to] : messages) {
    plan.messages.push_back({HostId{from}, HostId{to}, Bytes{8}});
  }
  return plan;
}

std::vector<Finding> check_two(const Plan& plan) {
  return check(two_tasks(), ideal_platform(), plan);
}

}  // namespace

TEST_CASE("a message orders two hosts if what it tells is complete or is waited for") {
  // The producer's host synchronizes, then sends.
  CHECK(check_two(plan_of({{C::launch(s0, a), C::synchronize_stream(s0), C::send(0)},
                           {C::receive(0), C::launch(s1, b)}},
                          {{0, 1}}))
            .empty());
  // Or it records an event, and the consumer's host waits for it on its stream.
  CHECK(check_two(plan_of({{C::launch(s0, a), C::record(s0, e0), C::send(0)},
                           {C::receive(0), C::wait(s1, e0), C::launch(s1, b)}},
                          {{0, 1}}))
            .empty());
  // Or the consumer's host synchronizes everything that the message says is posted.
  CHECK(check_two(plan_of({{C::launch(s0, a), C::send(0)},
                           {C::receive(0), C::synchronize_all(), C::launch(s1, b)}},
                          {{0, 1}}))
            .empty());
  // A send blocks too: what the receiver did before is known to the sender afterwards.
  CHECK(check_two(plan_of({{C::send(0), C::launch(s1, b)},
                           {C::launch(s0, a), C::synchronize_all(), C::receive(0)}},
                          {{0, 1}}))
            .empty());
}

TEST_CASE("a message alone does not make a task complete") {
  const auto findings = check_two(
      plan_of({{C::launch(s0, a), C::send(0)}, {C::receive(0), C::launch(s1, b)}}, {{0, 1}}));
  REQUIRE(findings.size() == 1);
  CHECK(findings[0].kind == FindingKind::missing_dependency);
  CHECK(findings[0].host == HostId{1});
  CHECK(findings[0].message ==
        "b on stream 1 (call 1 of host \"rank 1\") is not ordered after a on stream 0 (call 0 of "
        "host "
        "\"rank 0\"): two hosts launch them, and neither an event nor a synchronize followed by a "
        "message orders them");
}

TEST_CASE("hosts are unordered without a message, whichever is followed first") {
  for (const bool consumer_first : {false, true}) {
    CAPTURE(consumer_first);
    std::vector<HostCall> producer{C::launch(s0, a), C::synchronize_all()};
    std::vector<HostCall> consumer{C::launch(s1, b)};
    if (consumer_first) std::swap(producer, consumer);
    const auto findings = check_two(plan_of({producer, consumer}, {}));
    REQUIRE(findings.size() == 1);
    CHECK(findings[0].kind == FindingKind::missing_dependency);
    CHECK(findings[0].host == HostId{consumer_first ? 0U : 1U});
  }
}

TEST_CASE("a stream that two hosts share keeps only the order that messages give") {
  // Unordered launches into one stream: b may enter first.
  CHECK(check_two(plan_of({{C::launch(s0, a)}, {C::launch(s0, b)}}, {})).size() == 1);
  CHECK(check_two(
            plan_of({{C::launch(s0, a), C::send(0)}, {C::receive(0), C::launch(s0, b)}}, {{0, 1}}))
            .empty());
}

TEST_CASE("of another host's calls only those before its message are known to be posted") {
  // rank 1 puts a into stream 0, tells rank 0, and goes on: a is before b, the third task need not
  // be.
  TaskGraphBuilder builder;
  const OperationId operation = builder.add_operation({.name = "t"});
  for (const char* name : {"a", "b", "late"}) builder.add_task(operation, {}, name);
  const TaskId late{2};
  builder.add_edge(a, b);
  builder.add_edge(late, b);
  const TaskGraph graph = std::move(builder).build();
  const std::vector<HostCall> producer{C::launch(s0, a), C::send(0), C::launch(s0, late)};
  const std::vector<std::vector<HostCall>> consumers{
      {C::receive(0), C::launch(s0, b)},
      {C::receive(0), C::synchronize_stream(s0), C::launch(s1, b)},
      {C::receive(0), C::synchronize_all(), C::launch(s1, b)}};
  for (std::size_t i = 0; i < consumers.size(); ++i) {
    CAPTURE(i);
    const auto findings =
        check(graph, ideal_platform(), plan_of({consumers[i], producer}, {{1, 0}}));
    REQUIRE(findings.size() == 1);
    CHECK(findings[0].kind == FindingKind::missing_dependency);
    CHECK(findings[0].message.find("is not ordered after late on stream 0") != std::string::npos);
  }
}

TEST_CASE("an event of another host must be recorded before a message that comes before the wait") {
  const auto findings = check_two(plan_of({{C::launch(s0, a), C::send(0), C::record(s0, e0)},
                                           {C::receive(0), C::wait(s1, e0), C::launch(s1, b)}},
                                          {{0, 1}}));
  REQUIRE(findings.size() == 2);  // the wait, and the dependency it was for
  CHECK(findings[0].kind == FindingKind::event_waited_before_record);
  CHECK(
      findings[0].message ==
      "stream 1 (call 1 of host \"rank 1\") waits for event 0, which is recorded by another host, "
      "and "
      "no message puts the record before (call 2 of host \"rank 0\"): the wait may have no effect");
  CHECK(findings[1].kind == FindingKind::missing_dependency);
}

TEST_CASE("recording an event again while another host may still wait for it is a race") {
  // rank 1 waits for the first record; rank 0 records again and no message says that the wait is
  // done.
  std::vector<HostCall> recorder{
      C::launch(s0, a), C::record(s0, e0), C::send(0), C::record(s0, e0)};
  std::vector<HostCall> waiter{C::receive(0), C::wait(s1, e0), C::launch(s1, b)};
  auto findings = check_two(plan_of({recorder, waiter}, {{0, 1}}));
  REQUIRE(!findings.empty());
  CHECK(findings[0].kind == FindingKind::event_waited_before_record);
  // With an answer between, all is well.
  recorder.insert(recorder.begin() + 3, C::receive(1));
  waiter.insert(waiter.begin() + 2, C::send(1));
  findings = check_two(plan_of({recorder, waiter}, {{0, 1}, {1, 0}}));
  CHECK(findings.empty());
}

TEST_CASE("two hosts that record one event without order are reported") {
  const auto findings = check_two(plan_of({{C::launch(s0, a), C::launch(s0, b), C::record(s0, e0)},
                                           {C::record(s1, e0), C::wait(s1, e0)}},
                                          {}));
  REQUIRE(findings.size() == 1);
  CHECK(findings[0].kind == FindingKind::event_waited_before_record);
  CHECK(findings[0].message.find("which one a wait meets is a matter of chance") !=
        std::string::npos);
}

TEST_CASE("a deadlock is printed as the cycle of hosts and messages") {
  // rank 0 first sends message 0, rank 1 first receives message 1: each waits for the other.
  const auto findings = check_two(plan_of({{C::launch(s0, a), C::send(0), C::send(1)},
                                           {C::receive(1), C::receive(0), C::launch(s1, b)}},
                                          {{0, 1}, {0, 1}}));
  REQUIRE(findings.size() == 1);  // b is never reached, so nothing is said about it
  CHECK(findings[0].kind == FindingKind::deadlock);
  CHECK(findings[0].host == HostId{0});
  CHECK(findings[0].call == 1);
  CHECK(findings[0].message ==
        "host \"rank 0\" (call 1) waits in send of message 0 for host \"rank 1\", which (call 0) "
        "waits in "
        "receive of message 1 for host \"rank 0\"; calls after this are not checked");
}

TEST_CASE("the same messages in the same order on both sides are no deadlock") {
  CHECK(check_two(plan_of({{C::launch(s0, a), C::synchronize_all(), C::send(0), C::send(1)},
                           {C::receive(0), C::receive(1), C::launch(s1, b)}},
                          {{0, 1}, {0, 1}}))
            .empty());
}

TEST_CASE("a cycle of three is reported once, hosts that wait for it are not") {
  // 0 waits for 1, 1 for 2, 2 for 0; 3 waits for 0.
  const auto findings = check_two(
      plan_of({{C::launch(s0, a), C::launch(s0, b), C::send(0), C::receive(2), C::receive(3)},
               {C::send(1), C::receive(0)},
               {C::send(2), C::receive(1)},
               {C::send(3)}},
              {{0, 1}, {1, 2}, {2, 0}, {3, 0}}));
  REQUIRE(findings.size() == 1);
  CHECK(findings[0].kind == FindingKind::deadlock);
  for (const char* part : {"host \"rank 0\" (call 2) waits in send of message 0",
                           "for host \"rank 1\", which (call 0) waits in send of message 1",
                           "for host \"rank 2\", which (call 0) waits in send of message 2"}) {
    CHECK(findings[0].message.find(part) != std::string::npos);
  }
}

TEST_CASE("a host that waits for one that has ended, or for itself, is a deadlock") {
  auto findings =
      check_two(plan_of({{C::launch(s0, a), C::launch(s0, b), C::receive(0)}, {}}, {{1, 0}}));
  REQUIRE(findings.size() == 1);
  CHECK(findings[0].kind == FindingKind::deadlock);
  CHECK(
      findings[0].message ==
      "host \"rank 0\" (call 2) waits in receive of message 0 for host \"rank 1\", which has ended "
      "without it; calls after this are not checked");

  findings = check_two(
      plan_of({{C::launch(s0, a), C::launch(s0, b), C::send(0), C::receive(0)}}, {{0, 0}}));
  REQUIRE(findings.size() == 1);
  CHECK(findings[0].kind == FindingKind::deadlock);
}

TEST_CASE("a message sent by the wrong host or twice is malformed") {
  auto findings = check_two(
      plan_of({{C::launch(s0, a), C::launch(s0, b), C::receive(0)}, {C::send(0)}}, {{0, 1}}));
  REQUIRE(findings.size() == 2);
  CHECK(findings[0].kind == FindingKind::malformed);
  CHECK(findings[0].message ==
        "call 2 of host \"rank 0\" (receive) is for message 0, which only host \"rank 1\" may "
        "receive");
  CHECK(findings[1].kind == FindingKind::malformed);

  findings = check_two(plan_of(
      {{C::launch(s0, a), C::launch(s0, b), C::send(0), C::send(0)}, {C::receive(0)}}, {{0, 1}}));
  REQUIRE(findings.size() == 1);
  CHECK(findings[0].message ==
        "call 3 of host \"rank 0\" (send) repeats message 0, already done by call 2 of host \"rank "
        "0\"");
}

TEST_CASE("a stream is destroyed or used by another host only after a message") {
  auto findings =
      check_two(plan_of({{C::launch(s0, a), C::launch(s0, b)}, {C::destroy_stream(s0)}}, {}));
  REQUIRE(findings.size() == 1);
  CHECK(findings[0].kind == FindingKind::stream_not_alive);
  findings = check_two(plan_of({{C::create_stream(s0), C::launch(s0, a)}, {C::launch(s0, b)}}, {}));
  REQUIRE(findings.size() == 2);  // and b may come before a
  CHECK(findings[0].kind == FindingKind::stream_not_alive);
  CHECK(
      findings[0].message ==
      "call 0 of host \"rank 1\" (launch) uses stream 0, which is created by call 0 of host \"rank "
      "0\", and no message orders the two");
  CHECK(check_two(plan_of({{C::create_stream(s0), C::launch(s0, a), C::send(0)},
                           {C::receive(0), C::launch(s0, b), C::destroy_stream(s0)}},
                          {{0, 1}}))
            .empty());
}
