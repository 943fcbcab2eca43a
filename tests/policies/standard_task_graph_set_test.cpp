// SPDX-License-Identifier: Apache-2.0
// List schedulers against the Standard Task Graph Set (Kasahara laboratory, 180 graphs of 50
// tasks), whose best known makespans are mostly proven optimal. Skipped without the reference data.
#include "policies/registry.hpp"
#include "sim/engine/simulator.hpp"
#include "tests/support/scenes.hpp"
#include "tests/support/skip.hpp"

#include <doctest/doctest.h>
#include <fmt/format.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <map>
#include <optional>
#include <sstream>
#include <string>
#include <vector>

namespace schedlab {
namespace {

using testing::Scene;

/// The folder with the data, unpacked below the working directory; nullopt if there is none.
std::optional<std::filesystem::path> reference_data() {
  const char* given = std::getenv("SCHEDLAB_REFERENCE_DATA");
  const std::filesystem::path data =
      given != nullptr ? std::filesystem::path{given}
                       : std::filesystem::path{SCHEDLAB_SOURCE_DIR} / "../shared/data";
  const std::filesystem::path folder = data / "stg";
  if (!std::filesystem::exists(folder / "stg_50.tar.gz")) return std::nullopt;
  const std::filesystem::path unpacked = std::filesystem::current_path() / "policies_stg";
  std::filesystem::create_directories(unpacked);
  for (const char* table : {"optimal.csv", "list_scheduling_reference.csv"}) {
    std::filesystem::copy_file(
        folder / table, unpacked / table, std::filesystem::copy_options::overwrite_existing);
  }
  const std::string command =
      fmt::format("tar -xzf '{}' -C '{}'", (folder / "stg_50.tar.gz").string(), unpacked.string());
  if (std::system(command.c_str()) != 0) return std::nullopt;  // NOLINT(concurrency-mt-unsafe)
  return unpacked;
}

/// Rows of a CSV file without quotes, as maps from column name to text.
std::vector<std::map<std::string, std::string>> read_csv(const std::filesystem::path& path) {
  std::ifstream file{path};
  const auto split = [](const std::string& line) {
    std::vector<std::string> cells;
    std::istringstream stream{line};
    for (std::string cell; std::getline(stream, cell, ',');) cells.push_back(cell);
    return cells;
  };
  std::string line;
  std::getline(file, line);
  const std::vector<std::string> columns = split(line);
  std::vector<std::map<std::string, std::string>> rows;
  while (std::getline(file, line)) {
    const std::vector<std::string> cells = split(line);
    auto& row = rows.emplace_back();
    for (std::size_t i = 0; i < cells.size(); ++i) row[columns.at(i)] = cells[i];
  }
  return rows;
}

/// Number of tasks; then, with two dummies, `id weight predecessor_count predecessors...` each;
/// comments after #. One weight unit is a microsecond here.
TaskGraph read_graph(const std::filesystem::path& path) {
  std::ifstream file{path};
  std::string line;
  std::size_t count = 0;
  file >> count;
  std::getline(file, line);
  TaskGraphBuilder builder;
  const OperationId operation = builder.add_operation({.name = "task"});
  for (std::size_t i = 0; i < count + 2; ++i) {
    std::uint32_t id = 0;
    std::int64_t weight = 0;
    std::size_t predecessors = 0;
    file >> id >> weight >> predecessors;
    const TaskId task = builder.add_task(operation);
    REQUIRE(task.value() == id);
    builder.set_duration(task, std::chrono::microseconds{weight});
    for (std::size_t p = 0; p < predecessors; ++p) {
      std::uint32_t from = 0;
      file >> from;
      builder.add_edge(TaskId{from}, task);
    }
  }
  REQUIRE(file.good());
  return std::move(builder).build();
}

struct Sum {
  double excess = 0.0;  // makespan / best known - 1
  int graphs = 0;

  [[nodiscard]] double mean_percent() const { return 100.0 * excess / graphs; }
};

TEST_CASE("no schedule beats a proven optimum, and bottom_level is within 1 % of best known") {
  const auto folder = reference_data();
  if (!folder) {
    testing::skip("the Standard Task Graph Set is not there (SCHEDLAB_REFERENCE_DATA/stg)");
    return;
  }
  const std::vector<std::string> names{"bottom_level", "heft", "peft", "eager_fifo", "random"};
  std::map<std::pair<std::string, std::string>, Sum> sums;  // (policy, processors)
  std::map<std::string, Scene> scenes;
  for (auto& row : read_csv(*folder / "optimal.csv")) {
    const std::string& file = row["file"];
    const auto scene = scenes.try_emplace(file, read_graph(*folder / row["tasks"] / file)).first;
    const std::string& procs = row["procs"];
    const std::int64_t best = std::stoll(row["best_known"]);
    for (const std::string& name : names) {
      CAPTURE(file);
      CAPTURE(procs);
      CAPTURE(name);
      const Problem problem = scene->second.problem();
      const Plan plan =
          make_policy(name, {{"max_streams", std::int64_t{std::stoll(procs)}}})->plan(problem);
      const Duration makespan = simulate(problem, plan).makespan();
      CHECK(makespan >= std::chrono::microseconds{std::stoll(row["lower_bound"])});
      if (row["proven_optimal"] == "1") CHECK(makespan >= std::chrono::microseconds{best});
      Sum& sum = sums[{name, procs}];
      sum.excess += to_us(makespan) / static_cast<double>(best) - 1.0;
      ++sum.graphs;
    }
  }
  CHECK(scenes.size() == 180);
  for (const auto& [key, sum] : sums) {
    MESSAGE(key.first << " on " << key.second << " processors: " << sum.mean_percent()
                      << " % over best known, " << sum.graphs << " graphs");
  }
  const Sum& on_four = sums[{"bottom_level", "4"}];
  CHECK(on_four.graphs == 180);
  CHECK(on_four.mean_percent() <= 1.0);
  CHECK(sums[{"heft", "4"}].mean_percent() <= 3.0);
  CHECK(on_four.mean_percent() < sums[{"eager_fifo", "4"}].mean_percent());
}

TEST_CASE("bottom_level makes the makespans of another critical-path list scheduler") {
  const auto folder = reference_data();
  if (!folder) {
    testing::skip("the Standard Task Graph Set is not there (SCHEDLAB_REFERENCE_DATA/stg)");
    return;
  }
  // The reference does not state its tie rule, but lower id first gives every one of its makespans.
  double ours = 0.0;
  double theirs = 0.0;
  int equal = 0;
  int rows = 0;
  for (auto& row : read_csv(*folder / "list_scheduling_reference.csv")) {
    const Scene scene{read_graph(*folder / row["tasks"] / row["file"])};
    const std::int64_t streams = std::stoll(row["procs"]);
    const Plan plan =
        make_policy("bottom_level", {{"max_streams", streams}})->plan(scene.problem());
    const double makespan = to_us(simulate(scene.problem(), plan).makespan());
    const double reference = std::stod(row["critical_first_makespan"]);
    const double best = std::stod(row["best_known"]);
    ours += makespan / best;
    theirs += reference / best;
    equal += makespan == reference ? 1 : 0;
    ++rows;
  }
  MESSAGE("equal: " << equal << " of " << rows << ", mean over best known: ours " << ours / rows
                    << ", reference " << theirs / rows);
  CHECK(rows == 720);
  CHECK(ours / rows == doctest::Approx(theirs / rows).epsilon(0.001));
  CHECK(equal == rows);
}

}  // namespace
}  // namespace schedlab
