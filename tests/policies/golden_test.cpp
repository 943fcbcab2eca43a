// SPDX-License-Identifier: Apache-2.0
// The plan of every registered policy as text: for a backward pass of 2 layers and 3 steps, or for
// a pipeline of 2 stages and 3 micro-batches. After an intended change:
//   SCHEDLAB_UPDATE_GOLDEN=1 ctest -R policies_golden_test      and review the diff like code.
#include "tests/support/golden.hpp"

#include "policies/registry.hpp"
#include "sim/base/file.hpp"
#include "sim/plan/plan_json.hpp"
#include "tests/policies/pipeline_support.hpp"
#include "tests/support/scenes.hpp"
#include "tests/support/temporary_folder.hpp"
#include "workloads/models/recurrent/lstm.hpp"

#include <doctest/doctest.h>
#include <fmt/format.h>

#include <map>
#include <memory>
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
      return concerns_message(call.kind())
                 ? fmt::format("{} {}", to_string(call.kind()), call.message())
                 : std::string{to_string(call.kind())};
  }
}

/// One line per run of calls of one stream: "primary_2: cell(1,2); record 0".
std::string program_text(const TaskGraph& graph, const Plan& plan, HostId host) {
  std::string text;
  const HostCall* previous = nullptr;
  for (const HostCall& call : plan.hosts[host].calls) {
    const std::string where = call.stream().valid() ? plan.stream_name(call.stream()) : "host";
    const bool same_line = previous != nullptr && previous->stream() == call.stream();
    text += same_line ? "; " : (previous == nullptr ? "" : "\n") + where + ": ";
    text += call_text(graph, call);
    previous = &call;
  }
  return text + "\n";
}

std::string plan_text(const TaskGraph& graph, const Plan& plan) {
  std::string text = fmt::format(
      "{}: {} streams, {} events\n", plan.policy, plan.streams.size(), plan.event_count);
  for (const StreamId stream : plan.streams.ids()) {
    text += fmt::format(
        "stream {} priority {}\n", plan.stream_name(stream), plan.streams[stream].priority);
  }
  for (const HostId host : plan.hosts.ids()) {
    if (plan.hosts.size() > 1) text += fmt::format("host {}\n", host.value());
    text += program_text(graph, plan, host);
  }
  return text;
}

/// A backward pass, cut as the policy wants it; `options` are given to it.
std::string lstm_plan(const PolicyInfo& info, const std::map<std::string, OptionValue>& options) {
  const std::unique_ptr<Policy> policy = make_policy(info.name, options);
  LstmSpec spec{.layers = 2, .steps = 3, .batch = 2, .hidden = 8};
  spec.granularity = policy->granularity();
  const Scene scene{lstm(spec), 10us};
  return plan_text(scene.graph, policy->plan(scene.problem()));
}

/// What diagonal decides about a 2 x 3 grid, saved and read again.
std::string saved_plan(const PolicyInfo& info) {
  const testing::TemporaryFolder folder;
  const Scene scene{testing::gradient_grid(2, 3), 10us};
  const std::string path = (folder.path() / "plan.json").string();
  write_file_atomically(path,
                        plan_to_json(make_policy("diagonal")->plan(scene.problem()), scene.graph));
  return plan_text(scene.graph, make_policy(info.name, {{"path", path}})->plan(scene.problem()));
}

std::string pipeline_plan(const PolicyInfo& info) {
  const testing::TemporaryFolder folder;
  std::map<std::string, OptionValue> options;
  if (info.name == "pipeline_file") {
    const std::string path = (folder.path() / "schedule.csv").string();
    write_file_atomically(path, "0F0,0F1,0F2,0B0,0B1,0B2\n1F0,1B0,1F1,1B1,1F2,1I2,1W2\n");
    options["path"] = path;
  }
  const testing::PipelineRun run{
      testing::placed_pipeline(testing::placement_for(info.name), 2, 3), info.name, options};
  return plan_text(run.graph, run.plan);
}

TEST_CASE("every registered policy makes the plan that was reviewed") {
  for (const PolicyInfo& info : policies()) {
    const std::string text = info.for_ranks             ? pipeline_plan(info)
                             : info.name == "plan_file" ? saved_plan(info)
                                                        : lstm_plan(info, {});
    testing::check_golden(fmt::format("policies/{}", info.name), text);
  }
}

TEST_CASE("variants of critical_first and cudnn_like make the plans that were reviewed") {
  const PolicyInfo& critical_first = find_policy("critical_first");
  testing::check_golden("policies/critical_first.enqueue_all_first",
                        lstm_plan(critical_first, {{"variant", std::string{"enqueue_all_first"}}}));
  testing::check_golden("policies/critical_first.capped",
                        lstm_plan(critical_first, {{"max_streams", std::int64_t{3}}}));
  testing::check_golden(
      "policies/cudnn_like.one_layer",
      lstm_plan(find_policy("cudnn_like"),
                {{"layers_in_flight", std::int64_t{1}}, {"separate_kernels", false}}));
}

}  // namespace
}  // namespace schedlab
