// SPDX-License-Identifier: Apache-2.0
// The policies' option `dispatch` in scenarios: samples, kernel by kernel, and what it excludes.
#include "sim/base/error.hpp"
#include "studies/scenario/scenario_runner.hpp"
#include "studies/spec/spec.hpp"

#include <doctest/doctest.h>
#include <fmt/format.h>

#include <string>
#include <vector>

namespace schedlab {
namespace {

std::string spec_text(const std::string& policy, const std::string& more = "") {
  return fmt::format(
      R"({{"workload": {{"kind": "resnet50", "image": 32, "batch": 4, "split": 4, "include_transfers": false}},
          "machine": "sw26010_pro", "policy": {}{}}})",
      policy,
      more);
}

std::vector<FullRun> runs_of(const std::string& text) {
  const Spec spec = parse_spec(text, "a.json");
  const Grid grid(spec);
  ScenarioSpace space(spec, grid);
  ScenarioRunner runner(space);
  std::vector<FullRun> runs;
  for (std::uint64_t i = 0; i < grid.size(); ++i) runs.push_back(runner.run_fully(i, true));
  return runs;
}

TEST_CASE("dynamic dispatch decides anew in each sample, and loses less than the plan") {
  for (const char* policy : {"successor_first", "work_stealing"}) {
    CAPTURE(policy);
    const auto runs = runs_of(spec_text(
        fmt::format(R"({{"name": "{}", "max_streams": 4, "dispatch": ["static", "dynamic"]}})",
                    policy),
        R"(, "variability": {"samples": 20, "duration_cv": 0.2})"));
    REQUIRE(runs.size() == 2);
    const FullRun& planned = runs[0];
    const FullRun& dynamic = runs[1];
    CHECK(dynamic.findings.empty());
    CHECK(dynamic.trace.hosts.empty());
    CHECK(dynamic.trace.tasks.size() == planned.trace.tasks.size());
    // Without noise as good as the plan, to a percent: groups differ in what they know of gaps.
    const double apart = to_us(dynamic.trace.makespan()) / to_us(planned.trace.makespan());
    CHECK(apart == doctest::Approx(1).epsilon(0.01));
    const auto sum = [](const Samples& samples) {
      Duration all{0};
      for (const Duration one : samples.makespans()) all += one;
      return all;
    };
    CHECK(sum(dynamic.samples) < sum(planned.samples));
  }
}

TEST_CASE("dynamic dispatch pays for no host, whatever its calls cost") {
  const auto runs = runs_of(
      R"({"workload": {"kind": "grid", "layers": 1, "steps": 20, "duration_us": 2},
          "machine": {"base": "ideal", "launch_us": 50}, "cost_model": "fixed",
          "policy": {"name": "successor_first", "dispatch": ["static", "dynamic"]}})");
  REQUIRE(runs.size() == 2);
  // A chain of 20 tasks: launched, 20 calls and the last task; taken, the tasks alone.
  CHECK(runs[0].trace.makespan() == from_us(20 * 50 + 2));
  CHECK(runs[1].trace.makespan() == from_us(20 * 2));
  CHECK(runs[1].bounds().largest() <= runs[1].trace.makespan());
  CHECK(runs[1].bounds().host_launch == Duration{0});
}

TEST_CASE("dynamic dispatch refuses what fixes decisions before a run, and says what to do") {
  const std::string policy =
      R"({"name": "successor_first", "max_streams": 4, "dispatch": "dynamic"})";
  for (const char* more : {R"(, "launch": "graph_launch")",
                           R"(, "launch": {"name": "eager", "runs": 2})",
                           R"(, "default_stream": "legacy")"}) {
    CAPTURE(more);
    CHECK_THROWS_WITH_AS((void)runs_of(spec_text(policy, more)),
                         doctest::Contains("or \"dispatch\": \"static\""),
                         InfeasibleError);
  }
}

}  // namespace
}  // namespace schedlab
