// SPDX-License-Identifier: Apache-2.0
// heft and peft on the task graphs of the simulator Estee (elementary shapes and Pegasus
// workflows), against the independent implementation. Only durations and dependencies are used:
// transfers and tasks of several cores are left out. Skipped without the reference data.
#include "sim/graph/levels.hpp"
#include "tests/comparisons/reference_data.hpp"
#include "tests/policies/list_makespan.hpp"
#include "tests/support/temporary_folder.hpp"

#include <doctest/doctest.h>
#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include <algorithm>
#include <cstdint>
#include <cstdlib>
#include <fstream>
#include <map>
#include <string>
#include <utility>

namespace schedlab {
namespace {

using testing::Scene;

/// One graph of the set: "d" in seconds, "inputs" as (task, output). A second becomes 1 ms.
Scene scene_of(const nlohmann::json& tasks) {
  TaskGraphBuilder builder;
  const OperationId operation = builder.add_operation({.name = "task"});
  for (const nlohmann::json& task : tasks) {
    builder.set_duration(builder.add_task(operation), from_us(1e3 * task.at("d").get<double>()));
  }
  std::uint32_t to = 0;
  for (const nlohmann::json& task : tasks) {
    std::map<std::uint32_t, bool> once;
    for (const nlohmann::json& input : task.at("inputs")) once[input.at(0).get<std::uint32_t>()];
    for (const auto& [from, ignored] : once) builder.add_edge(TaskId{from}, TaskId{to});
    ++to;
  }
  return Scene{std::move(builder).build()};
}

TEST_CASE("heft and peft make the published schedules of Estee's graphs") {
  std::map<std::pair<std::string, std::int64_t>, double> over_bound;
  int graphs = 0;
  for (const std::string set : {"elementary", "pegasus"}) {
    const auto archive = testing::reference_data("estee/" + set + ".zip");
    if (!archive) return;
    const testing::TemporaryFolder folder;
    const std::string text = (folder.path() / "set.json").string();
    const std::string command = fmt::format("unzip -p '{}' > '{}'", archive->string(), text);
    if (std::system(command.c_str()) != 0) {  // NOLINT(concurrency-mt-unsafe)
      testing::skip("unzip is not installed");
      return;
    }
    std::ifstream file{text};
    const nlohmann::json all = nlohmann::json::parse(file);
    for (const auto& [key, graph] : all.at("graph").items()) {
      const Scene scene = scene_of(nlohmann::json::parse(graph.get<std::string>()));
      const IdVector<TaskId, Duration> durations = scene.costs.durations();
      Duration work{0};
      for (const Duration d : durations) work += d;
      ++graphs;
      for (const std::int64_t processors : {2, 4, 8, 16}) {
        const double bound = std::max(to_us(critical_path_length(scene.graph, durations)),
                                      to_us(work) / static_cast<double>(processors));
        for (const char* policy : {"heft", "heft_no_insertion", "peft", "peft_no_insertion"}) {
          CAPTURE(set);
          CAPTURE(key);
          CAPTURE(policy);
          CAPTURE(processors);
          const Duration makespan = testing::list_makespan(scene, policy, processors);
          over_bound[{policy, processors}] += to_us(makespan) / bound - 1.0;
        }
      }
    }
  }
  for (const auto& [key, sum] : over_bound) {
    MESSAGE(key.first << " on " << key.second << " processors: " << 100.0 * sum / graphs
                      << " % over the larger of work and longest path, " << graphs << " graphs");
  }
  CHECK(graphs == 21);
}

}  // namespace
}  // namespace schedlab
