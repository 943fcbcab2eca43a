// SPDX-License-Identifier: Apache-2.0
#include "sim/base/error.hpp"
#include "sim/base/file.hpp"
#include "studies/scenario/result_columns.hpp"
#include "studies/scenario/simulate_verb.hpp"
#include "studies/sweep/policy_comparison.hpp"
#include "studies/sweep/results_csv.hpp"
#include "studies/sweep/sweep_run.hpp"
#include "studies/sweep/sweep_verb.hpp"
#include "tests/support/temporary_folder.hpp"

#include <doctest/doctest.h>
#include <nlohmann/json.hpp>

#include <algorithm>
#include <filesystem>
#include <set>
#include <sstream>
#include <string>
#include <variant>
#include <vector>

namespace schedlab {
namespace {

namespace fs = std::filesystem;
using nlohmann::json;
using testing::TemporaryFolder;

std::string spec_text(
    const std::string& variability,
    const std::string& policies =
        R"(["single_stream", "heft", "critical_first", {"name": "heft", "label": "again"}])") {
  return R"({"workload": {"kind": "lstm", "layers": [2, 3], "steps": 4, "batch": 8, "hidden": 64,
             "granularity": "fine"}, "machine": "v100", "policy": )" +
         policies + R"(, "variability": )" + variability + "}";
}

struct Sweep {
  explicit Sweep(const std::string& text)
      : spec(parse_spec(text, "a.json")), grid(spec), space(spec, grid) {}

  void run(const SweepRequest& request, const StopFlag* stop = nullptr) {
    space.components().check_all();
    OutputFolder folder(sweep_folder(request));
    ResultsStore store = open_results(spec, grid, folder);
    const SweepCounts counts = run_scenarios(space, store, request, stop, {});
    write_results_csv(store, {}, folder.path() / results_csv);
    folder.publish(!counts.interrupted);
    comparisons = compare_policies(grid, store);
    table = results_table(store, {}, 1000);
  }
  [[nodiscard]] double value(std::size_t row, const std::string& name) const {
    for (std::size_t i = 0; i < table.columns.size(); ++i) {
      if (table.columns[i].name != name) continue;
      const Cell& cell = table.rows[row][i];
      if (const auto* integer = std::get_if<std::int64_t>(&cell)) {
        return static_cast<double>(*integer);
      }
      return std::get<double>(cell);
    }
    FAIL("no column " << name);
    return 0;
  }

  [[nodiscard]] bool failed(std::size_t row) const {
    for (std::size_t i = 0; i < table.columns.size(); ++i) {
      if (table.columns[i].name == "makespan_us") {
        return !std::holds_alternative<double>(table.rows[row][i]);
      }
    }
    return true;
  }

  Spec spec;
  Grid grid;
  ScenarioSpace space;
  Table comparisons;
  Table table;
};

std::string message_of(const std::string& variability) {
  try {
    const Spec spec = parse_spec(spec_text(variability), "a.json");
    const Grid grid(spec);
    Components(spec, grid).check_all();
  } catch (const InputError& error) {
    return error.what();
  }
  return "no error";
}

const std::string noisy = R"({"samples": 40, "duration_cv": 0.1, "host_call_cv": 0.1, "seed": 3})";

TEST_CASE("samples are the same, byte for byte, for any number of threads and after a stop") {
  const TemporaryFolder folder;
  std::vector<std::string> texts;
  for (const unsigned jobs : {1U, 3U}) {
    Sweep sweep(spec_text(noisy));
    sweep.run({.out = folder.path() / std::to_string(jobs), .jobs = jobs});
    texts.push_back(read_file(folder.path() / std::to_string(jobs) / results_csv));
  }
  CHECK(texts[0] == texts[1]);
  StopFlag stop{true};
  const SweepRequest request{.out = folder.path() / "stopped", .jobs = 1};
  Sweep(spec_text(noisy)).run(request, &stop);
  Sweep rest(spec_text(noisy));
  rest.run({.out = request.out, .jobs = 2, .resume = true});
  CHECK(read_file(request.out / results_csv) == texts[0]);
  CHECK(rest.comparisons.rows.size() == 12);
}

TEST_CASE("the numbers without noise stay what they are, those of samples stand beside them") {
  const TemporaryFolder folder;
  Sweep exact(spec_text(R"({"samples": 5})"));
  exact.run({.out = folder.path() / "exact", .jobs = 1});
  Sweep scattered(spec_text(noisy));
  scattered.run({.out = folder.path() / "noisy", .jobs = 1});
  REQUIRE(exact.table.rows.size() == 8);
  for (std::size_t row = 0; row < 8; ++row) {
    CAPTURE(row);
    CHECK(exact.value(row, "makespan_ps") == scattered.value(row, "makespan_ps"));
    // Nothing scatters: all samples are the run without noise.
    for (const char* ending : {"_mean", "_mean_low", "_mean_high", "_median", "_p5", "_p95"}) {
      CHECK(exact.value(row, std::string{"makespan_us"} + ending) ==
            doctest::Approx(exact.value(row, "makespan_us")).epsilon(1e-12));
      CHECK(exact.value(row, std::string{"utilization"} + ending) ==
            exact.value(row, "utilization"));
    }
    CHECK(scattered.value(row, "samples") == 40);
    const double low = scattered.value(row, "makespan_us_p5");
    const double high = scattered.value(row, "makespan_us_p95");
    CHECK(low < scattered.value(row, "makespan_us_median"));
    CHECK(scattered.value(row, "makespan_us_median") < high);
    CHECK(scattered.value(row, "makespan_us_mean_low") < scattered.value(row, "makespan_us_mean"));
    CHECK(high / low < 1.5);
  }
}

TEST_CASE("every result but the counts of graph and plan has its samples") {
  const TemporaryFolder folder;
  Sweep sweep(spec_text(R"({"samples": 4, "duration_cv": 0.1})"));
  sweep.run({.out = folder.path() / "all", .jobs = 1});
  const std::vector<std::string> names = result_column_names(true);
  // The rest follows from the graph, or from the plan of a policy that plans ahead; the peaks of
  // stages are one text.
  const std::set<std::string> same{"makespan_ps",
                                   "bound",
                                   "case_bound_us",
                                   "case_bound",
                                   "case_gap",
                                   "case_critical_path_us",
                                   "proven_optimal",
                                   "cost_evidence",
                                   "task_granularity",
                                   "work_us",
                                   "stage_peak_memory_bytes",
                                   "tasks",
                                   "launches",
                                   "records",
                                   "waits",
                                   "events",
                                   "streams",
                                   "found_split",
                                   "samples",
                                   "findings",
                                   "note"};
  for (const std::string& name : result_column_names(false)) {
    if (name.starts_with("makespan_at_")) continue;  // like for like is without noise
    CAPTURE(name);
    const bool sampled = std::find(names.begin(), names.end(), name + "_mean") != names.end();
    CHECK(sampled != same.contains(name));
  }
  // Rows: four policies of two layers, then of three; critical_first is the third.
  CHECK(sweep.value(2, "queries_p5") <= sweep.value(2, "queries_p95"));
  CHECK(sweep.value(2, "queries_p95") > 0);
  CHECK(sweep.value(0, "host_calls_p5") == sweep.value(0, "host_calls"));
  // Each draw is held against the bounds of its own durations.
  CHECK(sweep.value(0, "bound_us_p5") < sweep.value(0, "bound_us_p95"));
  CHECK(sweep.value(0, "gap_p5") >= 1);
}

TEST_CASE("a bubble has samples in pipelines and nowhere else") {
  const TemporaryFolder folder;
  const auto samples_of = [&](const std::string& workload, const std::string& policy) {
    const fs::path spec = folder.path() / "a.json";
    write_file_atomically(spec,
                          R"({"workload": )" + workload +
                              R"(, "machine": "ideal", "cost_model": "fixed", "policy": ")" +
                              policy + R"(", "variability": {"samples": 20, "duration_cv": 0.2}})");
    std::ostringstream out;
    std::ostringstream err;
    const Terminal terminal{.out = out, .err = err, .interactive = false, .stop = nullptr};
    const fs::path run_folder = folder.path() / policy;
    CHECK(run(SimulateOptions{.spec = spec.string(), .out = run_folder.string()}, terminal) ==
          exit_done);
    return json::parse(read_file(run_folder / "metrics.json")).at("samples");
  };
  CHECK_FALSE(
      samples_of(R"({"kind": "grid", "layers": 2, "steps": 3, "duration_us": 10})", "diagonal")
          .contains("bubble_share"));
  // 3 stages, 4 microbatches: a bubble of 2 / 6 without noise; with noise stages wait for the
  // slower one, too.
  const json piped =
      samples_of(R"({"kind": "pipeline", "stages": 3, "microbatches": 4})", "pipeline_1f1b");
  CHECK(piped.at("bubble_share").at("mean") > 2.0 / 6);
  CHECK(piped.at("bubble_share").at("p5") < piped.at("bubble_share").at("p95"));
}

TEST_CASE("samples of a machine that does not scatter are the run without noise, on any ranks") {
  const TemporaryFolder folder;
  // critical_first asks the device before it decides; heft plans ahead.
  Sweep sweep(R"({"workload": {"kind": "lstm", "pass": "training", "layers": 2, "steps": 4,
                               "batch": 8, "hidden": 64},
                  "machine": "h200", "policy": ["critical_first", "heft"], "ranks": [1, 3],
                  "launch": ["eager", "eager_two_thread", "graph_launch"],
                  "default_stream": ["per_thread", "legacy"], "variability": {"samples": 2}})");
  sweep.run({.out = folder.path() / "all", .jobs = 1});
  std::size_t ran = 0;
  for (std::size_t row = 0; row < sweep.grid.size(); ++row) {
    CAPTURE(row);
    if (sweep.failed(row)) continue;
    ++ran;
    // Not by ==, as both are interpolated between equal numbers.
    for (const std::string column : {"makespan_us", "host_calls"}) {
      CHECK(sweep.value(row, column + "_p5") ==
            doctest::Approx(sweep.value(row, column)).epsilon(1e-12));
      CHECK(sweep.value(row, column + "_p95") ==
            doctest::Approx(sweep.value(row, column)).epsilon(1e-12));
    }
  }
  // 2 policies x 2 counts of ranks x (3 launch modes, and 2 with a legacy default stream: that of a
  // graph cannot be captured).
  CHECK(ran == 2 * 2 * (3 + 2));
}

TEST_CASE("policies are compared on the same draws") {
  const TemporaryFolder folder;
  Sweep sweep(spec_text(noisy));
  sweep.run({.out = folder.path() / "a", .jobs = 1});
  const Table& pairs = sweep.comparisons;
  REQUIRE(pairs.rows.size() == 12);  // 2 cases of 6 pairs
  const auto column = [&](const std::string& name) {
    for (std::size_t i = 0; i < pairs.columns.size(); ++i) {
      if (pairs.columns[i].name == name) return i;
    }
    FAIL("no column " << name);
    return std::size_t{0};
  };
  int same = 0;
  for (const auto& row : pairs.rows) {
    const double probability = std::get<double>(row[column("faster_probability")]);
    const double low = std::get<double>(row[column("faster_probability_low")]);
    CHECK(low <= probability);
    CHECK(probability <= std::get<double>(row[column("faster_probability_high")]));
    const std::string& first = std::get<std::string>(row[column("policy")]);
    const std::string& second = std::get<std::string>(row[column("other_policy")]);
    const auto ties = std::get<std::int64_t>(row[column("ties")]);
    if (first == "heft" && second == "again") {  // one policy under two names: always a tie
      CHECK(ties == 40);
      CHECK(probability == 0.5);
      ++same;
    } else {
      CHECK(ties < 40);
    }
  }
  CHECK(same == 2);
}

TEST_CASE("an axis and the seed reach the draws") {
  const TemporaryFolder folder;
  Sweep sweep(
      R"({"workload": {"kind": "grid", "layers": 3, "steps": 3}, "machine": "ideal",
          "cost_model": "fixed", "policy": "diagonal", "seed": [1, 2],
          "variability": {"samples": 30, "duration_cv": [0, 0.1, 0.2]}})");
  sweep.run({.out = folder.path() / "a", .jobs = 1});
  REQUIRE(sweep.table.rows.size() == 6);
  const auto width = [&](std::size_t row) {
    return sweep.value(row, "makespan_us_p95") - sweep.value(row, "makespan_us_p5");
  };
  CHECK(width(0) == 0);
  CHECK(width(1) > 0);
  CHECK(width(2) > width(1));
  CHECK(sweep.value(1, "makespan_us_mean") != sweep.value(4, "makespan_us_mean"));
  CHECK(sweep.value(0, "makespan_us_mean") == sweep.value(3, "makespan_us_mean"));
}

TEST_CASE("wrong numbers are refused with their place") {
  const auto has = [](const std::string& text, const std::string& part) {
    CAPTURE(text);
    CHECK(text.find(part) != std::string::npos);
  };
  has(message_of(R"({"durations_cv": 0.1})"), "did you mean \"duration_cv\"?");
  has(message_of(R"({"duration_cv": -0.1})"), "/variability/duration_cv: found -0.1");
  has(message_of(R"({"samples": 0})"), "/variability/samples: found 0");
  has(message_of(R"({"law": "normal", "duration_cv": 0.5})"),
      "/variability/duration_cv: found 0.5 with the law normal, expected at most 0.3");
  has(message_of(R"({"law": "gauss"})"), "/variability/law: found \"gauss\"");
  has(message_of(R"({"gemm_cv": -0.5})"), "/variability/gemm_cv: found -0.5");
  has(message_of(R"({"straggler_probability": 2})"), "straggler_probability");
  has(message_of(R"({"duration_cv": [0.1, 0.2]})"), "no error");
}

TEST_CASE("simulate says what the samples say, in words and in metrics.json") {
  const TemporaryFolder folder;
  const fs::path spec = folder.path() / "a.json";
  write_file_atomically(
      spec,
      R"({"workload": {"kind": "grid", "layers": 4, "steps": 5, "duration_us": 10},
          "machine": "ideal", "cost_model": "fixed", "policy": "diagonal",
          "variability": {"samples": 50, "duration_cv": 0.2}})");
  std::ostringstream out;
  std::ostringstream err;
  const Terminal terminal{.out = out, .err = err, .interactive = false, .stop = nullptr};
  const std::string run_folder = (folder.path() / "run").string();
  CHECK(run(SimulateOptions{.spec = spec.string(), .out = run_folder}, terminal) == exit_done);
  CHECK(out.str().find("50 samples: makespan") != std::string::npos);
  const json metrics = json::parse(read_file(fs::path{run_folder} / "metrics.json"));
  CHECK(metrics.at("makespan_ps") == 80'000'000);  // the run without noise
  const json& samples = metrics.at("samples");
  CHECK(samples.at("count") == 50);
  // A path of 8 tasks, the longest of many: above its mean of 80 us.
  CHECK(samples.at("makespan_us").at("mean_low") > 80.0);
  CHECK(samples.at("makespan_us").at("p5") < samples.at("makespan_us").at("p95"));
  CHECK(samples.contains("host_bound_share"));
}

TEST_CASE("a sweep of a machine that scatters writes its comparisons and says so in the report") {
  const TemporaryFolder folder;
  const fs::path spec = folder.path() / "a.json";
  write_file_atomically(spec, spec_text(R"({"samples": 10, "duration_cv": 0.1})"));
  std::ostringstream out;
  std::ostringstream err;
  const Terminal terminal{.out = out, .err = err, .interactive = false, .stop = nullptr};
  const fs::path results = folder.path() / "sweep";
  CHECK(run(SweepOptions{.spec = spec.string(), .out = results.string(), .timelines = "none"},
            terminal) == exit_done);
  const std::string csv = read_file(results / comparisons_csv);
  CHECK(csv.starts_with("scenario,other_scenario,case,policy,other_policy,samples,ties,"));
  CHECK(std::count(csv.begin(), csv.end(), '\n') == 13);
  CHECK(read_file(results / "report.html").find("How sure is that?") != std::string::npos);
}

}  // namespace
}  // namespace schedlab
