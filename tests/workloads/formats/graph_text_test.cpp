// SPDX-License-Identifier: Apache-2.0
#include "workloads/formats/graph_text.hpp"

#include "tests/support/refusal.hpp"
#include "tests/workloads/formats/graph_equal.hpp"
#include "workloads/families/random_layered.hpp"
#include "workloads/formats/graph_dot.hpp"
#include "workloads/formats/graph_json.hpp"
#include "workloads/models/recurrent/lstm.hpp"

#include <doctest/doctest.h>

#include <string>
#include <string_view>

using namespace schedlab;
using schedlab::testing::difference;
using schedlab::testing::has;

namespace {

std::string problem(const std::string& text) {
  return schedlab::testing::refusal([&] { (void)read_graph_text(text, "g.txt"); });
}

const std::string head = "schedlab-graph 1\noperations 1\nfixed unclassified 5 0 op\n";

}  // namespace

TEST_CASE("a small text is read as it stands") {
  const TaskGraph graph = read_graph_text(
      "schedlab-graph 1\n"
      "operations 2\n"
      "gemm critical_matmul 0 1 gemm fp16 2 3 4 48 40 12 big product\n"
      "fixed unclassified 7000 0 wait\n"
      "tasks 3\n"
      "0 1 2 -1 0\n"
      "1 -1 -1 -1 1 0\n"
      "1 -1 -1 9000 2 0 1 @ 3 4 # last %25 one\n"
      "tensors 1\n"
      "64 2 1 0 2 1 2 W\n",
      "g.txt");
  CHECK(graph.task_count() == 3);
  CHECK(graph.edge_count() == 3);  // 0-1, 0-2, 1-2; those of the tensor are among them
  CHECK(graph.name(TaskId{0}) == "big product(1,2)");
  CHECK(graph.operation(TaskId{0}).kernels[0].n == 3);
  CHECK(graph.operation(TaskId{0}).kernels[0].type == DataType::fp16);
  CHECK(graph.fixed_duration(TaskId{1}) == Duration{7000});
  CHECK(graph.fixed_duration(TaskId{2}) == Duration{9000});
  CHECK(graph.tags(TaskId{2}).stage == 3);
  CHECK(graph.tags(TaskId{2}).microbatch == 4);
  CHECK(graph.name(TaskId{2}) == "last % one");
  CHECK(graph.tensors().persistent(TensorId{0}));
  CHECK(graph.tensors().name(TensorId{0}) == "W");
}

TEST_CASE("writing and reading gives the same graph") {
  LstmSpec spec{.layers = 3, .steps = 4, .batch = 2, .hidden = 5, .input = 7};
  spec.pass = LstmPass::training;
  const TaskGraph training = lstm(spec);
  CHECK(difference(training, read_graph_text(write_graph_text(training), "g.txt")) == "");
  const TaskGraph random = random_layered({.seed = 3});
  CHECK(difference(random, read_graph_text(write_graph_text(random), "g.txt")) == "");
  CHECK(is_graph_text(write_graph_text(random)));
}

TEST_CASE("names survive whatever they contain") {
  TaskGraphBuilder builder;
  const OperationId op = builder.add_operation({.name = " a%b\nc ", .kernels = {}});
  (void)builder.add_task(op, {}, "x # y @ 1\t<script>");
  const TaskGraph graph = std::move(builder).build();
  const TaskGraph copy = read_graph_text(write_graph_text(graph), "g.txt");
  CHECK(copy.operations()[OperationId{0}].name == " a%b\nc ");
  CHECK(copy.name(TaskId{0}) == "x # y @ 1\t<script>");
}

TEST_CASE("the grid of a kernel is read from text and JSON, and survives writing") {
  const TaskGraph graph = read_graph_text(
      "schedlab-graph 1\n"
      "operations 1\n"
      "composite unclassified 5 2 @ 6 512 32 4096 0.25 fixed fp32 0 0 0 0 0 0 gemm fp16 2 3 4 48 "
      "40 12 "
      "@ name\n"
      "tasks 1\n"
      "0 -1 -1 -1 0\n",
      "g.txt");
  const Operation& operation = graph.operations()[OperationId{0}];
  CHECK(operation.name == "@ name");
  CHECK(operation.kernels[0].grid ==
        KernelGrid{.blocks = 6, .block = {512, 32, 4096}, .compute_share = 0.25F});
  CHECK(operation.kernels[1].grid == KernelGrid{});
  CHECK(difference(read_graph_text(write_graph_text(graph), "again.txt"), graph).empty());
  CHECK(difference(read_graph_json(write_graph_json(graph), "again.json"), graph).empty());

  const auto with_grid = [](const std::string& grid) {
    return problem("schedlab-graph 1\noperations 1\nfixed unclassified 5 1 @ " + grid +
                   " fixed fp32 0 0 0 0 0 0 op\n");
  };
  CHECK(has(with_grid("1 1025 0 0 1"), "found \"1025\", expected threads: a whole number"));
  CHECK(has(with_grid("1 32 0 0 1.5"), "a compute share from 0 to 1"));
}

TEST_CASE("copies of pageable memory survive text, JSON and DOT") {
  LstmSpec spec{.layers = 1, .steps = 2, .batch = 2, .hidden = 5};
  spec.pass = LstmPass::training;
  spec.pageable = true;
  spec.tensors = false;  // which DOT loses
  const TaskGraph graph = lstm(spec);
  const Kernel& in = graph.operation(TaskId{0}).kernels.at(0);
  CHECK(in.kind == TaskKind::copy_host_to_device);
  CHECK(in.pageable);
  std::size_t pageable = 0;
  for (const Operation& operation : graph.operations()) {
    for (const Kernel& kernel : operation.kernels) pageable += kernel.pageable ? 1 : 0;
  }
  CHECK(pageable == 2);  // transfer_in, transfer_out
  CHECK(difference(graph, read_graph_text(write_graph_text(graph), "g.txt")) == "");
  CHECK(difference(graph, read_graph_json(write_graph_json(graph), "g.json")) == "");
  CHECK(difference(graph, read_dot(write_dot(graph), "g.dot"), true) == "");
  const std::string text =
      "schedlab-graph 1\noperations 1\ncopy_host_to_device transfer 0 1 ~ @ 1 32 0 0 1 "
      "copy_host_to_device fp32 0 0 0 0 8 8 op\ntasks 1\n0 -1 -1 -1 0\n";
  CHECK(read_graph_text(text, "g.txt").operation(TaskId{0}).kernels.at(0).pageable);
}

TEST_CASE("an empty graph is a graph") {
  const TaskGraph graph = read_graph_text("schedlab-graph 1\noperations 0\ntasks 0\n", "g.txt");
  CHECK(graph.task_count() == 0);
  CHECK(difference(graph, read_graph_text(write_graph_text(graph), "g.txt")) == "");
}

TEST_CASE("wrong texts are refused with line, found and expected") {
  CHECK(problem("nonsense") ==
        "g.txt: line 1: found another first word, expected \"schedlab-graph 1\"");
  CHECK(has(problem("schedlab-graph 2\n"), "line 1: found \"2\", expected version of the format"));
  CHECK(has(problem(head + "tasks 1\n1 0 0 -1 0\n"),
            "line 5: found \"1\", expected operation: a whole number from 0 to 0"));
  CHECK(
      has(problem(head + "tasks 1\n0 0 0 -1 1 5\n"), "line 5: found \"5\", expected predecessor"));
  CHECK(has(problem(head + "tasks 1\n0 0 0 -2 0\n"),
            "line 5: found \"-2\", expected duration in ps"));
  CHECK(has(problem(head + "tasks 1\n0 0 0 -1 0 junk\n"),
            "found \"junk\", expected the end of the line"));
  CHECK(has(problem(head + "tasks 1\n0 0 0 -1\n"), "found the end of the line"));
  CHECK(has(problem(head + "tasks 2\n0 0 0 -1 0\n"), "line 6"));  // truncated
  CHECK(has(problem(head + "tasks 4000000000\n"), "count of lines that follow"));
  CHECK(has(problem(head + "tasks 99999999999999999999999\n"), "count of lines that follow"));
  CHECK(has(problem("schedlab-graph 1\noperations 1\nfixd unclassified 5 0 op\n"),
            "did you mean \"fixed\"?"));
  CHECK(has(problem(head + "tasks 1\n0 0 0 -1 0 # %G1\n"), "a lone \"%\""));
  CHECK(has(problem(head + "tasks 2\n0 0 0 -1 0\n0 0 0 -1 0\ntensors 1\n4 0 2 0 1 0\n"),
            "found 2 writers"));
}

TEST_CASE("plain lines are read as the careful way reads them, right or wrong") {
  // A blank before the line sends it the careful way.
  const std::string before = head + "tasks 3\n0 0 0 -1 0\n";
  const std::string line = "0 12 345 678901234 2 0 2";
  const std::string behind = "\n0 -1 -1 -1 0\n";
  const auto graph = [](const std::string& text) { return read_graph_text(text, "g.txt"); };
  CHECK(graph(before + line + behind).tags(TaskId{1}).layer == 12);
  std::size_t accepted = 0;
  for (std::size_t at = 0; at < line.size(); ++at) {
    for (const char c : std::string_view{"0179 -\n\t\r@#x\xFF"}) {
      for (const bool insert : {false, true}) {
        std::string changed = line;
        insert ? changed.insert(at, 1, c) : changed.replace(at, 1, 1, c);
        CAPTURE(changed);
        const std::string found = problem(before + changed + behind);
        REQUIRE(found == problem(before + " " + changed + behind));
        if (found != "accepted") continue;
        ++accepted;
        REQUIRE(difference(graph(before + changed + behind),
                           graph(before + " " + changed + behind)) == "");
      }
    }
  }
  CHECK(accepted > 50);
}

TEST_CASE("a last line without an end is read") {
  CHECK(read_graph_text(head + "tasks 2\n0 0 0 -1 0\n0 0 0 9 1 0", "g.txt").edge_count() == 1);
}

TEST_CASE("a cycle is refused and named") {
  const std::string message = problem(head + "tasks 2\n0 0 0 -1 1 1\n0 0 1 -1 1 0\n");
  CHECK(has(message, "g.txt: found the cycle"));
  CHECK(has(message, "op(0,0)"));
  CHECK(has(message, "op(0,1)"));
}

TEST_CASE("durations whose sum overflows are refused") {
  std::string text = head + "tasks 30\n";
  for (int i = 0; i < 30; ++i) text += "0 0 0 100000000000000000 0\n";
  CHECK(has(problem(text), "26 days"));
}

TEST_CASE("a short file cannot make a huge graph through a tensor") {
  // 2000 writers times 2000 readers would be four million edges from a file of 40 kB.
  std::string text = head + "tasks 4000\n";
  for (int i = 0; i < 4000; ++i) text += "0 0 0 -1 0\n";
  text += "tensors 1\n4 1 2000";
  for (int i = 0; i < 2000; ++i) text += " " + std::to_string(i);
  text += " 2000";
  for (int i = 2000; i < 4000; ++i) text += " " + std::to_string(i);
  CHECK(has(problem(text + "\n"), "too many pairs"));
}
