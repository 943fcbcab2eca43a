// SPDX-License-Identifier: Apache-2.0
#include "workloads/formats/graph_dot.hpp"

#include "tests/support/refusal.hpp"
#include "tests/workloads/formats/graph_equal.hpp"
#include "workloads/families/dag_families.hpp"
#include "workloads/models/recurrent/lstm.hpp"
#include "workloads/models/recurrent/models.hpp"

#include <doctest/doctest.h>

#include <string>
#include <utility>

using namespace schedlab;
using schedlab::testing::difference;
using schedlab::testing::has;

namespace {

std::string problem(const std::string& text) {
  return schedlab::testing::refusal([&] { (void)read_dot(text, "g.dot"); });
}

}  // namespace

TEST_CASE("a graph written as DOT is read again, but for its tensors") {
  LstmSpec spec{.layers = 2, .steps = 3, .batch = 2, .hidden = 8};
  spec.pass = LstmPass::training;
  spec.tensors = false;
  for (const auto granularity : {Granularity::coarse, Granularity::fine}) {
    spec.granularity = granularity;
    const TaskGraph graph = lstm(spec);
    CHECK(difference(graph, read_dot(write_dot(graph), "again.dot")) == "");
  }
  const TaskGraph random = erdos_renyi(30, 0.2, {.ccr = 0.7});
  CHECK(difference(random, read_dot(write_dot(random), "again.dot")) == "");
  OpennmtSpec open;
  open.target_steps = open.source_steps = 3;
  open.model.tensors = false;
  const TaskGraph model = opennmt(open);
  CHECK(difference(model, read_dot(write_dot(model), "again.dot")) == "");

  TaskGraphBuilder builder;
  const OperationId op = builder.add_operation({.name = "a \"b\" \\",
                                                .kind = TaskKind::host,
                                                .task_class = TaskClass::update,
                                                .kernels = {},
                                                .fixed_duration = Duration{1'234'567}});
  (void)builder.add_task(
      op, {.layer = 3, .stage = 1, .step = 2, .microbatch = 0}, "say \"<b>\" \\");
  (void)builder.add_task(op, {}, "two\nlines; \\n");
  (void)builder.add_task(op, {}, "not \\N");
  builder.set_duration(TaskId{1}, Duration{1});
  builder.set_duration(TaskId{2}, Duration{99'999'999'999'999'999});  // beyond a double's digits
  builder.add_edge(TaskId{0}, TaskId{1});
  const TaskGraph odd = std::move(builder).build();
  CHECK(difference(odd, read_dot(write_dot(odd), "again.dot")) == "");
}

TEST_CASE("the grid of a kernel survives DOT, and has limits there") {
  TaskGraphBuilder builder;
  Operation two{.name = "two", .kind = TaskKind::composite, .kernels = {Kernel{}, Kernel{}}};
  two.kernels[1].grid = {.blocks = 6, .block = {512, 32, 4096}, .compute_share = 0.3F};
  (void)builder.add_task(builder.add_operation(std::move(two)), {}, "a");
  const TaskGraph graph = std::move(builder).build();
  CHECK(difference(graph, read_dot(write_dot(graph), "again.dot")) == "");

  const auto with_grid = [](const std::string& grid) {
    return problem("digraph { a [kind=composite, kernels=\"@ " + grid +
                   " fixed fp32 0 0 0 0 0 0\"] }");
  };
  CHECK(with_grid("6 1024 0 0 1") == "accepted");
  CHECK(has(with_grid("6 1025 0 0 1"), "kernels separated by"));
  CHECK(has(with_grid("6 32 0 0 1.5"), "kernels separated by"));
}

TEST_CASE("DOT as others write it: defaults, chains, subgraphs, ports, comments") {
  const TaskGraph graph = read_dot(R"(
/* a comment
   of two lines */
strict digraph "some name" {
  rankdir=TB;  // how to draw
  graph [bgcolor=white]; node [shape=box, kind=pointwise, flops=100]; edge [color=red]
# a line of a preprocessor
  load [label="read the input", duration_us=2.5, kind=fixed]
  load:out:s -> mul -> { add; sub } -> store [weight=3];
  subgraph cluster_0 { label=inner; node [class=weight_gradient]
    mul [kind=gemm, m=2 n=3; k=4] extra }
  "store" [operation="save"]
  last
}
)",
                                   "g.dot");
  REQUIRE(graph.task_count() == 7);
  CHECK(graph.name(TaskId{0}) == "read the input");
  CHECK(graph.fixed_duration(TaskId{0}) == Duration{2'500'000});
  const TaskId mul = graph.find("mul");
  CHECK(graph.operation(mul).kind == TaskKind::gemm);
  CHECK(graph.operation(mul).kernels[0].k == 4);
  // Defaults count where a node is first named: 100 FLOP, and no class.
  CHECK(graph.operation(mul).flops().count() == 100);
  CHECK(graph.operation(mul).bytes_read() == Bytes{4 * (2 * 4 + 4 * 3)});
  CHECK(graph.operation(mul).task_class == TaskClass::unclassified);
  CHECK(graph.operation(graph.find("extra")).task_class == TaskClass::weight_gradient);
  CHECK(graph.operation(graph.find("last")).task_class == TaskClass::unclassified);
  CHECK(graph.operation(graph.find("store")).name == "save");
  CHECK(graph.edge_count() == 1 + 2 + 2);
  CHECK(graph.predecessors(graph.find("store")).size() == 2);
}

TEST_CASE("product work follows from the shape") {
  const TaskGraph graph =
      read_dot("digraph { a [kind=gemm, m=2, n=3, k=4, data_type=fp16]; a -> 7 }", "g.dot");
  CHECK(graph.operation(TaskId{0}).kernels[0] == gemm_kernel(2, 3, 4, DataType::fp16, false));
  CHECK(graph.name(TaskId{1}) == "task#1");  // a number is no name
}

TEST_CASE("wrong DOT is refused with the line and what was expected") {
  CHECK(has(problem("graph { a -- b }"), "g.dot: line 1: found an undirected graph"));
  CHECK(has(problem("digraph {\n a -- b }"), "line 2: found \"--\""));
  CHECK(has(problem("digraph {\n a -> b\n"), "line 3: found the end of the file"));
  CHECK(has(problem("digraph {\n a [label=\"b]\n}"), "line 2: found a string without an end"));
  CHECK(has(problem("digraph { /* a\n"), "line 1: found a comment without an end"));
  CHECK(has(problem("digraph { a [label=<b>] }"), "an HTML string"));
  CHECK(has(problem("digraph { a\n b\n a [kind=gem, m=1] }"), "line 3"));
  CHECK(has(problem("digraph { a [kind=gem] }"), "did you mean \"gemm\"?"));
  CHECK(has(problem("digraph { a [duraton_us=1] }"), "did you mean \"duration_us\"?"));
  CHECK(has(problem("digraph { a [duration_us=-1] }"), "duration_us=\"-1\""));
  CHECK(has(problem("digraph { a [duration_us=1e30] }"), "microseconds from 0 to"));
  CHECK(has(problem("digraph { a [flops=3] }"), "a node with a kind of one kernel"));
  CHECK(has(problem("digraph { a [kind=gemm, m=3] }"), "m, n and k of a gemm"));
  CHECK(has(problem("digraph { a [kind=gemm, kernels=\"gemm fp32 1\"] }"), "kernels separated by"));
  CHECK(has(problem("digraph { a [layer=70000] }"), "a whole number from 0 to 32767"));
  CHECK(has(problem("digraph { a -> b -> a }"), "g.dot: found the cycle"));
  CHECK(has(problem("digraph { a -> a }"), "the cycle"));
  CHECK(has(problem("digraph { a } digraph { b }"), "one graph in each"));
  CHECK(has(problem("digraph { a -> }"), "a node, a subgraph or \"}\""));
  CHECK(has(problem("digraph { a ! b }"), "found \"!\""));
  CHECK(has(problem(""), "found the end of the file"));
  // Deep and wide input costs no stack and no memory.
  CHECK(has(problem("digraph " + std::string(100'000, '{')), "at most 64 levels"));
  std::string many = "{";
  for (int i = 0; i < 20'000; ++i) many += "n" + std::to_string(i) + " ";
  CHECK(has(problem("digraph { " + many + "} -> {" + many.substr(1) + "} }"), "fewer edges"));
}

TEST_CASE("DOT is known by its first word or a comment") {
  CHECK(is_dot("  \n digraph g {}"));
  CHECK(is_dot("// from elsewhere\ndigraph {}"));
  CHECK_FALSE(is_dot("schedlab-graph 1"));
  CHECK_FALSE(is_dot("11\n0 1 0"));
  CHECK(read_dot("digraph {}", "g.dot").task_count() == 0);
}
