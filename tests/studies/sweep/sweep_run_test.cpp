// SPDX-License-Identifier: Apache-2.0
#include "studies/sweep/sweep_run.hpp"

#include "sim/base/error.hpp"
#include "sim/base/file.hpp"
#include "studies/scenario/scenario_runner.hpp"
#include "studies/sweep/results_csv.hpp"
#include "tests/support/temporary_folder.hpp"

#include <doctest/doctest.h>

#include <algorithm>
#include <atomic>
#include <filesystem>
#include <optional>
#include <set>
#include <string>
#include <vector>

namespace schedlab {
namespace {

namespace fs = std::filesystem;
using testing::TemporaryFolder;

/// 4 * 3 * 5 = 60 quick scenarios.
constexpr const char* sixty_scenarios = R"({
  "workload": {"kind": "lstm", "layers": [1, 2, 3, 4], "steps": 3, "batch": [8, 16, 32], "hidden": 64},
  "machine": "v100",
  "policy": ["single_stream", "diagonal", "critical_first", "heft", {"name": "random", "seed": 5}],
  "baseline": "single_stream"
})";

struct Sweep {
  explicit Sweep(const std::string& text)
      : spec(parse_spec(text, "a.json")), grid(spec), space(spec, grid) {}

  SweepCounts run(const SweepRequest& request,
                  const StopFlag* stop = nullptr,
                  const SweepObserver& observer = {}) {
    OutputFolder folder(sweep_folder(request));
    ResultsStore store = open_results(spec, grid, folder);
    const SweepCounts counts = run_scenarios(space, store, request, stop, observer);
    digest = write_results_csv(store, Baseline::of(spec, grid), folder.path() / results_csv);
    store.seal();
    folder.publish(!counts.interrupted);
    return counts;
  }

  Spec spec;
  Grid grid;
  ScenarioSpace space;
  ResultsDigest digest;
};

std::string error_of(const SweepRequest& request, const std::string& text) {
  try {
    Sweep sweep(text);
    static_cast<void>(sweep.run(request));
  } catch (const InputError& error) {
    return error.what();
  }
  return "no error";
}

TEST_CASE("launch modes are an axis: every policy runs in each, and its plan is checked clean") {
  const TemporaryFolder folder;
  Sweep sweep(R"({
    "workload": {"kind": "lstm", "pass": "backward", "layers": 2, "steps": 4, "batch": 8, "hidden": 64},
    "machine": {"base": "v100", "front_end_us": 8},
    "policy": ["single_stream", "diagonal", "cudnn_like", "critical_first", "critical_first_matmul",
               "heft", "peft", "bottom_level", "eager_fifo", "random"],
    "launch": ["eager", "eager_two_thread", "graph_launch"]})");
  const SweepCounts counts = sweep.run({.out = folder.path() / "a", .jobs = 1});
  CHECK(counts.ran == 30);
  CHECK(sweep.digest.failed == 0);
  CHECK(sweep.digest.with_findings == 0);
  ScenarioRunner runner(sweep.space);
  for (std::uint64_t policy = 0; policy < 10; ++policy) {
    CAPTURE(policy);
    const Summary eager = runner.run(3 * policy, true).summary;
    const Summary two_threads = runner.run(3 * policy + 1, true).summary;
    const Summary graph = runner.run(3 * policy + 2, true).summary;
    // 8 us of front end and 3.8 of driver per kernel: this host is the bottleneck.
    CHECK(eager.host_bound_share > 0.3);
    CHECK(two_threads.makespan < eager.makespan);
    CHECK(graph.makespan < two_threads.makespan);
    CHECK(graph.host_calls == 1);
    CHECK(graph.launches == eager.launches);
    CHECK(graph.bounds.host_issue < eager.bounds.host_issue / 10);
  }
}

TEST_CASE("a legacy default stream is an axis: every policy runs with it, and pays for it") {
  const TemporaryFolder folder;
  Sweep sweep(R"({
    "workload": {"kind": "lstm", "pass": "backward", "layers": 4, "steps": 10, "batch": 64, "hidden": 1024},
    "machine": "v100",
    "policy": ["single_stream", "diagonal", "cudnn_like", "critical_first", "critical_first_matmul",
               "heft", "greedy_stages", "random"],
    "default_stream": ["per_thread", "legacy"]})");
  const SweepCounts counts = sweep.run({.out = folder.path() / "a", .jobs = 1});
  CHECK(counts.ran == 16);
  CHECK(sweep.digest.failed == 0);
  CHECK(sweep.digest.with_findings == 0);
  ScenarioRunner runner(sweep.space);
  for (std::uint64_t policy = 0; policy < 8; ++policy) {
    CAPTURE(policy);
    const Summary free = runner.run(2 * policy, true).summary;
    const Summary legacy = runner.run(2 * policy + 1, true).summary;
    CHECK(legacy.tasks == free.tasks);
    if (policy == 0) {
      CHECK(legacy.makespan == free.makespan);  // there is nothing to be in order with
    } else {
      CHECK(legacy.makespan > free.makespan);
      CHECK(legacy.mean_concurrency < free.mean_concurrency);
    }
  }
}

TEST_CASE("pageable memory is an axis: the host stages the batch, and waits for the loss") {
  const TemporaryFolder folder;
  Sweep sweep(R"({
    "workload": {"kind": "lstm", "pass": "training", "layers": 2, "steps": 4, "batch": 64, "hidden": 1024,
                 "host_memory": ["pinned", "pageable"]},
    "machine": ["v100", {"base": "v100", "staging_gb_per_s": 6}], "policy": "diagonal"})");
  static_cast<void>(sweep.run({.out = folder.path() / "a", .jobs = 1}));
  CHECK(sweep.digest.failed == 0);
  CHECK(sweep.digest.with_findings == 0);
  ScenarioRunner runner(sweep.space);
  const auto makespan = [&](std::uint64_t scenario) {
    return runner.run(scenario, true).summary.makespan;
  };
  // 4 * 64 * 1024 floats at 12 and at 6 GB/s, rounded up to a picosecond. Nothing else can go on
  // meanwhile; the loss is 4 bytes.
  const Duration in_12{87'381'334};
  const Duration in_6{174'762'667};
  CHECK(makespan(0) == makespan(1));
  CHECK(makespan(2) >= makespan(0) + in_12);
  CHECK(makespan(2) < makespan(0) + in_12 + std::chrono::microseconds{40});
  CHECK(makespan(3) - makespan(2) >= in_6 - in_12);
  CHECK(makespan(3) - makespan(2) < in_6 - in_12 + std::chrono::nanoseconds{1});
}

TEST_CASE("a graph of a legacy default stream is a failed scenario, and says why") {
  const TemporaryFolder folder;
  Sweep sweep(R"({
    "workload": {"kind": "lstm", "pass": "backward", "layers": 2, "steps": 2, "batch": 8, "hidden": 64},
    "machine": "v100", "policy": "diagonal",
    "launch": "graph_launch", "default_stream": ["legacy", "per_thread"]})");
  static_cast<void>(sweep.run({.out = folder.path() / "a", .jobs = 1}));
  CHECK(sweep.digest.failed == 1);
  ScenarioRunner runner(sweep.space);
  CHECK(runner.run(0, true).note.find("it is a legacy default stream") != std::string::npos);
}

TEST_CASE("results.csv has the same bytes for any number of threads") {
  const TemporaryFolder folder;
  for (const unsigned jobs : {1U, 2U, 5U}) {
    Sweep sweep(sixty_scenarios);
    const SweepCounts counts =
        sweep.run({.out = folder.path() / std::to_string(jobs), .jobs = jobs});
    CHECK(counts.ran == 60);
    CHECK(!counts.interrupted);
    CHECK(sweep.digest.failed == 0);
    CHECK(sweep.digest.with_findings == 0);
  }
  const std::string one = read_file(folder.path() / "1" / results_csv);
  CHECK(one == read_file(folder.path() / "2" / results_csv));
  CHECK(one == read_file(folder.path() / "5" / results_csv));
  CHECK(std::count(one.begin(), one.end(), '\n') == 61);  // a header and 60 rows
}

/// One column of a finished sweep, by scenario; 0: missing.
std::vector<double> column_of(const fs::path& folder,
                              const std::string& text,
                              const std::string& name) {
  Sweep sweep(text);
  static_cast<void>(sweep.run({.out = folder, .jobs = 1, .overwrite = true}));
  const ResultsStore store = ResultsStore::open(folder / results_database);
  const Table table = results_table(store, Baseline::of(sweep.spec, sweep.grid), 1000);
  const auto column = std::find_if(table.columns.begin(),
                                   table.columns.end(),
                                   [&](const Column& one) { return one.name == name; });
  if (column == table.columns.end()) return {};
  std::vector<double> values;
  for (const auto& row : table.rows) {
    const Cell& cell = row[static_cast<std::size_t>(column - table.columns.begin())];
    const auto* integer = std::get_if<std::int64_t>(&cell);
    const auto* real = std::get_if<double>(&cell);
    values.push_back(integer != nullptr ? static_cast<double>(*integer)
                     : real != nullptr  ? *real
                                        : 0);
  }
  return values;
}

constexpr const char* two_granularities = R"({
  "workload": {"kind": "lstm", "pass": "backward", "layers": [2, 4], "steps": 6, "batch": 16, "hidden": 256%s},
  "machine": "p100", "policy": ["single_stream", "diagonal", "critical_first"], "baseline": "single_stream"%s})";

std::string filled(const char* in_workload, const char* in_spec) {
  std::string text = two_granularities;
  text.replace(text.find("%s"), 2, in_workload);
  return text.replace(text.find("%s"), 2, in_spec);
}

TEST_CASE("policies of different granularity are run at each other's, as if the spec said so") {
  const TemporaryFolder folder;
  const auto values = [&](const char* in_workload, const char* in_spec, const char* name) {
    return column_of(folder.path() / "run", filled(in_workload, in_spec), name);
  };
  const auto own = values("", "", "makespan_ps");
  const auto fine = values(R"(, "granularity": "fine")", "", "makespan_ps");
  const auto coarse = values(R"(, "granularity": "coarse")", "", "makespan_ps");
  REQUIRE(own.size() == 6);
  CHECK(values("", "", "makespan_at_fine_ps") == fine);
  CHECK(values("", "", "makespan_at_coarse_ps") == coarse);
  CHECK(fine != coarse);

  // critical_first is given fine tasks: baseline / itself = baseline / baseline at fine * the rest.
  const auto whole = values("", "", "speed_up");
  const auto cut = values("", "", "speed_up_cut");
  const auto order = values("", "", "speed_up_order");
  for (const std::size_t row : {2U, 5U}) {
    CHECK(own[row] == fine[row]);
    CHECK(cut[row] == doctest::Approx(coarse[row - 2] / fine[row - 2]));
    CHECK(order[row] == doctest::Approx(fine[row - 2] / fine[row]));
    CHECK(cut[row] * order[row] == doctest::Approx(whole[row]));
  }
  // Where all are given the same, nothing is run twice.
  CHECK(values(R"(, "granularity": "fine")", "", "makespan_at_fine_ps").empty());
  CHECK(values("", R"(, "like_for_like": false)", "makespan_at_fine_ps").empty());
  CHECK(values("", R"(, "like_for_like": false)", "makespan_ps") == own);
}

TEST_CASE("the bound of a case holds for every policy of it, at any granularity") {
  const TemporaryFolder folder;
  const std::string text = filled("", "");
  const auto bound = column_of(folder.path() / "run", text, "case_bound_us");
  const auto own = column_of(folder.path() / "run", text, "bound_us");
  const auto fine = column_of(folder.path() / "run", text, "makespan_at_fine_ps");
  const auto coarse = column_of(folder.path() / "run", text, "makespan_at_coarse_ps");
  REQUIRE(bound.size() == 6);
  for (std::size_t row = 0; row < 6; ++row) {
    CAPTURE(row);
    const std::size_t first = row - row % 3;
    CHECK(bound[row] == bound[first]);
    for (std::size_t other = first; other < first + 3; ++other) {
      CHECK(bound[row] <= std::min(fine[other], coarse[other]) / 1e6);
    }
  }
  // The bound of whole nodes is no bound of the case: fine tasks are less work.
  CHECK(own[0] > bound[0]);
}

TEST_CASE("a stopped sweep keeps what is done, and --resume runs only the rest") {
  const TemporaryFolder folder;
  const fs::path stopped = folder.path() / "stopped";
  StopFlag stop{false};
  Sweep first(sixty_scenarios);
  const SweepCounts before =
      first.run({.out = stopped, .jobs = 1}, &stop, [&](std::uint64_t done) { stop = done >= 7; });
  CHECK(before.interrupted);
  CHECK(before.ran >= 7);
  CHECK(before.ran < 60);

  Sweep second(sixty_scenarios);
  const SweepCounts after = second.run({.out = stopped, .jobs = 2, .resume = true});
  CHECK(after.kept == before.ran);
  CHECK(after.ran == 60 - before.ran);

  Sweep whole(sixty_scenarios);
  static_cast<void>(whole.run({.out = folder.path() / "whole", .jobs = 1}));
  CHECK(read_file(stopped / results_csv) == read_file(folder.path() / "whole" / results_csv));
}

TEST_CASE("an exception in the middle loses no finished scenario") {
  const TemporaryFolder folder;
  const SweepRequest request{.out = folder.path() / "run", .jobs = 1};
  Sweep sweep(sixty_scenarios);
  std::uint64_t seen = 0;
  {
    OutputFolder open(sweep_folder(request));
    ResultsStore store = open_results(sweep.spec, sweep.grid, open);
    const SweepObserver fail_late = [&](std::uint64_t done) {
      seen = done;
      if (done >= 10) throw InfeasibleError("as if the disk were full");
    };
    CHECK_THROWS_AS(
        static_cast<void>(run_scenarios(sweep.space, store, request, nullptr, fail_late)),
        InfeasibleError);
  }
  CHECK(ResultsStore::open(request.out / results_database).row_count() == seen);
}

TEST_CASE("a folder in use is never touched without being told how") {
  const TemporaryFolder folder;
  const fs::path out = folder.path() / "run";
  const std::string other = R"({"workload": "small", "machine": "v100", "policy": "heft"})";
  CHECK(error_of({.out = out}, sixty_scenarios) == "no error");
  CHECK(error_of({.out = out}, sixty_scenarios).find("--resume goes on with it, --overwrite") !=
        std::string::npos);
  CHECK(error_of({.out = out, .resume = true}, other).find("found results of another spec") !=
        std::string::npos);
  CHECK(error_of({.out = out, .overwrite = true}, other) == "no error");
  CHECK(ResultsStore::open(out / results_database).row_count() == 1);
  // A folder that no sweep has made is not removed even then.
  const fs::path home = folder.path() / "home";
  fs::create_directories(home);
  write_file_atomically(home / "thesis.txt", "years of work");
  CHECK(error_of({.out = home, .overwrite = true}, other).find("has not made") !=
        std::string::npos);
  CHECK(fs::exists(home / "thesis.txt"));
}

TEST_CASE("a scenario that cannot run is a row with a note, not the end of the sweep") {
  const TemporaryFolder folder;
  // A V100 has no rate for int8 (an InfeasibleError of the cost model); the other scenario runs.
  Sweep sweep(
      R"({"workload": {"kind": "lstm", "layers": 2, "steps": 2, "data_type": ["int8", "fp32"]},
                  "machine": "v100", "policy": "heft"})");
  const SweepCounts counts = sweep.run({.out = folder.path() / "run"});
  CHECK(counts.ran == 2);
  CHECK(sweep.digest.rows == 2);
  CHECK(sweep.digest.failed == 1);
  CHECK(sweep.digest.first_note_scenario == 0);
  CHECK(sweep.digest.first_note.find("int8") != std::string::npos);
}

TEST_CASE("speed-ups compare with the baseline on the same workload") {
  const TemporaryFolder folder;
  // Unit-cost grids of 4 x 5 and 2 x 5 node times: one stream needs 20 and 10 of them, diagonals
  // L + T - 1 = 8 and 6. Speed-ups: 20/8 = 2.5 and 10/6.
  Sweep sweep(R"({"workload": {"kind": "grid", "layers": [4, 2], "steps": 5}, "machine": "ideal",
                  "cost_model": "fixed", "policy": ["diagonal", "single_stream"],
                  "baseline": "single_stream"})");
  static_cast<void>(sweep.run({.out = folder.path() / "run"}));
  const ResultsStore store = ResultsStore::open(folder.path() / "run" / results_database);
  const Table table = results_table(store, Baseline::of(sweep.spec, sweep.grid), 100);
  REQUIRE(table.columns[3].name == "speed_up");
  REQUIRE(table.rows.size() == 4);
  CHECK(table.rows[0][3] == Cell{2.5});
  CHECK(table.rows[1][3] == Cell{1.0});
  CHECK(std::get<double>(table.rows[2][3]) == doctest::Approx(10.0 / 6.0));
}

TEST_CASE("a run that was killed as it began can be resumed") {
  const TemporaryFolder folder;
  const fs::path out = folder.path() / "run";
  fs::create_directories(out);
  const auto kill_as_it_begins = [&] {
    write_file_atomically(out / "results.sqlite.partial", "half a database");
    write_file_atomically(out / "results.sqlite.partial-journal", "and what it was to become");
  };
  kill_as_it_begins();
  CHECK(error_of({.out = out, .resume = true}, sixty_scenarios) == "no error");
  CHECK(ResultsStore::open(out / results_database).row_count() == 60);
  fs::remove_all(out);
  fs::create_directories(out);
  kill_as_it_begins();
  CHECK(error_of({.out = out, .overwrite = true}, sixty_scenarios) == "no error");
  fs::remove_all(out);
  fs::create_directories(out);
  kill_as_it_begins();
  CHECK(error_of({.out = out}, sixty_scenarios) == "no error");
}

/// Every file of a folder but the manifest.
std::set<std::string> names_in(const fs::path& folder) {
  std::set<std::string> names;
  for (const auto& entry : fs::directory_iterator(folder)) names.insert(entry.path().filename());
  names.erase(manifest_file);
  return names;
}

TEST_CASE("finished results are one file, and reading leaves nothing beside it") {
  const TemporaryFolder folder;
  const fs::path out = folder.path() / "run";
  CHECK(error_of({.out = out}, sixty_scenarios) == "no error");
  const std::set<std::string> files{"results.csv", "results.sqlite"};
  CHECK(names_in(out) == files);
  const std::string database = read_file(out / results_database);
  // Bytes 18 and 19: 1 is a rollback journal, 2 a write-ahead log (SQLite's "Database File
  // Format").
  CHECK(database.substr(18, 2) == std::string("\x01\x01"));
  CHECK(ResultsStore::open(out / results_database).row_count() == 60);
  CHECK(names_in(out) == files);
  // Nothing is missing: nothing changes.
  CHECK(error_of({.out = out, .resume = true}, sixty_scenarios) == "no error");
  CHECK(read_file(out / results_database) == database);
  CHECK(folder_state(out) == FolderState::finished);
}

TEST_CASE("results of another program version or of no program are refused") {
  const TemporaryFolder folder;
  const fs::path file = folder.path() / results_database;
  write_file_atomically(file, "this is no database, but it is long enough to be read as one");
  CHECK_THROWS_AS(static_cast<void>(ResultsStore::open(file)), InputError);
}

}  // namespace
}  // namespace schedlab
