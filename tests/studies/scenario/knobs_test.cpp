// SPDX-License-Identifier: Apache-2.0
// Every option of a policy, and the knobs of machine and workload that its publication leaves open,
// can be an axis of a spec, and does something.
#include "policies/registry.hpp"
#include "studies/scenario/scenario_runner.hpp"
#include "studies/scenario/simulation.hpp"
#include "studies/spec/spec.hpp"

#include <doctest/doctest.h>
#include <fmt/format.h>

#include <map>
#include <string>
#include <vector>

namespace schedlab {
namespace {

const std::string lstm = R"("layers": 4, "steps": 10, "batch": 64, "hidden": 256)";

std::string spec_of(const std::string& workload,
                    const std::string& machine,
                    const std::string& policy) {
  return fmt::format(
      R"({{"workload": {{"kind": "lstm", {}}}, "machine": {}, "policy": {}, "memory": "ignore"}})",
      workload,
      machine,
      policy);
}

/// All scenarios of a spec.
std::vector<FullRun> runs_of(const std::string& text) {
  const Spec spec = parse_spec(text, "a.json");
  const Grid grid(spec);
  ScenarioSpace space(spec, grid);
  ScenarioRunner runner(space);
  std::vector<FullRun> runs;
  for (std::uint64_t i = 0; i < grid.size(); ++i) runs.push_back(runner.run_fully(i));
  return runs;
}

/// The default and another value of every option of every policy for one device.
const std::map<std::string, std::string>& option_axes() {
  static const std::map<std::string, std::string> axes{
      {"barrier", R"(["host", "events"])"},
      {"drain_streams", R"(["all", "secondary"])"},
      {"evaluations", "[0, 300]"},
      {"fill_while_critical", "[true, false]"},
      {"layers_in_flight", "[0, 1]"},
      {"look_ahead", "[16, 1]"},
      {"max_queries", "[400, 1]"},
      {"max_streams", "[2, 1]"},
      {"priorities", "[true, false]"},
      {"priority", "[0, -1]"},
      {"queries_per_level", "[0, 1]"},
      {"queue_order", R"(["in_order", "by_rank"])"},
      {"scheduling_us", "[0, 5]"},
      {"seed", "[1, 2]"},
      {"separate_kernels", "[true, false]"},
      {"sleep_us", "[20, 200]"},
      {"streams_per_iteration", "[true, false]"},
      {"streams_per_layer", "[2, 1]"},
      {"tasks_per_fill", "[2, 1]"},
      {"variant", R"(["interleaved", "enqueue_all_first"])"},
      {"weight_gradients", R"(["after_all", "by_call"])"},
      {"weight_streams", "[1, 2]"}};
  return axes;
}

/// Where one call has all layers there is nothing for `by_call` to move.
std::string needed_by(const std::string& option) {
  return option == "weight_gradients" ? R"(, "layers_in_flight": 1)" : "";
}

/// The host sleeps, and limits its queries, only where tasks take long: 20 ms for
/// 2 x 2048 x 4096 x 16384 FLOP.
std::string workload_for(const std::string& option) {
  const bool slow = option == "max_queries" || option == "sleep_us";
  return slow ? R"("layers": 4, "steps": 10, "batch": 2048, "hidden": 4096)" : lstm;
}

TEST_CASE("every option of a policy is an axis, and its values make different plans") {
  for (const PolicyInfo& info : policies()) {
    if (info.for_ranks || info.ready_made) continue;
    for (const OptionSpec& option : info.options) {
      CAPTURE(info.name);
      CAPTURE(option.name);
      const bool by_words = option.name == "dispatch";  // words differ from policy to policy
      const auto axis = option_axes().find(option.name);
      REQUIRE_MESSAGE((by_words || axis != option_axes().end()),
                      "give the option two values in this test");
      const std::string values =
          by_words ? fmt::format(R"(["{}", "dynamic"])", option.allowed.front()) : axis->second;
      const auto runs = runs_of(spec_of(workload_for(option.name),
                                        R"("v100")",
                                        fmt::format(R"({{"name": "{}", "{}": {}{}}})",
                                                    info.name,
                                                    option.name,
                                                    values,
                                                    needed_by(option.name))));
      REQUIRE(runs.size() == 2);
      CHECK_FALSE(runs[0].plan == runs[1].plan);
      for (const FullRun& run : runs) CHECK(run.findings.empty());
    }
  }
}

TEST_CASE("query cost, connections, accumulation and its k are axes that change the makespan") {
  const std::string critical_first = R"("critical_first")";
  for (const std::string& spec :
       {spec_of(lstm, R"({"base": "v100", "query_us": [0.5, 50]})", critical_first),
        spec_of(lstm, R"({"base": "v100", "connections": [8, 32]})", critical_first),
        spec_of(lstm + R"(, "accumulation": ["ordered", "partial", "batched"])",
                R"("v100")",
                critical_first),
        spec_of(lstm + R"(, "accumulation": "batched", "accumulation_steps": [1, 2, 5])",
                R"("v100")",
                critical_first)}) {
    CAPTURE(spec);
    const auto runs = runs_of(spec);
    REQUIRE(runs.size() >= 2);
    for (std::size_t i = 1; i < runs.size(); ++i) {
      CHECK(runs[i].trace.makespan() != runs[i - 1].trace.makespan());
      CHECK(runs[i].findings.empty());
    }
  }
}

TEST_CASE("results are called calibrated where the machine was calibrated on such kernels") {
  const auto evidence = [](const std::string& type,
                           const std::string& machine,
                           const std::string& model = R"("tiled_gemm")") {
    std::string spec = spec_of(fmt::format(R"({}, "data_type": "{}")", lstm, type),
                               fmt::format(R"("{}")", machine),
                               R"("diagonal")");
    spec.insert(spec.find('{') + 1, fmt::format(R"("cost_model": {}, )", model));
    return simulate(parse_spec(spec, "a.json")).metrics.cost_evidence;
  };
  CHECK(evidence("bf16", "h100") == CostEvidence::calibrated);
  CHECK(evidence("fp32", "h100") == CostEvidence::data_sheet);  // no library of the H100 has fp32
  CHECK(evidence("fp32", "v100") == CostEvidence::calibrated);
  CHECK(evidence("bf16", "l40s") == CostEvidence::data_sheet);  // carried over, not measured
  // Cost models that do not look at what was fitted.
  CHECK(evidence("bf16", "h100", R"("roofline")") == CostEvidence::data_sheet);
  const std::string alone = R"({"name": "tiled_gemm", "library": "none"})";
  CHECK(evidence("bf16", "h100", alone) == CostEvidence::data_sheet);
  const std::string measured = R"({"name": "tiled_gemm", "products": "measured"})";
  CHECK(evidence("bf16", "h100", measured) == CostEvidence::calibrated);
}

}  // namespace
}  // namespace schedlab
