// SPDX-License-Identifier: Apache-2.0
// Every policy, workload and launch mode, on one rank and on several: the checker sees no order
// that is missing, and no task starts before what it needs has ended.
#include "policies/registry.hpp"
#include "sim/base/error.hpp"
#include "studies/scenario/result_columns.hpp"
#include "studies/scenario/scenario_runner.hpp"
#include "studies/spec/spec.hpp"

#include <doctest/doctest.h>
#include <fmt/format.h>
#include <fmt/ranges.h>

#include <set>
#include <string>
#include <vector>

namespace schedlab {
namespace {

constexpr const char* launches =
    R"(["eager", "eager_two_thread", {"name": "graph_mode", "runs": 2}, "graph_launch",
        {"name": "graph_launch", "runs": 2, "load": true}, "sink"])";

/// Pipeline policies schedule ranks, all others one device.
std::vector<std::string> policy_names(bool pipelines) {
  std::vector<std::string> names;
  for (const PolicyInfo& info : policies()) {
    const bool file = info.name == "plan_file" || info.name == "pipeline_file";
    if (file || info.for_ranks != pipelines) continue;
    names.push_back(fmt::format("\"{}\"", info.name));
  }
  return names;
}

void expect_dependencies(const TaskGraph& graph, const Trace& trace) {
  IdVector<TaskId, const TaskSpan*> span(graph.task_count(), nullptr);
  for (const TaskSpan& one : trace.tasks) span[one.task] = &one;
  for (const TaskId task : graph.tasks()) {
    REQUIRE(span[task] != nullptr);
    for (const TaskId before : graph.predecessors(task)) {
      CHECK(span[before]->ended <= span[task]->started);
    }
  }
}

/// How many of the scenarios ran; why the others did not goes to `refusals`.
std::size_t run_all(const std::string& workload,
                    const std::string& ranks,
                    bool pipelines,
                    std::set<std::string>& refusals) {
  const Spec spec = parse_spec(
      fmt::format(R"({{"workload": {}, "machine": {{"base": "h200", "host": "cann_sink"}},
                      "policy": [{}], "ranks": {}, "launch": {}, "memory": "ignore"}})",
                  workload,
                  fmt::join(policy_names(pipelines), ", "),
                  ranks,
                  launches),
      "orders.json");
  const Grid grid(spec, result_column_names(true));
  ScenarioSpace space(spec, grid);
  space.components().check_all();
  ScenarioRunner runner(space);
  std::size_t ran = 0;
  for (std::uint64_t scenario = 0; scenario < grid.size(); ++scenario) {
    CAPTURE(grid.describe(scenario));
    try {
      const FullRun run = runner.run_fully(scenario);
      for (const Finding& finding : run.findings) {
        CAPTURE(finding.message);
        CHECK(false);
      }
      expect_dependencies(run.problem().graph, run.trace);
      ++ran;
    } catch (const InfeasibleError& error) {
      const std::string message = error.what();
      const bool placed = message.find("placed as") != std::string::npos;
      refusals.insert(placed ? message : message.substr(0, message.find(',')));
    }
  }
  return ran;
}

/// Plans that cannot be one graph, graphs without gradients to sum over ranks, and plans that send
/// messages and cannot be repeated.
void expect_known(const std::set<std::string>& refusals) {
  for (const std::string& refusal : refusals) {
    CAPTURE(refusal);
    const bool known =
        refusal == "launch sink runs a model as one task" ||
        refusal.starts_with("data_parallel: the graph has no gradients") ||
        refusal.find("placed as") != std::string::npos ||
        refusal.find("sends messages and cannot be run several times") != std::string::npos;
    CHECK(known);
  }
}

}  // namespace

TEST_CASE("every policy on one device and data parallel keeps all orders in every launch mode") {
  std::set<std::string> refusals;
  for (
      const char* workload :
      {R"({"kind": "lstm", "layers": 3, "steps": 4, "batch": 8, "hidden": 64, "pass": "training"})",
       R"({"kind": "lstm", "layers": 2, "steps": 3, "batch": 8, "hidden": 64, "pass": "backward",
            "accumulation": "partial"})",
       R"({"kind": "alexnet", "batch": 4, "split": 2})",
       R"({"kind": "gnmt", "layers": 3, "source_steps": 3, "target_steps": 3, "batch": 4, "hidden": 64,
            "vocabulary": 100})",
       R"({"kind": "random_layered", "width": 8, "layers": 6})"}) {
    CAPTURE(workload);
    CHECK(run_all(workload, "[1, 3]", false, refusals) > 0);
  }
  expect_known(refusals);
}

TEST_CASE("every pipeline schedule keeps all orders in every launch mode") {
  std::set<std::string> refusals;
  for (const char* workload :
       {R"({"kind": "gpt_pipeline", "stages": 4, "microbatches": 4, "replicas": 2, "blocks": 4})",
        R"({"kind": "gpt_pipeline", "stages": 4, "microbatches": 3, "replicas": 3, "blocks": 8,
            "passes": "layers"})",
        R"({"kind": "pipeline", "stages": 4, "microbatches": 5, "replicas": 2, "parameters_mib": 64,
            "activation_mib": 4, "tied_mib": 8})",
        R"({"kind": "pipeline", "stages": 4, "microbatches": 5, "virtual_stages": 2, "replicas": 2,
            "placement": "v", "parameters_mib": 64, "activation_mib": 4})",
        R"({"kind": "gpt_pipeline", "stages": 4, "microbatches": 9, "replicas": 2, "blocks": 4,
            "placement": "bidirectional"})",
        R"({"kind": "mnist_cnn_pipeline", "stages": 3, "microbatches": 4, "replicas": 2})"}) {
    CAPTURE(workload);
    CHECK(run_all(workload, "1", true, refusals) > 0);
  }
  expect_known(refusals);
}

}  // namespace schedlab
