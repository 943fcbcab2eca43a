// SPDX-License-Identifier: Apache-2.0
#include "tests/bench/loading.hpp"

#include "workloads/formats/graph_json.hpp"
#include "workloads/formats/graph_text.hpp"

#include <benchmark/benchmark.h>
#include <nlohmann/json.hpp>

#include <charconv>
#include <stdexcept>
#include <string_view>

namespace schedlab::bench {
namespace {

TaskGraph with_durations(const LstmScene& scene) {
  TaskGraphBuilder builder;
  for (const Operation& operation : scene.graph.operations()) builder.add_operation(operation);
  builder.reserve(scene.graph.task_count(), scene.graph.edge_count());
  for (const TaskId task : scene.graph.tasks()) {
    builder.add_task(scene.graph.operation_id(task), scene.graph.tags(task));
    builder.set_duration(task, scene.costs.duration(task));
    for (const TaskId before : scene.graph.predecessors(task)) builder.add_edge(before, task);
  }
  return std::move(builder).build();
}

/// A number at a time and nothing else: what no reader of the text can beat by much.
std::uint64_t sum_of_numbers(std::string_view text) {
  std::uint64_t sum = 0;
  const char* at = text.data();
  const char* const end = at + text.size();
  while (at != end) {
    std::uint64_t number = 0;
    const auto [behind, error] = std::from_chars(at, end, number);
    if (error == std::errc{}) {
      sum += number;
      at = behind;
    } else {
      ++at;
    }
  }
  return sum;
}

void expect_same(const TaskGraph& found, const TaskGraph& expected, const std::string& format) {
  bool same =
      found.task_count() == expected.task_count() && found.edge_count() == expected.edge_count();
  for (const TaskId task : expected.tasks()) {
    if (!same) break;
    same = found.fixed_duration(task) == expected.fixed_duration(task) &&
           found.operation_id(task) == expected.operation_id(task);
  }
  if (!same) throw std::runtime_error("another graph came back from " + format);
}

}  // namespace

GraphFiles::GraphFiles(const LstmScene& scene) {
  const TaskGraph graph = with_durations(scene);
  text_ = write_graph_text(graph);
  json_ = write_graph_json(graph);
  expect_same(read_graph_text(text_, "text"), graph, "text");
  expect_same(read_graph_json(json_, "json"), graph, "json");
}

std::vector<std::pair<std::string, std::function<void()>>> GraphFiles::readers() const {
  return {
      {"read compact text", [this] { benchmark::DoNotOptimize(read_graph_text(text_, "text")); }},
      {"scan the numbers of the text", [this] { benchmark::DoNotOptimize(sum_of_numbers(text_)); }},
      {"read JSON", [this] { benchmark::DoNotOptimize(read_graph_json(json_, "json")); }},
      {"nlohmann DOM", [this] { benchmark::DoNotOptimize(nlohmann::json::parse(json_)); }},
  };
}

}  // namespace schedlab::bench
