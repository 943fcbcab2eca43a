// SPDX-License-Identifier: Apache-2.0
#include "tests/bench/small_sweep.hpp"

#include "cli/sweep_run.hpp"
#include "tests/bench/clock.hpp"

#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cstdlib>
#include <filesystem>
#include <stdexcept>
#include <string>
#include <string_view>
#include <vector>

namespace schedlab::bench {
namespace {

namespace fs = std::filesystem;

/// A policy axis of 20 alternatives.
struct Sweep {
  std::string_view name;
  std::string_view policies;
};

// The knobs of a policy are what a study varies most; each sweep stays with one family.
constexpr std::array<Sweep, 3> sweeps{
    {{"small sweep: heft",
      R"({"name": "heft", "max_streams": [1, 2, 3, 4, 5, 6, 7, 8, 9, 10,
          11, 12, 13, 14, 15, 16, 17, 18, 19, 20]})"},
     {"small sweep: eager_fifo",
      R"({"name": "eager_fifo", "max_streams": [1, 2, 3, 4, 5, 6, 7, 8, 9, 10,
          11, 12, 13, 14, 15, 16, 17, 18, 19, 20]})"},
     {"small sweep: critical_first",
      R"({"name": "critical_first", "max_streams": [2, 3, 4, 5, 0], "priorities": [true, false],
          "tasks_per_fill": [1, 2]})"}}};
constexpr std::uint64_t policy_count = 20;

/// Backward passes of 2 layers and 20 steps at 5 tasks a node: 200 tasks. Half as many machines as
/// it takes differ in a latency, which is what sets their costs and bounds anew.
std::string spec_text(const Sweep& sweep, std::uint64_t scenarios) {
  std::string gaps;
  for (std::uint64_t i = 0; i < std::max<std::uint64_t>(1, scenarios / policy_count); ++i) {
    gaps += fmt::format("{}{:.3f}", i == 0 ? "" : ", ", 0.5 + 0.001 * static_cast<double>(i));
  }
  return fmt::format(
      R"({{"workload": {{"kind": "lstm", "pass": "backward", "granularity": "fine", "layers": 2,
                       "steps": 20, "batch": 64, "hidden": 1024}},
          "machine": {{"base": "v100", "stream_gap_us": [{}]}},
          "policy": {}}})",
      gaps,
      sweep.policies);
}

class TemporaryFolder {
 public:
  TemporaryFolder() {
    std::string pattern = (fs::temp_directory_path() / "schedlab_bench_XXXXXX").string();
    if (mkdtemp(pattern.data()) == nullptr) throw std::runtime_error("mkdtemp() failed");
    path_ = pattern;
  }
  TemporaryFolder(const TemporaryFolder&) = delete;
  TemporaryFolder& operator=(const TemporaryFolder&) = delete;
  ~TemporaryFolder() {
    std::error_code error;
    fs::remove_all(path_, error);
  }
  [[nodiscard]] const fs::path& path() const { return path_; }

 private:
  fs::path path_;
};

/// Scenarios per second of processor time, on one thread, opening and committing included.
double rate(const Spec& spec, bool check) {
  std::vector<std::string> reserved = result_column_names();
  reserved.insert(reserved.end(), {"scenario", "speed_up"});
  const Grid grid(spec, reserved);
  ScenarioSpace space(spec, grid);
  const TemporaryFolder folder;
  const SweepRequest request{
      .out = folder.path(), .jobs = 1, .resume = false, .overwrite = true, .check = check};
  const double begun = processor_seconds();
  ResultsStore store = open_results(spec, grid, request);
  const SweepCounts counts = run_scenarios(space, store, request, nullptr, {});
  const double seconds = processor_seconds() - begun;
  const auto makespans = store.integer_column("makespan_ps", 0);
  const auto findings = store.integer_column("findings", 0);
  const auto positive = [](std::int64_t value) { return value > 0; };
  if (counts.ran != grid.size() || makespans.size() != grid.size() ||
      !std::all_of(makespans.begin(), makespans.end(), positive) ||
      std::any_of(findings.begin(), findings.end(), positive)) {
    throw std::runtime_error("a small sweep did not run cleanly");
  }
  return static_cast<double>(counts.ran) / seconds;
}

}  // namespace

void add_small_sweeps(const Options& options, ResultsTable& table) {
  if (options.scenarios == 0) return;
  const int repetitions = std::min(std::max(1, options.repetitions), 3);
  for (const Sweep& sweep : sweeps) {
    const Spec spec = parse_spec(spec_text(sweep, options.scenarios), "bench.json");
    for (const bool check : {false, true}) {
      const std::string work = fmt::format("{}{}", sweep.name, check ? ", plans checked" : "");
      for (int i = 0; i < repetitions; ++i) table.add(work, 200, "scenarios/s", rate(spec, check));
    }
  }
}

}  // namespace schedlab::bench
