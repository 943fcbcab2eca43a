// SPDX-License-Identifier: Apache-2.0
#include "studies/sweep/sweep_ranks.hpp"

#include "real_exec/ranks/thread_ranks.hpp"
#include "sim/base/error.hpp"
#include "sim/base/file.hpp"
#include "studies/sweep/results_csv.hpp"
#include "studies/sweep/sweep_rows.hpp"
#include "tests/support/temporary_folder.hpp"

#include <doctest/doctest.h>

#include <atomic>
#include <filesystem>
#include <string>

using namespace schedlab;
using schedlab::testing::TemporaryFolder;

namespace {

/// 3 * 2 * 4 = 24 quick scenarios.
constexpr const char* quick_scenarios = R"({
  "workload": {"kind": "lstm", "layers": [1, 2, 3], "steps": 3, "batch": [8, 16], "hidden": 64},
  "machine": "v100",
  "policy": ["single_stream", "diagonal", "heft", {"name": "random", "seed": 5}],
  "baseline": "single_stream"
})";

struct RankedSweep {
  RankedSweep() : spec(parse_spec(quick_scenarios, "a.json")), grid(spec), space(spec, grid) {}

  void write(ResultsStore& store, const std::filesystem::path& folder) {
    static_cast<void>(write_results_csv(store, Baseline::of(spec, grid), folder / results_csv));
  }

  Spec spec;
  Grid grid;
  ScenarioSpace space;
};

/// The sweep on so many ranks; the counts of rank 0.
SweepCounts run_on(int ranks,
                   const SweepRequest& request,
                   const StopFlag* stop = nullptr,
                   const SweepObserver& observer = {}) {
  SweepCounts counts;
  run_on_threads(ranks, [&](RankLink& link) {
    RankedSweep sweep;  // every rank is a process of its own in earnest
    if (link.rank() != 0) {
      work_for_rank_0(sweep.space, request, link, stop);
      return;
    }
    OutputFolder folder(sweep_folder(request));
    ResultsStore store = open_results(sweep.spec, sweep.grid, folder);
    counts = run_scenarios_on_ranks(sweep.space, store, request, link, stop, observer);
    sweep.write(store, folder.path());
    folder.publish(!counts.interrupted);
  });
  return counts;
}

}  // namespace

TEST_CASE("a sweep over ranks gives the file of a sweep in one process") {
  const TemporaryFolder folder;
  RankedSweep alone;
  const SweepRequest request{.out = folder.path() / "alone", .jobs = 1};
  OutputFolder open(sweep_folder(request));
  ResultsStore store = open_results(alone.spec, alone.grid, open);
  static_cast<void>(run_scenarios(alone.space, store, request, nullptr, {}));
  alone.write(store, open.path());
  open.publish();
  const std::string expected = read_file(folder.path() / "alone" / results_csv);
  for (const int ranks : {1, 2, 4}) {
    for (const unsigned jobs : {0U, 2U}) {
      CAPTURE(ranks);
      CAPTURE(jobs);
      const auto out = folder.path() / std::to_string(10 * ranks + static_cast<int>(jobs));
      const SweepCounts counts = run_on(ranks, {.out = out, .jobs = jobs});
      CHECK(counts.ran == 24);
      CHECK_FALSE(counts.interrupted);
      CHECK(read_file(out / results_csv) == expected);
    }
  }
}

TEST_CASE("a sweep over ranks that was stopped goes on with what is missing") {
  const TemporaryFolder folder;
  StopFlag stop{false};
  const SweepCounts first = run_on(3, {.out = folder.path() / "a"}, &stop, [&](std::uint64_t done) {
    if (done >= 5) stop = true;
  });
  CHECK(first.ran >= 5);
  CHECK(first.interrupted == (first.ran < 24));  // all may have been under way when it was asked
  const SweepCounts rest = run_on(2, {.out = folder.path() / "a", .resume = true});
  CHECK(rest.kept == first.ran);
  CHECK(rest.kept + rest.ran == 24);
  static_cast<void>(run_on(1, {.out = folder.path() / "b"}));
  CHECK(read_file(folder.path() / "a" / results_csv) ==
        read_file(folder.path() / "b" / results_csv));
}

TEST_CASE("rows survive the way between processes") {
  const std::vector<FinishedRow> rows{{.scenario = 7,
                                       .axes = {Cell{std::string{"heft"}}, Cell{std::int64_t{-3}}},
                                       .results = {Cell{}, Cell{0.1}, Cell{std::string{}}},
                                       .makespans = {Duration{5}, Duration{6}}},
                                      {.scenario = 8, .axes = {}, .results = {}, .makespans = {}}};
  CHECK(rows_from_bytes(rows_to_bytes(rows)) == rows);
  CHECK(rows_from_bytes(rows_to_bytes({})).empty());
  const std::string bytes = rows_to_bytes(rows);
  CHECK_THROWS_AS(static_cast<void>(rows_from_bytes(bytes.substr(0, bytes.size() - 1))),
                  ContractViolation);
}
