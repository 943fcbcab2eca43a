// SPDX-License-Identifier: Apache-2.0
// The plan of every policy for a backward pass of 2 layers and 3 steps, as text. After an intended
// change:
//   SCHEDLAB_UPDATE_GOLDEN=1 ctest -R policies_golden_test      and review the diff like code.
#include "tests/support/golden.hpp"

#include "policies/registry.hpp"
#include "tests/policies/planning_policies.hpp"
#include "tests/support/scenes.hpp"
#include "workloads/lstm.hpp"

#include <doctest/doctest.h>
#include <fmt/format.h>

#include <string>

namespace schedlab {
namespace {

using namespace std::chrono_literals;
using testing::Scene;

std::string call_text(const TaskGraph& graph, const HostCall call) {
  switch (call.kind()) {
    case HostCallKind::launch:
      return graph.name(call.task());
    case HostCallKind::record:
    case HostCallKind::wait:
      return fmt::format("{} {}", to_string(call.kind()), call.event().value());
    case HostCallKind::query:
      return !call.answer() ? "query" : *call.answer() ? "query:idle" : "query:busy";
    case HostCallKind::sleep:
      return fmt::format("sleep {} us", to_us(call.sleep_time()));
    default:
      return std::string{to_string(call.kind())};
  }
}

/// One line per run of calls of one stream: "primary_2: cell(1,2); record 0".
std::string plan_text(const TaskGraph& graph, const Plan& plan) {
  std::string text = fmt::format(
      "{}: {} streams, {} events\n", plan.policy, plan.streams.size(), plan.event_count);
  for (const StreamId stream : plan.streams.ids()) {
    text += fmt::format(
        "stream {} priority {}\n", plan.stream_name(stream), plan.streams[stream].priority);
  }
  const HostCall* previous = nullptr;
  for (const HostCall& call : plan.hosts[HostId{0}].calls) {
    const std::string where = call.stream().valid() ? plan.stream_name(call.stream()) : "host";
    const bool same_line = previous != nullptr && previous->stream() == call.stream();
    text += same_line ? "; " : (previous == nullptr ? "" : "\n") + where + ": ";
    text += call_text(graph, call);
    previous = &call;
  }
  return text + "\n";
}

TEST_CASE("every policy makes the plan that was reviewed") {
  for (const PolicyInfo& info : testing::planning_policies()) {
    const std::unique_ptr<Policy> policy = make_policy(info.name);
    LstmSpec spec{.layers = 2, .steps = 3, .batch = 2, .hidden = 8};
    spec.granularity = policy->granularity();
    const Scene scene{lstm(spec), 10us};
    const std::string text = plan_text(scene.graph, policy->plan(scene.problem()));
    testing::check_golden(fmt::format("policies/{}", info.name), text);
  }
}

}  // namespace
}  // namespace schedlab
