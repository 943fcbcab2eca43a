// SPDX-License-Identifier: Apache-2.0
#include "sim/base/file.hpp"
#include "sim/graph/matmul.hpp"
#include "studies/scenario/result_columns.hpp"
#include "studies/scenario/scenario_runner.hpp"
#include "studies/spec/spec.hpp"
#include "tests/support/checkout.hpp"

#include <doctest/doctest.h>
#include <nlohmann/json.hpp>

#include <algorithm>
#include <filesystem>
#include <string>
#include <vector>

namespace schedlab {
namespace {

namespace fs = std::filesystem;

std::vector<fs::path> shipped() {
  std::vector<fs::path> files;
  for (const auto& entry : fs::directory_iterator(testing::checkout() / "experiments")) {
    if (entry.path().extension() == ".json") files.push_back(entry.path());
  }
  std::sort(files.begin(), files.end());
  return files;
}

/// Files of other verbs than simulate, sweep and validate say what they are.
bool is_scenarios(const fs::path& file) {
  return !nlohmann::json::parse(read_file(file)).contains("schedlab");
}

TEST_CASE("Every spec that ships is valid, and its first scenarios run with clean plans") {
  const auto files = shipped();
  REQUIRE(files.size() >= 60);
  for (const fs::path& file : files) {
    if (!is_scenarios(file)) continue;
    CAPTURE(file);
    const Spec spec = load_spec(file.string());
    const Grid grid(spec, result_column_names(true));
    ScenarioSpace space(spec, grid);
    REQUIRE_NOTHROW(space.components().check_all());
    ScenarioRunner runner(space);
    for (std::uint64_t scenario = 0; scenario < std::min<std::uint64_t>(12, grid.size());
         ++scenario) {
      CAPTURE(grid.describe(scenario));
      const ScenarioResult result = runner.run(scenario, true);
      CHECK_MESSAGE(!result.failed, result.note);
      CHECK_MESSAGE(result.findings == 0, result.note);
      CHECK(result.summary.makespan > Duration{0});
    }
  }
}

TEST_CASE("Every other file that ships is the input of a test of the program") {
  const std::string tests = read_file(testing::checkout() / "tests/cli/CMakeLists.txt");
  for (const fs::path& file : shipped()) {
    if (is_scenarios(file)) continue;
    CAPTURE(file);
    CHECK(tests.find("${experiments}/" + file.filename().string()) != std::string::npos);
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
  const Problem problem = run.scenario.problem->problem();
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
