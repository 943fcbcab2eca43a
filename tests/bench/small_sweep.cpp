// SPDX-License-Identifier: Apache-2.0
#include "tests/bench/small_sweep.hpp"

#include "studies/sweep/sweep_run.hpp"
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

/// Scenarios of 200 tasks: `policies` stands for `policy_count` of them, the rest are machines that
/// differ in a latency, so that costs and bounds are worked out anew for each.
struct Sweep {
  std::string_view name;
  std::string_view workload;
  std::string_view machine;
  std::string_view policies;
  std::uint64_t policy_count;
};

// Backward pass at 5 tasks a node; a grid of unit-cost nodes.
constexpr std::string_view lstm =
    R"({"kind": "lstm", "pass": "backward", "granularity": "fine", "layers": 2, "steps": 20,
        "batch": 64, "hidden": 1024})";
constexpr std::string_view grid =
    R"({"kind": "grid", "layers": 10, "steps": 20, "duration_us": 10})";
constexpr std::string_view ideal = R"("base": "ideal")";
constexpr std::string_view exclusive = R"("base": "v100", "sharing": "exclusive")";
constexpr std::string_view fluid = R"("base": "v100", "sharing": "fluid")";
constexpr std::string_view heft =
    R"({"name": "heft", "max_streams": [1, 2, 3, 4, 5, 6, 7, 8, 9, 10,
        11, 12, 13, 14, 15, 16, 17, 18, 19, 20]})";
constexpr std::string_view critical_first =
    R"({"name": "critical_first", "max_streams": [2, 3, 4, 5, 0], "priorities": [true, false],
        "tasks_per_fill": [1, 2]})";

constexpr std::array<Sweep, 6> sweeps{
    {{"grid, heft, ideal machine", grid, ideal, heft, 20},
     {"lstm, single_stream, exclusive", lstm, exclusive, R"("single_stream")", 1},
     {"lstm, heft, exclusive", lstm, exclusive, heft, 20},
     {"lstm, critical_first, exclusive", lstm, exclusive, critical_first, 20},
     {"lstm, heft, fluid", lstm, fluid, heft, 20},
     {"lstm, critical_first, fluid", lstm, fluid, critical_first, 20}}};
constexpr double goal = 20'000;  // scenarios per second and core

std::string spec_text(const Sweep& sweep, std::uint64_t scenarios) {
  std::string gaps;
  for (std::uint64_t i = 0; i < std::max<std::uint64_t>(1, scenarios / sweep.policy_count); ++i) {
    gaps += fmt::format("{}{:.4f}", i == 0 ? "" : ", ", 0.5 + 0.0001 * static_cast<double>(i));
  }
  return fmt::format(
      R"({{"workload": {}, "machine": {{{}, "stream_gap_us": [{}]}}, "policy": {}{}}})",
      sweep.workload,
      sweep.machine,
      gaps,
      sweep.policies,
      sweep.machine == ideal ? R"(, "cost_model": "fixed")" : "");
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
  const Grid grid(spec, reserved_columns(spec));
  ScenarioSpace space(spec, grid);
  const TemporaryFolder folder;
  const SweepRequest request{
      .out = folder.path(), .jobs = 1, .resume = false, .overwrite = true, .check = check};
  const double begun = processor_seconds();
  OutputFolder open(sweep_folder(request));
  ResultsStore store = open_results(spec, grid, open);
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
      const std::string work =
          fmt::format("small sweep: {}{}", sweep.name, check ? ", checked" : "");
      if (work.find(options.sweeps) == std::string::npos) continue;
      table.set_least(work, 200, goal);
      for (int i = 0; i < repetitions; ++i) {
        table.add(work, 200, "scenarios/s", rate(spec, check));
      }
    }
  }
}

}  // namespace schedlab::bench
