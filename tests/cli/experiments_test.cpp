// SPDX-License-Identifier: Apache-2.0
#include "cli/result_columns.hpp"
#include "cli/scenario.hpp"
#include "cli/spec.hpp"
#include "sim/graph/matmul.hpp"
#include "tests/support/checkout.hpp"

#include <doctest/doctest.h>

#include <filesystem>
#include <string>
#include <vector>

namespace schedlab {
namespace {

namespace fs = std::filesystem;

/// Specs whose whole grid takes longer than a test should.
std::vector<std::string> large_specs() {
  std::vector<std::string> files;
  for (const auto& entry : fs::directory_iterator(testing::checkout() / "experiments")) {
    const std::string name = entry.path().filename().string();
    if (name.starts_with("s1_map_")) files.push_back(entry.path().string());
  }
  return files;
}

TEST_CASE("The specs of the S1 map are valid, and their first scenarios run with clean plans") {
  const auto files = large_specs();
  REQUIRE(files.size() >= 7);
  for (const std::string& file : files) {
    CAPTURE(file);
    const Spec spec = load_spec(file);
    const Grid grid(spec, result_column_names(true));
    ScenarioSpace space(spec, grid);
    REQUIRE_NOTHROW(space.components().check_all());
    ScenarioRunner runner(space);
    for (std::uint64_t scenario = 0; scenario < 12; ++scenario) {
      CAPTURE(grid.describe(scenario));
      const ScenarioResult result = runner.run(scenario, true);
      CHECK(result.note == "");
      CHECK(result.checked);
      CHECK(result.summary.makespan > Duration{0});
    }
  }
}

TEST_CASE("matmul_share is the part of the task time that matrix products take") {
  // One unit class held whole and one stream: every task runs for as long as its cost says.
  const Spec spec = parse_spec(R"({
    "workload": {"kind": "lstm", "layers": 2, "steps": 3, "batch": 16, "hidden": 128,
                 "granularity": "matmul"},
    "machine": {"base": "v100", "sharing": "exclusive"}, "policy": "single_stream"})",
                               "a.json");
  const Grid grid(spec);
  ScenarioSpace space(spec, grid);
  ScenarioRunner runner(space);
  const FullRun run = runner.run_fully(0);
  const Problem problem = run.prepared->problem();
  Duration all{0};
  Duration matmuls{0};
  for (const TaskId task : problem.graph.tasks()) {
    const Duration duration = problem.costs.duration(task, DeviceId{0});
    all += duration;
    if (is_matmul(problem.graph.operation(task))) matmuls += duration;
  }
  const ScenarioResult result = runner.run(0, false);
  REQUIRE(matmuls > Duration{0});
  REQUIRE(matmuls < all);
  CHECK(result.summary.matmul_share ==
        doctest::Approx(static_cast<double>(matmuls.count()) / static_cast<double>(all.count())));
}

}  // namespace
}  // namespace schedlab
