// SPDX-License-Identifier: Apache-2.0
#include "workloads/formats/stg.hpp"

#include "sim/base/file.hpp"
#include "sim/graph/levels.hpp"
#include "tests/comparisons/reference_data.hpp"
#include "tests/support/refusal.hpp"
#include "tests/support/temporary_folder.hpp"

#include <doctest/doctest.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <map>
#include <sstream>
#include <string>
#include <vector>

using namespace schedlab;
using schedlab::testing::has;

namespace {

std::string problem(const std::string& text) {
  return schedlab::testing::refusal([&] { (void)read_stg(text, "g.stg"); });
}

Duration work(const TaskGraph& graph) {
  Duration sum{0};
  for (const TaskId task : graph.tasks()) sum += graph.fixed_duration(task);
  return sum;
}

Duration critical(const TaskGraph& graph) {
  IdVector<TaskId, Duration> durations(graph.task_count());
  for (const TaskId task : graph.tasks()) durations[task] = graph.fixed_duration(task);
  return critical_path_length(graph, durations);
}

}  // namespace

TEST_CASE("a Standard Task Graph is read with its entry and exit") {
  const TaskGraph graph = read_stg(
      "  2\n"
      "  0  0  0\n"
      "  1  3  1  0\n"
      "  2  4  1  0\n"
      "  3  0  2  1  2\n"
      "# comments follow\n# CP Length : 4\n",
      "g.stg");
  CHECK(graph.task_count() == 4);
  CHECK(graph.edge_count() == 4);
  CHECK(work(graph) == Duration{7'000'000});  // 3 + 4 units of 1 us
  CHECK(critical(graph) == Duration{4'000'000});
  CHECK(graph.name(TaskId{2}) == "task#2");
}

TEST_CASE("a count that includes entry and exit is understood") {
  CHECK(read_stg("3\n0 0 0\n1 3 1 0\n2 0 1 1\n# end\n", "g.stg").task_count() == 3);
  CHECK(has(problem("3\n0 0 0\n1 3 1 0\n2 0 1 3\n"), "found the end of the tasks after 3"));
}

TEST_CASE("wrong Standard Task Graphs are refused with their line") {
  CHECK(has(problem(""), "line 1: found the end of the line, expected number of tasks"));
  CHECK(
      has(problem("1\n0 0 0\n1 5 1 0\n"), "found the end of the tasks after 2, expected 3 tasks"));
  CHECK(has(problem("0\n0 0 0\n2 0 1 0\n"), "line 3: found \"2\""));
  CHECK(has(problem("1\n0 0 0\n0 0 0\n2 0 1 0\n"), "line 3: found task 0, expected task 1"));
  CHECK(has(problem("0\n0 -3 0\n1 0 1 0\n"), "line 2: found \"-3\", expected weight"));
  // Longer than the 27 hours that every format can say: what is read must be writable.
  CHECK(has(problem("0\n0 318446551616 0\n1 0 1 0\n"), "line 2: found \"318446551616\""));
  CHECK(has(problem("0\n0 0 0\n1 0 1 9\n"), "line 3: found \"9\", expected predecessor"));
  CHECK(has(problem("0\n0 0 0\n1 0 1 0 7\n"), "communication costs"));
  CHECK(has(problem("0\n0 0 0\n1 0 1 0\n2 0 0\n"), "found more than 2 tasks"));
  CHECK(has(problem("4000000000\n0 0 0\n"), "number of tasks"));
  CHECK(has(problem("1\n0 0 0\n1 0 1 2\n2 0 1 1\n"), "g.stg: found the cycle"));
}

TEST_CASE("all graphs of the reference set have the published critical paths and works") {
  const auto archive = testing::reference_data("stg/stg_50.tar.gz");
  if (!archive) return;
  const std::filesystem::path data = archive->parent_path();
  const testing::TemporaryFolder folder;
  const std::filesystem::path& unpacked = folder.path();
  const std::string command = "tar -xzf '" + archive->string() + "' -C '" + unpacked.string() + "'";
  REQUIRE(std::system(command.c_str()) == 0);

  // Columns: tasks, file, procs, lower_bound, best_known, proven_optimal, critical_path,
  // total_work, ...
  std::istringstream table{read_file(data / "optimal.csv")};
  std::string line;
  std::getline(table, line);
  std::size_t graphs = 0;
  while (std::getline(table, line)) {
    std::vector<std::string> cells;
    std::istringstream row{line};
    for (std::string cell; std::getline(row, cell, ',');) cells.push_back(cell);
    REQUIRE(cells.size() >= 9);
    if (cells[2] != "2") continue;  // one row per graph
    CAPTURE(cells[1]);
    const auto path = unpacked / cells[0] / cells[1];
    const TaskGraph graph = read_stg(read_file(path), path.string());
    CHECK(graph.task_count() == 52);
    CHECK(critical(graph) == std::stoll(cells[6]) * Duration{1'000'000});
    CHECK(work(graph) == std::stoll(cells[7]) * Duration{1'000'000});
    CHECK(graph.edge_count() == std::stoull(cells[8]));
    ++graphs;
  }
  CHECK(graphs == 180);
  for (const char* name : {"fft", "fpppp", "gaussian_elimination", "robot", "sparse"}) {
    CAPTURE(name);
    const auto path = data / "app" / (std::string{name} + ".stg");
    if (!std::filesystem::exists(path)) continue;
    CHECK(read_stg(read_file(path), path.string()).task_count() > 10);
  }
}
