// SPDX-License-Identifier: Apache-2.0
#include "studies/comparison/comparison.hpp"

#include "sim/base/file.hpp"
#include "sim/engine/simulator.hpp"
#include "studies/base/schema_check.hpp"
#include "studies/comparison/compare_verb.hpp"
#include "studies/scenario/simulate_verb.hpp"
#include "studies/sweep/sweep_verb.hpp"
#include "tests/support/refusal.hpp"
#include "tests/support/temporary_folder.hpp"
#include "tests/support/verb_session.hpp"

#include <doctest/doctest.h>
#include <fmt/format.h>

#include <cmath>
#include <cstdint>
#include <filesystem>
#include <numeric>
#include <string>
#include <utility>
#include <vector>

namespace schedlab {
namespace {

using namespace schedlab::literals;

/// Folders of results that verbs have made, by name.
struct Results {
  testing::TemporaryFolder folder;
  testing::VerbSession session;

  [[nodiscard]] std::string path(const std::string& name) const {
    return (folder.path() / name).string();
  }
  [[nodiscard]] std::string file(const std::string& name, const std::string& text) const {
    std::filesystem::create_directories(std::filesystem::path{path(name)}.parent_path());
    write_file_atomically(path(name), text);
    return path(name);
  }
  std::string simulated(const std::string& name, const std::string& machine, const char* policy) {
    SimulateOptions options;
    options.spec = file(name + ".json", spec(machine, fmt::format("\"{}\"", policy)));
    options.out = path(name);
    REQUIRE(session.call(options) == exit_done);
    return options.out;
  }
  std::string swept(const std::string& name, const std::string& machine) {
    SweepOptions options;
    options.spec = file(name + ".json", spec(machine, R"(["single_stream", "diagonal", "heft"])"));
    options.out = path(name);
    REQUIRE(session.call(options) == exit_done);
    return options.out;
  }
  static std::string spec(const std::string& machine, const std::string& policy) {
    return fmt::format(R"({{"workload": {{"kind": "lstm", "layers": 2, "steps": 6, "batch": 16,
      "hidden": 128, "granularity": "fine"}}, "machine": {}, "policy": {}}})",
                       machine,
                       policy);
  }
};

Duration sum_of(const PathParts& parts) {
  return std::accumulate(parts.times.begin(), parts.times.end(), Duration{0});
}

/// A chain of operations, named as those of a profile ("a#2"), each of its duration, on one stream
/// of an ideal device.
Explanation chain(const std::vector<std::pair<std::string, Duration>>& tasks) {
  ExplainedRun run;
  TaskGraphBuilder builder;
  const StreamId stream = run.plan.streams.push_back({});
  for (const auto& [name, duration] : tasks) {
    const OperationId operation = builder.add_operation({.name = name, .fixed_duration = duration});
    const TaskId task = builder.add_task(
        operation, {}, fmt::format("{}#{}", name, run.plan.hosts[HostId{0}].calls.size()));
    run.plan.hosts[HostId{0}].calls.push_back(HostCall::launch(stream, task));
  }
  run.graph = std::move(builder).build();
  run.platform = ideal_platform();
  run.costs = CostTable{run.graph, run.platform};
  run.trace = simulate(run.problem(), run.plan, {.record_hosts = true, .record_flows = true});
  return explain(std::move(run), 1);
}

TEST_CASE("a run on a slower host differs by what its host takes") {
  Results results;
  const std::string first = results.simulated("first", R"("v100")", "single_stream");
  const std::string second =
      results.simulated("second", R"({"base": "v100", "launch_us": 30})", "single_stream");
  const Comparison all = compare_results(first, second);
  REQUIRE(all.runs.has_value());
  const RunComparison& runs = *all.runs;
  CHECK(sum_of(runs.first_path) == runs.first);
  CHECK(sum_of(runs.second_path) == runs.second);
  CHECK(runs.match == TaskMatch::by_number);
  CHECK(runs.first_only.tasks + runs.second_only.tasks == 0);
  const Duration host = runs.second_path.of(PathPart::host) - runs.first_path.of(PathPart::host);
  CHECK(host > (runs.second - runs.first) / 2);
  for (const TaskChange& task : runs.tasks) CHECK(task.longer() == Duration{0});

  CompareOptions options{.first = first, .second = second, .out = results.path("out")};
  options.json = true;
  options.max_slowdown = 100 * all.slowdown() + 0.01;
  CHECK(results.session.call(options) == exit_done);
  CHECK_NOTHROW(read_checked_json(results.session.out.str(), comparison_schema(), "comparison"));
  CHECK(results.session.printed()["runs"]["matched"] == runs.tasks.size());
  for (const char* name : {"compare.html", "comparison.json", "comparison.csv"}) {
    CHECK(std::filesystem::exists(results.folder.path() / "out" / name));
  }
  options.out.clear();
  options.max_slowdown = 100 * all.slowdown() - 0.01;
  CHECK(results.session.call(options) == exit_failed);
  CHECK(results.session.printed()["broken"].size() == 1);
  std::swap(options.first, options.second);
  options.max_slowdown = 0;
  CHECK(results.session.call(options) == exit_done);
}

TEST_CASE("tasks of other graphs are matched by name and order of start") {
  const RunComparison runs = compare_runs(chain({{"a", 3us}, {"b", 5us}, {"a", 4us}}),
                                          chain({{"a", 3us}, {"a", 9us}, {"a", 1us}, {"c", 2us}}));
  CHECK(runs.match == TaskMatch::by_name);
  REQUIRE(runs.tasks.size() == 2);
  CHECK(runs.tasks[0].first == 4us);  // the second to start
  CHECK(runs.tasks[0].second == 9us);
  CHECK(runs.tasks[1].longer() == Duration{0});
  CHECK(runs.first_only.names == std::vector<std::string>{"b"});
  CHECK(runs.first_only.running == 5us);
  CHECK(runs.second_only.tasks == 2);
  CHECK(runs.second_only.running == 3us);
  CHECK(runs.second - runs.first == 3us);  // 15 against 12
  CHECK(runs.second_path.of(PathPart::device) == 15us);
}

/// Two cases of three policies; the times in us by case, then policy.
ScenarioTimes times(const std::vector<std::int64_t>& us) {
  ScenarioTimes made;
  made.file = "times";
  made.axes = {{"layers", false}, {"policy", true}};
  for (std::size_t i = 0; i < us.size(); ++i) {
    const std::vector<std::string> policies{"p", "q", "r"};
    made.scenarios.push_back({.values = {fmt::format("{}", i / 3), policies[i % 3]},
                              .time = Duration{us[i] * 1'000'000},
                              .interval = {}});
  }
  return made;
}

TEST_CASE("scenarios are matched by their axes, and changed winners are told") {
  // Ratios 2, 1/2, 1; 1, 1; the last one fails in the second.
  const ScenarioComparison all =
      compare_scenarios(times({10, 20, 30, 10, 20, 5}), times({20, 10, 30, 10, 20, 0}));
  CHECK(all.scenarios.size() == 5);
  CHECK(all.ratio == doctest::Approx(1));
  CHECK(all.slower == 1);
  CHECK(all.faster == 1);
  CHECK(all.second_failed == std::vector<std::string>{"layers=1, r"});
  CHECK(all.groups == 2);
  REQUIRE(all.winners.size() == 1);
  CHECK(all.winners[0].group == "layers=0");
  CHECK(all.winners[0].first_policy == "p");
  CHECK(all.winners[0].second_policy == "q");
  CHECK(all.winners[0].loss == doctest::Approx(1));
  REQUIRE(all.axes.size() == 5);  // layers 0 and 1, policies p, q, r
  CHECK(all.axes[2].value == "p");
  CHECK(all.axes[2].ratio == doctest::Approx(std::sqrt(2)));
  CHECK(all.scenarios.front().scenario == "layers=0, p");

  Comparison bounded;
  bounded.kind = ComparedKind::sweeps;
  bounded.scenarios = all;
  CHECK(bounded.slowdown() == doctest::Approx(1));
  apply_bound(bounded, 1.5);
  CHECK(bounded.broken == std::vector<std::string>{"layers=1, r has no time in the second"});
  apply_bound(bounded, 0.5);
  CHECK(bounded.broken.size() == 2);
  bounded.first = "a";
  bounded.second = "b";
  const auto answer_at = [&](double ratio) {
    bounded.scenarios->ratio = ratio;
    return comparison_answer(bounded);
  };
  CHECK(testing::has(answer_at(16.58), "b takes 16.6 times as long as a over"));
  CHECK(testing::has(answer_at(1.03), "b takes 3.00 % longer than a over"));
  CHECK(testing::has(answer_at(0.9), "b takes 10.00 % less than a over"));
}

TEST_CASE("axes that only one sweep has must not be needed") {
  const ScenarioTimes first = times({10, 20, 30});
  ScenarioTimes second = times({10, 20, 30});
  second.axes.push_back({"batch", false});
  for (ScenarioTime& scenario : second.scenarios) scenario.values.emplace_back("8");
  CHECK(compare_scenarios(first, second).lone_axes == std::vector<std::string>{"batch"});
  second.scenarios.push_back(second.scenarios.front());
  second.scenarios.back().values.back() = "16";
  const std::string said =
      testing::refusal([&] { static_cast<void>(compare_scenarios(first, second)); });
  CHECK(testing::has(said, "several scenarios of layers=0, p"));
  CHECK(testing::has(said, "batch"));
  CHECK(testing::has(testing::refusal([&] {
                       static_cast<void>(compare_scenarios(times({0, 0, 0}), times({1, 2, 3})));
                     }),
                     "no scenario that has a time in both"));
}

TEST_CASE("sweeps are compared by what their folders hold") {
  Results results;
  const std::string first = results.swept("first", R"("v100")");
  const std::string second = results.swept("second", R"({"base": "v100", "launch_us": 30})");
  const Comparison all = compare_results(first, second);
  REQUIRE(all.scenarios.has_value());
  CHECK(all.scenarios->scenarios.size() == 3);
  CHECK(all.scenarios->slower == 3);
  CHECK(all.slowdown() > 0);
  CompareOptions options{.first = first, .second = first, .json = true};
  CHECK(results.session.call(options) == exit_done);
  CHECK_NOTHROW(read_checked_json(results.session.out.str(), comparison_schema(), "comparison"));
  CHECK(testing::has(std::string{results.session.printed()["answer"]}, "as long as"));
  options.second = results.simulated("run", R"("v100")", "heft");
  CHECK(testing::has(testing::refusal([&] { results.session.call(options); }),
                     "found one of runs, expected one of sweeps"));
}

std::string validation_of(double low, double median, double high) {
  return fmt::format(
      R"({{"program": "schedlab 1", "summary": {{"makespan_error": {{"median": 0.02}},
    "order_right": {{"share": 1}}, "kendall_tau": null}}, "groups": [{{"name": "layers=2"}}],
    "scenarios": [{{"group": 0, "policy": "heft", "measured_us": {}, "measured_us_low": {},
    "measured_us_high": {}}}, {{"group": 0, "policy": "peft", "note": "not run"}}]}})",
      median,
      low,
      high);
}

TEST_CASE("of validations only what is beyond noise counts as slower") {
  Results results;
  const std::string first = results.file("a/validation.json", validation_of(99, 100, 103));
  const std::string near = results.file("b/validation.json", validation_of(102, 105, 106));
  const std::string far = results.file("c/validation.json", validation_of(104, 105, 106));
  const auto slowdown = [&](const std::string& second) {
    return compare_results(results.path("a"), std::filesystem::path{second}.parent_path())
        .slowdown();
  };
  CHECK(slowdown(near) == 0);
  CHECK(slowdown(far) == doctest::Approx(0.05));
  const Comparison all = compare_results(first, far);
  CHECK(all.scenarios->numbers.size() == 2);
  CHECK(all.scenarios->first_failed == std::vector<std::string>{"layers=2, peft"});
  CHECK(all.scenarios->second_failed.size() == 1);
  const std::string broken = results.file("d/validation.json", "{}");
  CHECK(testing::has(testing::refusal([&] { static_cast<void>(compare_results(first, broken)); }),
                     "what schedlab validate writes"));
}

}  // namespace
}  // namespace schedlab
