// SPDX-License-Identifier: Apache-2.0
#include "workloads/registry.hpp"

#include "sim/base/error.hpp"
#include "sim/base/file.hpp"
#include "sim/graph/levels.hpp"
#include "tests/support/refusal.hpp"
#include "tests/support/temporary_folder.hpp"
#include "tests/workloads/formats/graph_equal.hpp"
#include "workloads/families/grid.hpp"
#include "workloads/families/random_layered.hpp"
#include "workloads/formats/graph_dot.hpp"
#include "workloads/formats/graph_json.hpp"
#include "workloads/formats/graph_text.hpp"

#include <doctest/doctest.h>

#include <algorithm>
#include <filesystem>
#include <set>
#include <string>

using namespace schedlab;
using schedlab::testing::difference;
using schedlab::testing::has;

namespace {

std::string problem(std::string_view name, const std::map<std::string, OptionValue>& given) {
  return schedlab::testing::refusal([&] { (void)make_workload(name, given); });
}

}  // namespace

TEST_CASE("every workload but a file can be made from its defaults") {
  std::set<std::string> names;
  for (const WorkloadInfo& info : workloads()) {
    CAPTURE(info.name);
    CHECK(names.insert(info.name).second);
    CHECK_FALSE(info.summary.empty());
    for (const OptionSpec& option : info.options) CHECK_FALSE(option.doc.empty());
    const bool needs_file = std::any_of(info.options.begin(),
                                        info.options.end(),
                                        [](const OptionSpec& option) { return option.required; });
    if (!needs_file) CHECK(make_workload(info.name).task_count() > 0);
  }
}

TEST_CASE("options of the LSTM reach the generator") {
  const TaskGraph graph = make_workload("lstm",
                                        {{"layers", std::int64_t{2}},
                                         {"steps", std::int64_t{3}},
                                         {"granularity", std::string{"coarse"}},
                                         {"data_type", std::string{"fp16"}}});
  CHECK(graph.task_count() == 6);
  CHECK(graph.operation(TaskId{0}).kernels[0].type == DataType::fp16);
  // auto stands for fine: five tasks a node.
  CHECK(make_workload("lstm", {{"layers", std::int64_t{2}}, {"steps", std::int64_t{3}}})
            .task_count() == 30);
}

TEST_CASE("misspelt workloads, options and words are answered with the closest spelling") {
  CHECK(has(problem("lstn", {}), "did you mean \"lstm\"?"));
  CHECK(has(problem("lstm", {{"layer", std::int64_t{2}}}), "did you mean \"layers\"?"));
  CHECK(has(problem("lstm", {{"pass", std::string{"backwards"}}}), "did you mean \"backward\"?"));
  CHECK(has(problem("lstm", {{"layers", std::int64_t{0}}}), "/layers: found 0"));
  CHECK(has(problem("file", {}), "/path"));
  CHECK(has(problem("file", {{"path", std::string{"no/such.json"}}}),
            "no/such.json: found no such file"));
  CHECK(has(problem("random_layered", {{"shortest_us", 20.0}}), "/longest_us: found 10"));
}

TEST_CASE("the grid is L + T - 1 deep and has an edge to each neighbour") {
  const TaskGraph graph = grid(4, 5, Duration{10});
  CHECK(graph.task_count() == 20);
  CHECK(graph.edge_count() == 3 * 5 + 4 * 4);
  IdVector<TaskId, Duration> durations(20, Duration{10});
  CHECK(critical_path_length(graph, durations) == Duration{80});  // 8 node-steps
  CHECK(graph.name(TaskId{0}) == "node(3,4)");
  CHECK_THROWS_AS((void)grid(30'000, 30'000, Duration{1}), InfeasibleError);
}

TEST_CASE("random graphs repeat with their seed, and only the first layer has entries") {
  const RandomLayeredSpec spec{.seed = 5, .layers = 6, .width = 7};
  const TaskGraph graph = random_layered(spec);
  CHECK(difference(graph, random_layered(spec)) == "");
  CHECK(difference(graph, random_layered({.seed = 6, .layers = 6, .width = 7})) != "");
  CHECK(graph.task_count() == 42);
  for (const TaskId task : graph.tasks()) {
    CHECK(graph.predecessors(task).empty() == (graph.tags(task).layer == 0));
    CHECK(graph.fixed_duration(task) >= Duration{1'000'000});
    CHECK(graph.fixed_duration(task) <= Duration{10'000'000});
  }
  // Without edges by chance each later task still gets exactly one.
  CHECK(random_layered({.layers = 6, .width = 7, .edge_probability = 0}).edge_count() == 35);
  CHECK(random_layered({.layers = 6, .width = 7, .edge_probability = 1}).edge_count() == 5 * 49);
}

TEST_CASE("files are recognised by extension and content, and renumbered") {
  const testing::TemporaryFolder temporary;
  const std::filesystem::path& folder = temporary.path();
  const TaskGraph graph = grid(2, 3, Duration{1'000'000});
  write_file_atomically(folder / "a.json", write_graph_json(graph));
  write_file_atomically(folder / "b.txt", write_graph_text(graph));
  write_file_atomically(folder / "c.graph", write_graph_json(graph));
  write_file_atomically(folder / "d.stg", "0\n0 1 1 1\n1 1 0\n");  // 1 before 0
  for (const char* name : {"a.json", "b.txt", "c.graph"}) {
    CAPTURE(name);
    const TaskGraph read = make_workload("file", {{"path", (folder / name).string()}});
    CHECK(difference(graph, read) == "");
  }
  const TaskGraph stg = make_workload("file", {{"path", (folder / "d.stg").string()}});
  CHECK(stg.topologically_numbered());
  CHECK(stg.name(TaskId{0}) == "task#1");
}

TEST_CASE("DOT and GraphML hold every task and edge, escaped") {
  TaskGraphBuilder builder;
  const OperationId op = builder.add_operation({.name = "op", .kernels = {}});
  (void)builder.add_task(op, {}, "say \"<b>\" \\");
  (void)builder.add_task(op, {}, "b & c");
  builder.add_edge(TaskId{0}, TaskId{1});
  const TaskGraph graph = std::move(builder).build();
  const std::string dot = write_dot(graph);
  CHECK(has(dot, "0[label=\"say \\\"<b>\\\" \\\\\""));
  CHECK(has(dot, "0->1"));
  const std::string xml = write_graphml(graph);
  CHECK(has(xml, "say &quot;&lt;b&gt;&quot; \\"));
  CHECK(has(xml, "b &amp; c"));
  CHECK(has(xml, "source=\"n0\" target=\"n1\""));
}
