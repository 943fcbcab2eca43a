// SPDX-License-Identifier: Apache-2.0
#include "studies/search/search_verb.hpp"

#include "real_exec/ranks/thread_ranks.hpp"
#include "sim/base/error.hpp"
#include "sim/base/file.hpp"
#include "studies/scenario/simulation.hpp"
#include "studies/search/scenario_search.hpp"
#include "studies/spec/spec.hpp"
#include "tests/support/temporary_folder.hpp"
#include "tests/support/verb_session.hpp"

#include <doctest/doctest.h>

#include <vector>

using namespace schedlab;

namespace {

constexpr const char* case_spec = R"({
  "workload": {"kind": "lstm", "pass": "backward", "layers": 2, "steps": 6, "batch": 32, "hidden": 256},
  "machine": "v100", "policy": ["cudnn_like", "critical_first"]})";

struct SearchSession : testing::VerbSession {
  testing::TemporaryFolder folder;
  SearchVerbOptions options{.spec = (folder.path() / "spec.json").string(),
                            .out = (folder.path() / "best").string(),
                            .seconds = 0,
                            .evaluations = 300,
                            .json = true};

  explicit SearchSession(const char* spec = case_spec) {
    write_file_atomically(folder.path() / "spec.json", spec);
  }

  /// The spec with the plan found as its policy.
  [[nodiscard]] Simulation simulate_plan(const std::string& spec_with_policy) const {
    return simulate(parse_spec(spec_with_policy, "spec", folder.path()));
  }
};

std::string small_lstm(const std::string& more) {
  return R"({"workload": {"kind": "lstm", "pass": "backward", "layers": 2, "steps": 4, "batch": 32,
    "hidden": 256, "granularity": "fine"}, "machine": "h200", )" +
         more + "}";
}
constexpr const char* found_plan = R"("policy": {"name": "plan_file", "path": "best/plan.json"})";

}  // namespace

TEST_CASE("search writes a plan that simulate runs in the makespan it says") {
  SearchSession session;
  REQUIRE(session.call(session.options) == exit_done);
  const auto found = session.printed();
  CHECK(found["makespan_ps"] <= found["policy_makespan_ps"]);
  CHECK(found["case_gap"] >= 1);
  const std::string plan = (session.folder.path() / "best/plan.json").string();
  const auto granularity = found["granularity"].get<std::string>();
  const Spec spec = parse_spec(
      std::string{R"({"workload": {"kind": "lstm", "pass": "backward", "layers": 2, "steps": 6,
           "batch": 32, "hidden": 256, "granularity": ")"} +
          granularity + R"("}, "machine": "v100", "policy": {"name": "plan_file", "path": ")" +
          plan + "\"}}",
      "spec",
      session.folder.path());
  const Simulation again = simulate(spec);
  CHECK(again.metrics.makespan.count() == found["makespan_ps"]);
  CHECK(again.run.findings.empty());
}

TEST_CASE("evaluations alone give the same files, on any number of islands; resumed is no worse") {
  for (const std::uint32_t jobs : {1U, 3U}) {
    SearchSession one;
    SearchSession two;
    one.options.jobs = two.options.jobs = jobs;
    REQUIRE(one.call(one.options) == exit_done);
    REQUIRE(two.call(two.options) == exit_done);
    for (const char* file : {"plan.json", "search.json", "improvements.csv", "search.svg"}) {
      CHECK(read_file((one.folder.path() / "best" / file).string()) ==
            read_file((two.folder.path() / "best" / file).string()));
    }
    CHECK(read_file((one.folder.path() / "best/search.svg").string()).find("certified bound") !=
          std::string::npos);
    const auto before = one.printed();
    one.options.resume = one.options.out;
    one.options.out += "_again";
    one.options.seed = 2;
    REQUIRE(one.call(one.options) == exit_done);
    CHECK(one.printed()["makespan_ps"] <= before["makespan_ps"]);
  }
}

TEST_CASE("search refuses several cases and no limit; a gap above the limit fails") {
  SearchSession several{R"({
    "workload": {"kind": "lstm", "pass": "backward", "layers": [2, 3], "steps": 4, "batch": 32, "hidden": 256},
    "machine": "v100", "policy": "cudnn_like"})"};
  CHECK_THROWS_WITH_AS(static_cast<void>(several.call(several.options)),
                       doctest::Contains("/workload/layers: found several values"),
                       InputError);
  SearchSession dynamic{
      small_lstm(R"("policy": {"name": "successor_first", "dispatch": "dynamic"})").c_str()};
  CHECK_THROWS_WITH_AS(static_cast<void>(dynamic.call(dynamic.options)),
                       doctest::Contains("/policy/dispatch: found successor_first that decides"),
                       InputError);
  SearchSession session;
  session.options.max_gap = 0;
  session.options.evaluations = 1;
  CHECK(session.call(session.options) == exit_failed);
  CHECK(session.err.str().find("over its bound") != std::string::npos);
  session.options.evaluations = 0;
  CHECK_THROWS_WITH_AS(
      static_cast<void>(session.call(session.options)), doctest::Contains("--seconds"), InputError);
}

TEST_CASE("launch modes and ways to cut a workload are chosen from") {
  SearchSession session{
      small_lstm(R"("launch": ["eager", "graph_launch"], "policy": "heft")").c_str()};
  REQUIRE(session.call(session.options) == exit_done);
  const auto found = session.printed();
  CHECK(found["choices"] == 2);
  const auto launch = found["launch"].get<std::string>();
  const Simulation again = session.simulate_plan(
      small_lstm(R"("launch": ")" + launch + R"(", )" + std::string{found_plan}));
  CHECK(again.metrics.makespan.count() == found["makespan_ps"]);
  for (const char* mode : {"eager", "graph_launch"}) {
    const Simulation alone = session.simulate_plan(
        small_lstm(R"("launch": ")" + std::string{mode} + R"(", "policy": "heft")"));
    CHECK(found["makespan_ps"] <= alone.metrics.makespan.count());
  }
  SearchSession summed{R"({"workload": {"kind": "lstm", "pass": "backward", "layers": 2, "steps": 4,
    "batch": 32, "hidden": 256, "accumulation": ["ordered", "batched"]},
    "machine": "v100", "policy": "heft"})"};
  REQUIRE(summed.call(summed.options) == exit_done);
  // Each at all five granularities, as the workload leaves its own open.
  CHECK(summed.printed()["choices"] == 10);
  SearchSession cut{R"({"workload": {"kind": "lstm", "pass": "backward", "layers": 2, "steps": 4,
    "batch": 32, "hidden": 256, "granularity": "fine", "hidden_2_steps": [1, 2],
    "hidden_1_slices": [1, 4], "weight_units": [0, 40]}, "machine": "v100", "policy": "heft"})"};
  REQUIRE(cut.call(cut.options) == exit_done);
  CHECK(cut.printed()["choices"] == 8);
}

TEST_CASE("granularities that no policy of the spec has are chosen from, and bounded") {
  const auto spec = [](const std::string& granularity) {
    return R"({"workload": {"kind": "lstm", "pass": "backward", "layers": 2, "steps": 4, "batch": 32,
      "hidden": 256, "granularity": ")" +
           granularity + R"("}, "machine": "ascend_910b", "policy": "heft"})";
  };
  SearchSession open{spec("auto").c_str()};
  REQUIRE(open.call(open.options) == exit_done);
  const auto found = open.printed();
  CHECK(found["choices"] == 5);
  for (const char* granularity :
       {"coarse", "fine", "matmul", "data_and_weight", "kernel_and_weight"}) {
    CAPTURE(granularity);
    SearchSession fixed{spec(granularity).c_str()};
    fixed.options.evaluations = 1;
    REQUIRE(fixed.call(fixed.options) == exit_done);
    CHECK(fixed.printed()["choices"] == 1);
    CHECK(fixed.printed()["granularity"] == granularity);
    CHECK(found["case_bound_ps"] <= fixed.printed()["case_bound_ps"]);
    CHECK(found["makespan_ps"] <= fixed.printed()["policy_makespan_ps"]);
  }
}

TEST_CASE("one plan is searched for all ranks, and for several runs") {
  for (const char* more :
       {R"("ranks": 2, )", R"("launch": {"name": "graph_launch", "runs": 3}, )"}) {
    CAPTURE(more);
    SearchSession session{small_lstm(std::string{more} + R"("policy": "heft")").c_str()};
    REQUIRE(session.call(session.options) == exit_done);
    const auto found = session.printed();
    CHECK(found["makespan_ps"] <= found["policy_makespan_ps"]);
    CHECK(found["case_gap"] >= 1);
    const Simulation again = session.simulate_plan(small_lstm(more + std::string{found_plan}));
    CHECK(again.metrics.makespan.count() == found["makespan_ps"]);
    CHECK(again.run.findings.empty());
  }
}

TEST_CASE("the order of a pipeline's passes is searched, and is a plan that runs") {
  const auto spec = [](const std::string& policy) {
    return R"({"workload": {"kind": "gpt_pipeline", "stages": 2, "microbatches": 4},
      "machine": "h200", )" +
           policy + "}";
  };
  SearchSession session{spec(R"("policy": "pipeline_naive")").c_str()};
  REQUIRE(session.call(session.options) == exit_done);
  const auto found = session.printed();
  CHECK(found["case_gap"] >= 1);
  CHECK(found["makespan_ps"] < found["policy_makespan_ps"]);
  const Simulation again = session.simulate_plan(spec(found_plan));
  CHECK(again.metrics.makespan.count() == found["makespan_ps"]);
  CHECK(again.run.findings.empty());
}

TEST_CASE("on a machine that scatters all plans meet the same draws, which bound them") {
  const std::string spec = small_lstm(
      R"("variability": {"samples": 4, "duration_cv": 0.2, "host_call_cv": 0.1, "seed": 3}, "policy": "heft")");
  for (const char* objective : {"mean", "p90"}) {
    SearchSession session{spec.c_str()};
    session.options.samples = 8;
    session.options.objective = objective;
    REQUIRE(session.call(session.options) == exit_done);
    const auto scattered = session.printed()["scattered"];
    CHECK(scattered["objective"] == objective);
    CHECK(scattered["makespan_ps"] <= scattered["policy_makespan_ps"]);
    CHECK(scattered["makespan_ps"] >= scattered["bound_ps"]);
    CHECK(scattered["bound_ps"] > 0);
  }
  SearchSession still{small_lstm(R"("policy": "heft")").c_str()};
  still.options.samples = 8;
  CHECK_THROWS_WITH_AS(
      static_cast<void>(still.call(still.options)), doctest::Contains("--samples"), InputError);
}

TEST_CASE("the mean and the least that nine of ten do not exceed") {
  std::vector<Duration> times;
  for (int i = 20; i > 0; --i) times.emplace_back(i);
  CHECK(objective_of(times, Objective::p90) == Duration{18});
  CHECK(objective_of(times, Objective::mean) == Duration{10});  // 10.5, rounded down
}

TEST_CASE("ranks exchange plans: all find the same, alike every time, and no worse than one") {
  const auto search_on = [](int ranks) {
    std::vector<FoundSchedule> found(static_cast<std::size_t>(ranks));
    run_on_threads(ranks, [&](RankLink& link) {
      const Spec spec = parse_spec(case_spec, "spec");
      const Grid grid{spec};
      ScenarioSpace space{spec, grid};
      found[static_cast<std::size_t>(link.rank())] = search_case(
          space, "spec", {.limits = {.evaluations = 3000}, .islands = 1, .link = &link});
    });
    for (const FoundSchedule& each : found) {
      CHECK(each.plan == found.front().plan);
      CHECK(each.makespan == found.front().makespan);
      CHECK(each.evaluations == found.front().evaluations);
    }
    return found.front();
  };
  const FoundSchedule two = search_on(2);
  CHECK(two.plan == search_on(2).plan);
  CHECK(two.evaluations >= 3000);
  CHECK(two.makespan < two.begun_at);
}
