// SPDX-License-Identifier: Apache-2.0
#include "sim/base/error.hpp"
#include "sim/graph/task_graph.hpp"
#include "sim/machine/platform.hpp"
#include "sim/plan/default_stream.hpp"
#include "sim/plan/graph_capture.hpp"
#include "sim/plan/plan.hpp"
#include "sim/plan/plan_check.hpp"
#include "sim/plan/plan_json.hpp"

#include <doctest/doctest.h>

#include <string>
#include <utility>
#include <vector>

using namespace schedlab;
using C = schedlab::HostCall;

namespace {

constexpr StreamId s0{0};
constexpr StreamId s1{1};
constexpr StreamId s2{2};
constexpr EventId e0{0};
constexpr TaskId a{0};
constexpr TaskId b{1};
constexpr auto legacy = StreamSync::legacy_default;
constexpr auto blocking = StreamSync::blocking;
constexpr auto non_blocking = StreamSync::non_blocking;

/// a -> b.
TaskGraph two_tasks() {
  TaskGraphBuilder builder;
  const OperationId operation = builder.add_operation({.name = "t"});
  builder.add_task(operation, {}, "a");
  builder.add_task(operation, {}, "b");
  builder.add_edge(a, b);
  return std::move(builder).build();
}

Plan plan_of(const std::vector<StreamSync>& streams, std::vector<HostCall> calls) {
  Plan plan;
  for (const StreamSync sync : streams) {
    StreamSpec spec;
    spec.sync = sync;
    plan.streams.push_back(spec);
  }
  plan.event_count = 1;
  plan.hosts[HostId{0}].calls = std::move(calls);
  return plan;
}

std::vector<Finding> check_two(const Plan& plan) {
  return check(two_tasks(), ideal_platform(), plan);
}

/// The only finding's message, or what is wrong with that.
std::string only_message(const Plan& plan, FindingKind kind) {
  const auto findings = check_two(plan);
  if (findings.size() != 1) return std::to_string(findings.size()) + " findings";
  return findings[0].kind == kind ? findings[0].message : std::string{to_string(findings[0].kind)};
}

InputProblem problem_of(const std::string& streams) {
  const std::string text = R"({"schedlab": "plan", "version": 1, "policy": "p", "streams": )" +
                           streams + R"(, "events": 0, "messages": [], "hosts": []})";
  try {
    static_cast<void>(plan_from_json(text, two_tasks(), "my.json"));
  } catch (const InputError& error) {
    return error.problem();
  }
  return {};
}

}  // namespace

TEST_CASE("the legacy default stream orders blocking streams, both ways, and no others") {
  CHECK(check_two(plan_of({legacy, blocking}, {C::launch(s0, a), C::launch(s1, b)})).empty());
  CHECK(check_two(plan_of({legacy, blocking}, {C::launch(s1, a), C::launch(s0, b)})).empty());
  CHECK(only_message(plan_of({legacy, non_blocking}, {C::launch(s0, a), C::launch(s1, b)}),
                     FindingKind::missing_dependency) ==
        "b on stream 1 (call 1) is not ordered after a on legacy default (call 0): no event is "
        "recorded on legacy default after a (stream 1 is non-blocking, so that legacy default does "
        "not order them)");
  // Two blocking streams are in order only if something stands between them in the legacy one: a
  // record will do.
  CHECK(check_two(plan_of({legacy, blocking, blocking}, {C::launch(s1, a), C::launch(s2, b)}))
            .size() == 1);
  CHECK(check_two(plan_of({legacy, blocking, blocking},
                          {C::launch(s1, a), C::record(s0, e0), C::launch(s2, b)}))
            .empty());
  CHECK(check_two(plan_of({legacy, non_blocking, blocking},
                          {C::launch(s1, a), C::record(s0, e0), C::launch(s2, b)}))
            .size() == 1);
}

TEST_CASE("a legacy default stream orders the streams of its own device only") {
  Platform platform = ideal_platform();
  platform.devices.push_back(platform.devices[DeviceId{0}]);
  Plan plan = plan_of({legacy, blocking}, {C::launch(s0, a), C::launch(s1, b)});
  plan.streams[s1].device = DeviceId{1};
  CHECK(check(two_tasks(), platform, plan).size() == 1);
}

TEST_CASE("between hosts the order is that of the calls, as far as messages make it known") {
  Plan plan = plan_of({legacy, blocking}, {C::launch(s0, a)});
  plan.hosts.push_back({"other", {C::launch(s1, b)}});
  CHECK(check_two(plan).size() == 1);
  plan.messages.push_back({HostId{0}, HostId{1}, Bytes{8}});
  plan.hosts[HostId{0}].calls.push_back(C::send(0));
  plan.hosts[HostId{1}].calls.insert(plan.hosts[HostId{1}].calls.begin(), C::receive(0));
  CHECK(check_two(plan).empty());
}

TEST_CASE("what CUDA does not let anybody do with its default stream is malformed") {
  const std::vector<HostCall> calls{C::launch(s0, a), C::launch(s0, b)};
  CHECK(only_message(plan_of({legacy, legacy}, calls), FindingKind::malformed) ==
        "stream 0 and stream 1 are both the legacy default stream of device 0");

  Plan urgent = plan_of({legacy}, calls);
  urgent.streams[s0].priority = -1;
  CHECK(only_message(urgent, FindingKind::malformed) ==
        "legacy default (stream 0) has priority -1; that of the legacy default stream is 0");
  CHECK_THROWS_AS(expect_well_formed(urgent, 2), ContractViolation);

  CHECK(only_message(plan_of({legacy}, {C::create_stream(s0), calls[0], calls[1]}),
                     FindingKind::malformed) ==
        "call 0 (create_stream) names legacy default, which no call creates or destroys");

  Plan captured = plan_of({legacy}, {});
  DeviceGraph graph;
  graph.add_node(s0, {});
  graph.add_node(s0, {0});
  graph.add_launch(std::vector<TaskId>{a, b});
  captured.graphs.push_back(graph);
  captured.hosts[HostId{0}].calls = {C::graph_launch(s0, 0)};
  std::size_t nodes = 0;
  for (const Finding& finding : check_two(captured)) {
    if (finding.message.find("in legacy default, which cannot be captured") == std::string::npos) {
      continue;
    }
    CHECK(finding.kind == FindingKind::malformed);
    ++nodes;
  }
  CHECK(nodes == 2);
}

TEST_CASE("a plan that uses a legacy default stream cannot be captured") {
  Plan plan = plan_of({legacy, blocking}, {C::launch(s1, a), C::launch(s0, b)});
  plan.policy = "mine";
  std::string message;
  try {
    static_cast<void>(capture_graphs(plan));
  } catch (const InfeasibleError& error) {
    message = error.what();
  }
  CHECK(message.find("legacy default of plan \"mine\" cannot be captured into a graph") == 0);
  plan.hosts[HostId{0}].calls[1] = C::launch(s1, b);
  CHECK(capture_graphs(plan).graphs.size() == 1);
}

TEST_CASE("a plan of a program with a legacy default stream: the first stream of each device") {
  Plan plan = plan_of({non_blocking, non_blocking, non_blocking},
                      {C::create_stream(s0), C::create_stream(s1), C::launch(s0, a)});
  plan.streams[s0].priority = -1;
  plan.streams[s1].priority = -1;
  plan.streams[s0].name = "primary_0";
  plan.streams[s2].device = DeviceId{1};
  use_legacy_default_stream(plan);
  CHECK(plan.streams[s0].sync == legacy);
  CHECK(plan.streams[s1].sync == blocking);
  CHECK(plan.streams[s2].sync == legacy);
  CHECK(plan.streams[s0].priority == 0);
  CHECK(plan.streams[s1].priority == -1);
  CHECK(plan.stream_name(s0) == "primary_0 (legacy default)");
  CHECK(plan.stream_name(s2) == "legacy default");
  CHECK(plan.hosts[HostId{0}].calls ==
        std::vector<HostCall>{C::create_stream(s1), C::launch(s0, a)});
  const Plan once = plan;
  use_legacy_default_stream(plan);
  CHECK(plan == once);
}

TEST_CASE("plan files say which stream is which, and a file without the keys means what it meant") {
  Plan plan = plan_of({legacy, blocking, non_blocking}, {C::launch(s0, a), C::launch(s1, b)});
  plan.streams[s0].name = "main";
  const std::string text = plan_to_json(plan, two_tasks());
  CHECK(text.find(R"({"name": "main", "device": 0, "priority": 0, "legacy_default": true})") !=
        std::string::npos);
  CHECK(text.find(R"({"name": "", "device": 0, "priority": 0, "blocking": true})") !=
        std::string::npos);
  CHECK(text.find(R"({"name": "", "device": 0, "priority": 0})") != std::string::npos);
  CHECK(plan_from_json(text, two_tasks(), "p.json") == plan);

  const InputProblem both = problem_of(
      R"([{"name": "", "device": 0, "priority": 0, "blocking": true, "legacy_default": true}])");
  CHECK(both.pointer == "/streams/0/legacy_default");
  CHECK(both.expected == "either legacy_default or blocking, not both");
  const InputProblem urgent =
      problem_of(R"([{"name": "", "device": 0, "priority": -1, "legacy_default": true}])");
  CHECK(urgent.pointer == "/streams/0/priority");
  const InputProblem second =
      problem_of(R"([{"name": "", "device": 0, "priority": 0, "legacy_default": true},
                     {"name": "", "device": 1, "priority": 0, "legacy_default": true},
                     {"name": "", "device": 0, "priority": 0, "legacy_default": true}])");
  CHECK(second.pointer == "/streams/2/legacy_default");
  CHECK(second.expected == "at most one of a device; stream 0 is that of device 0");
  const InputProblem word =
      problem_of(R"([{"name": "", "device": 0, "priority": 0, "blocking": 1}])");
  CHECK(word.pointer == "/streams/0/blocking");
  CHECK(word.expected == "true or false");
}
