// SPDX-License-Identifier: Apache-2.0
#include "workloads/traces/execution_times.hpp"

#include "sim/base/error.hpp"
#include "workloads/traces/data_dependencies.hpp"
#include "workloads/traces/kineto.hpp"

#include <doctest/doctest.h>
#include <fmt/format.h>

#include <string>
#include <vector>

namespace schedlab {
namespace {

using namespace std::chrono_literals;

/// An operator of an execution trace that reads one storage and writes another one, 64 floats each.
struct Node {
  int id;
  int parent;
  int rf_id;
  std::string name;
  int reads;
  int writes;
};

std::string execution_trace(const std::vector<Node>& nodes) {
  std::string text = R"json({"schema": "1.0.1", "nodes": [
    {"id": 1, "parent": 1, "rf_id": 0, "tid": 0, "name": "[pytorch|profiler|execution_trace|process]",
     "inputs": [], "input_shapes": [], "input_types": [],
     "outputs": [], "output_shapes": [], "output_types": []})json";
  for (const Node& node : nodes) {
    text += fmt::format(
        R"json(,{{"id": {}, "parent": {}, "rf_id": {}, "tid": 1, "name": "{}", "op_schema": "",
          "inputs": [[{}, {}, 0, 64, 4, "cuda:0"]], "input_shapes": [[64]],
          "input_types": ["Tensor(float)"],
          "outputs": [[{}, {}, 0, 64, 4, "cuda:0"]], "output_shapes": [[64]],
          "output_types": ["Tensor(float)"]}})json",
        node.id,
        node.parent,
        node.rf_id,
        node.name,
        node.reads,
        node.reads,
        node.writes,
        node.writes);
  }
  return text + "]}";
}

struct Row {
  std::string name;
  int start;
  int duration;
  int rf_id;  ///< 0: not recorded
};
struct Launch {
  int start;
  std::string kernel;
  int kernel_start;
  int kernel_duration;
};

std::string profile(const std::vector<Row>& rows, const std::vector<Launch>& launches) {
  std::string text = R"json({"traceEvents": [)json";
  for (const Row& row : rows) {
    text += fmt::format(
        R"json({{"ph": "X", "cat": "cpu_op", "name": "{}", "pid": 1, "tid": 5, "ts": {}, "dur": {},
          "args": {{"External id": {}{}}}}},)json",
        row.name,
        row.start,
        row.duration,
        1000 + row.start,
        row.rf_id == 0 ? "" : fmt::format(R"json(, "Record function id": {})json", row.rf_id));
  }
  int correlation = 0;
  for (const Launch& launch : launches) {
    ++correlation;
    text += fmt::format(
        R"json({{"ph": "X", "cat": "cuda_runtime", "name": "cudaLaunchKernel", "pid": 1, "tid": 5,
          "ts": {}, "dur": 1, "args": {{"correlation": {}}}}},
        {{"ph": "X", "cat": "kernel", "name": "{}", "pid": 0, "tid": 7, "ts": {}, "dur": {},
          "args": {{"device": 0, "stream": 7, "correlation": {}}}}},)json",
        launch.start,
        correlation,
        launch.kernel,
        launch.kernel_start,
        launch.kernel_duration,
        correlation);
  }
  text.pop_back();
  return text + "]}";
}

ImportedTrace imported(const std::string& text) {
  TextSource source{text};
  return read_kineto(source, "profile.json");
}

std::uint64_t problem(const TimedExecutionTrace& joined, const std::string& name) {
  const auto& entries = joined.foreign.problems.entries();
  const auto found = entries.find(name);
  return found == entries.end() ? 0 : found->second.count;
}

// linear (outer) has two parts, t and mm; it launches a kernel itself behind mm's two.
const std::vector<Node> nodes{{2, 1, 11, "aten::linear", 10, 12},
                              {3, 2, 12, "aten::t", 11, 11},
                              {4, 2, 13, "aten::mm", 10, 12},
                              {5, 1, 14, "aten::relu", 12, 13},
                              {6, 1, 15, "aten::sum", 12, 14}};
const std::vector<Launch> launches{{20, "gemm", 30, 100},
                                   {22, "split_k", 131, 20},
                                   {32, "bias", 152, 5},
                                   {42, "relu", 158, 7},
                                   {52, "sum", 166, 9}};

std::vector<Row> rows(bool numbers) {
  const std::vector<Row> all{{"aten::linear", 10, 25, 11},
                             {"aten::t", 12, 2, 12},
                             {"aten::mm", 18, 10, 13},
                             {"aten::relu", 40, 5, 14},
                             {"aten::sum", 50, 5, 15}};
  std::vector<Row> result = all;
  for (Row& row : result) row.rf_id = numbers ? row.rf_id : 0;
  return result;
}

void expect_joined(const TimedExecutionTrace& joined) {
  CHECK(joined.counts.operators == 5);
  CHECK(joined.counts.matched() == 5);
  CHECK(joined.counts.attributed == 5);
  CHECK(joined.counts.attributed_time == 141us);  // 100 + 20 + 5 + 7 + 9
  const TaskGraph& graph = joined.foreign.graph;
  REQUIRE(graph.task_count() == 5);  // the outer one launched something, so it is a task as well
  CHECK(graph.fixed_duration(graph.find("aten::mm#4")) == 120us);
  CHECK(graph.fixed_duration(graph.find("aten::linear#2")) == 5us);
  CHECK(graph.operation(graph.find("aten::t#3")).kind == TaskKind::host);
  // relu and sum read what linear wrote last, and do not need each other.
  const auto needs = [&](const char* task) { return graph.predecessors(graph.find(task)); };
  REQUIRE(needs("aten::relu#5").size() == 1);
  CHECK(graph.name(needs("aten::relu#5")[0]) == "aten::linear#2");
  REQUIRE(needs("aten::sum#6").size() == 1);
  CHECK(graph.name(needs("aten::sum#6")[0]) == "aten::linear#2");
}

TEST_CASE("an execution trace takes its times from the profile that has its operators' numbers") {
  const TimedExecutionTrace joined = join_execution_trace(
      execution_trace(nodes), "et.json", imported(profile(rows(true), launches)));
  expect_joined(joined);
  CHECK(joined.counts.matched_by_id == 5);
  CHECK(joined.foreign.problems.empty());
}

TEST_CASE("without numbers operators match by the order of their names, past what one side lacks") {
  // op0 ... op15, each of which reads what the one before it wrote, and launches a kernel of 3 us;
  // the profile has others before them and one more, but not op10.
  std::vector<Node> chain;
  std::vector<Row> recorded{{"warm_up", 0, 5, 0}, {"op3", 6, 2, 0}};
  std::vector<Launch> kernels;
  for (int i = 0; i < 16; ++i) {
    const std::string name = fmt::format("op{}", i);
    chain.push_back({2 + i, 1, 11 + i, name, 100 + i, 101 + i});
    if (i == 12) recorded.push_back({"extra", 10 * i + 6, 2, 0});
    if (i == 10) continue;
    recorded.push_back({name, 10 * i + 10, 5, 0});
    kernels.push_back({10 * i + 11, name, 10 * i + 13, 3});
  }
  const TimedExecutionTrace joined =
      join_execution_trace(execution_trace(chain), "et.json", imported(profile(recorded, kernels)));
  CHECK(joined.counts.matched_by_id == 0);
  CHECK(joined.counts.matched_by_order == 15);
  CHECK(joined.counts.attributed == 15);
  CHECK(problem(joined, "operator_not_in_profile") == 1);
  CHECK(problem(joined, "operator_not_in_execution_trace") == 1);
  const TaskGraph& graph = joined.foreign.graph;
  REQUIRE(graph.task_count() == 16);
  CHECK(graph.edge_count() == 15);
  CHECK(graph.fixed_duration(graph.find("op9#11")) == 3us);
}

TEST_CASE("with the buffers' dependencies what one stream ran in order may change places") {
  // One more kernel that no operator launched: it stays between relu's and sum's.
  std::vector<Launch> with_own = launches;
  with_own.insert(with_own.begin() + 4, {48, "own", 165, 1});
  const ImportedTrace trace = imported(profile(rows(true), with_own));
  const ReconstructedTrace order = reconstruct(trace);
  const ReplayRank rank{trace, order};
  const ReplayModel model = make_replay({&rank, 1}, ReplayMode::copied_host_work);
  const TimedExecutionTrace joined = join_execution_trace(execution_trace(nodes), "et.json", trace);
  const TaskGraph graph = with_data_dependencies(model, joined);
  REQUIRE(graph.task_count() == 6);
  const auto needs = [&](std::string_view kernel) {
    std::vector<std::string_view> names;
    for (const TaskId task : graph.tasks()) {
      if (graph.operation(task).name != kernel) continue;
      for (const TaskId need : graph.predecessors(task)) {
        names.push_back(graph.operation(need).name);
      }
    }
    return names;
  };
  using Names = std::vector<std::string_view>;
  CHECK(needs("gemm").empty());
  CHECK(needs("split_k") == Names{"gemm"});
  CHECK(needs("bias") == Names{"split_k"});
  CHECK(needs("relu") == Names{"bias"});
  CHECK(needs("own") == Names{"relu"});
  CHECK(needs("sum") == Names{"bias", "own"});
  CHECK(graph.fixed_duration(TaskId{0}) == 100us);
}

TEST_CASE(
    "numbers of operators with other names do not count, and activities without one are said") {
  std::vector<Row> recorded = rows(true);
  recorded[3].name = "aten::gelu";
  const TimedExecutionTrace joined = join_execution_trace(
      execution_trace(nodes), "et.json", imported(profile(recorded, launches)));
  CHECK(joined.counts.matched_by_id == 4);
  CHECK(problem(joined, "record_function_of_another_name") == 1);
  CHECK(problem(joined, "operator_not_in_profile") == 1);          // relu
  CHECK(problem(joined, "operator_not_in_execution_trace") == 1);  // gelu
  CHECK(problem(joined, "activity_without_operator") == 1);        // relu's kernel
  CHECK(joined.counts.attributed == 4);
}

TEST_CASE("an execution trace of another run is refused") {
  std::vector<Row> other = rows(true);
  for (Row& row : other) row.rf_id += 1000;
  CHECK_THROWS_WITH_AS(static_cast<void>(join_execution_trace(
                           execution_trace(nodes), "et.json", imported(profile(other, launches)))),
                       doctest::Contains("none of which is in profile.json"),
                       InputError);
  CHECK_THROWS_WITH_AS(static_cast<void>(join_execution_trace(
                           "{\"a\": 1}", "x.json", imported(profile(other, launches)))),
                       doctest::Contains("expected an execution trace"),
                       InputError);
}

}  // namespace
}  // namespace schedlab
