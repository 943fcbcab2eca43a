// SPDX-License-Identifier: Apache-2.0
#include "workloads/formats/graph_json.hpp"

#include "tests/support/refusal.hpp"
#include "tests/workloads/formats/graph_equal.hpp"
#include "workloads/families/random_layered.hpp"
#include "workloads/models/recurrent/lstm.hpp"

#include <doctest/doctest.h>

#include <string>
#include <string_view>
#include <utility>

using namespace schedlab;
using schedlab::testing::difference;
using schedlab::testing::has;

namespace {

TaskGraph read(const std::string& text) {
  return read_graph_json(text, "g.json");
}

/// A graph file around `tasks` (the inside of the array).
std::string file(const std::string& tasks, const std::string& more = {}) {
  return R"({"schedlab": "graph", "version": 1, "operations": [{"name": "op", "duration_us": 2}], "tasks": [)" +
         tasks + "]" + more + "}";
}

std::string problem(const std::string& text) {
  return schedlab::testing::refusal([&] { (void)read(text); });
}

}  // namespace

TEST_CASE("names and durations are enough for a graph") {
  const TaskGraph graph = read(R"({"schedlab": "graph", "version": 1, "tasks": [
      {"name": "c", "duration_us": 0.000001, "needs": ["a", "b"]},
      {"name": "a", "duration_us": 5},
      {"name": "b", "duration_us": 2.5, "needs": ["a"]}]})");
  CHECK(graph.task_count() == 3);
  CHECK(graph.edge_count() == 3);
  CHECK(graph.fixed_duration(graph.find("c")) == Duration{1});
  CHECK(graph.fixed_duration(graph.find("b")) == Duration{2'500'000});
  CHECK(graph.predecessors(graph.find("c")).size() == 2);
}

TEST_CASE("operations, tags and tensors are read") {
  const TaskGraph graph = read(R"({
    "schedlab": "graph", "version": 1, "description": "two tasks",
    "operations": [{"name": "product", "kind": "gemm", "class": "weight_gradient",
      "kernels": [{"kind": "gemm", "data_type": "bf16", "m": 2, "n": 3, "k": 4, "flops": 48,
                   "bytes_read": 40, "bytes_written": 12}]}],
    "tasks": [{"operation": "product", "layer": 1, "step": 2, "stage": 3, "microbatch": 4},
              {"operation": 0, "name": "second", "needs": [0]}],
    "tensors": [{"name": "W", "bytes": 64, "accumulate": true, "persistent": true,
                 "written_by": [0, "second"], "read_by": []}]})");
  CHECK(graph.operation(TaskId{0}).task_class == TaskClass::weight_gradient);
  CHECK(graph.operation(TaskId{0}).kernels[0].k == 4);
  CHECK(graph.operation(TaskId{0}).kernels[0].type == DataType::bf16);
  CHECK(graph.tags(TaskId{0}).microbatch == 4);
  CHECK(graph.tensors().writers(TensorId{0}).size() == 2);
  CHECK(graph.tensors().accumulate(TensorId{0}));
}

TEST_CASE("writing and reading gives the same graph, in JSON") {
  LstmSpec spec{.layers = 3, .steps = 4, .batch = 2, .hidden = 5, .input = 7};
  spec.pass = LstmPass::training;
  const TaskGraph training = lstm(spec);
  CHECK(difference(training, read(write_graph_json(training))) == "");
  const TaskGraph random = random_layered({.seed = 3});
  CHECK(difference(random, read(write_graph_json(random))) == "");
  TaskGraphBuilder builder;
  const OperationId op = builder.add_operation({.name = "a\"\\\n\x01", .kernels = {}});
  (void)builder.add_task(op, {}, "</script>\t\xC3\xA9");
  const TaskGraph odd = std::move(builder).build();
  CHECK(difference(odd, read(write_graph_json(odd))) == "");
}

TEST_CASE("a name that does not exist is refused with its pointer and the closest name") {
  const std::string message = problem(
      file(R"-({"name": "cell(3,8)"}, {"name": "x", "needs": ["cell(3,8)", "cell(3,9)"]})-"));
  CHECK(has(message, "g.json: /tasks/1/needs/1: found \"cell(3,9)\", but no task is named so"));
  CHECK(has(message,
            "this file has 2 tasks, 2 of them with a name; the closest name is \"cell(3,8)\""));
}

TEST_CASE("wrong JSON is refused with pointer, found and expected") {
  CHECK(has(problem(file(R"({"needs": [7]})")),
            "/tasks/0/needs/0: found 7, expected an index below 1, the number of tasks"));
  CHECK(has(problem(file(R"({"needs": [-1]})")), "/tasks/0/needs/0: found -1"));
  CHECK(has(problem(file(R"({"needs": 3})")), "/tasks/0/needs: found 3, expected an array"));
  CHECK(has(problem(file(R"({"needs": [1.5]})")), "/tasks/0/needs/0: found 1.5"));
  CHECK(has(problem(file(R"({"duration_us": -4})")),
            "/tasks/0/duration_us: found -4, expected a number from 0"));
  CHECK(has(problem(file(R"({"duration_us": 1e300})")), "/tasks/0/duration_us: found 1e300"));
  CHECK(has(problem(file(R"({"durations_us": 4})")), "did you mean \"duration_us\"?"));
  CHECK(has(problem(file(R"({"name": "a"}, {"name": "a"})")),
            "/tasks/1/name: found \"a\", which is the name of task 0 already"));
  CHECK(has(problem(file(R"({"operation": "po"})")),
            "/tasks/0/operation: found \"po\", but no operation is named so"));
  CHECK(has(problem(file(R"({"operation": 1})")), "/tasks/0/operation: found 1"));
  CHECK(has(problem(file(R"({"layer": 40000})")), "/tasks/0/layer: found 40000"));
  CHECK(has(problem(file("4")), "/tasks/0: found 4, expected an object"));
  CHECK(has(problem(file("", R"(, "tensors": [{"bytes": 4, "written_by": ["a"]}])")),
            "/tensors/0/written_by/0: found \"a\""));
  CHECK(has(problem(file("{},{}", R"(, "tensors": [{"bytes": 4, "written_by": [0, 1]}])")),
            "/tensors/0/written_by: found 2 writers"));
  CHECK(has(problem(R"({"schedlab": "trace", "version": 1})"),
            "/schedlab: found \"trace\", expected \"graph\""));
  CHECK(has(problem(R"({"schedlab": "graph", "version": 2})"), "/version: found 2"));
  CHECK(has(problem(R"({"version": 1, "tasks": []})"), "found no \"schedlab\" key"));
  CHECK(has(problem(R"({"schedlab": "graph", "operations": [{"kind": "gem"}]})"),
            "/operations/0/kind: found \"gem\""));
  CHECK(has(problem(R"({"schedlab": "graph", "operations": [{"kernels": [{"m": "2"}]}]})"),
            "/operations/0/kernels/0/m: found \"2\""));
}

TEST_CASE("the grid of a kernel in JSON has limits") {
  const auto with = [](const std::string& member) {
    return problem(R"({"schedlab":"graph","version":1,"operations":[{"name":"k","kernels":[{)" +
                   member + R"(}]}],"tasks":[]})");
  };
  CHECK(has(with(R"("threads": 2000)"), "/operations/0/kernels/0/threads: found 2000"));
  CHECK(has(with(R"("compute_share": 2)"), "/operations/0/kernels/0/compute_share: found 2"));
  CHECK(has(with(R"("register": 2)"), "did you mean \"registers\"?"));
}

TEST_CASE("a cycle in JSON is refused and named") {
  const std::string message =
      problem(file(R"({"name": "a", "needs": ["b"]}, {"name": "b", "needs": ["a"]})"));
  CHECK(has(message, "g.json: /tasks: found the cycle"));
  CHECK(has(message, "a -> b"));
  CHECK(has(problem(file(R"({"name": "self", "needs": [0]})")), "self -> self"));
}

TEST_CASE("a list of plain tasks is read as the full parser reads it, right or wrong") {
  // With another order of keys in the first task the whole list goes to the full parser.
  const std::string plain = R"({"operation":0,"layer":1},)";
  const std::string shuffled = R"({"layer":1,"operation":0},)";
  const std::string task =
      R"({"operation":0,"layer":2,"step":30,"stage":4,"microbatch":5,"duration_us":6.25,"needs":[0,2]})";
  const std::string last = R"(,{"operation":0})";
  CHECK(difference(read(file(plain + task + last)), read(file(shuffled + task + last))) == "");
  CHECK(read(file(plain + task + last)).fixed_duration(TaskId{1}) == Duration{6'250'000});
  CHECK(problem(file(plain + task + ",")) != "accepted");
  std::size_t accepted = 0;
  for (std::size_t at = 0; at < task.size(); ++at) {
    for (const char c : std::string_view{"0915.-e\"\\{}[]:, \n\x01\xC3"}) {
      for (const bool insert : {false, true}) {
        std::string changed = task;
        insert ? changed.insert(at, 1, c) : changed.replace(at, 1, 1, c);
        CAPTURE(changed);
        const std::string found = problem(file(plain + changed + last));
        REQUIRE(found == problem(file(shuffled + changed + last)));
        if (found != "accepted") continue;
        ++accepted;
        REQUIRE(difference(read(file(plain + changed + last)),
                           read(file(shuffled + changed + last))) == "");
      }
    }
  }
  CHECK(accepted > 100);
}

TEST_CASE("plain tasks stand anywhere in the file and go on as others") {
  const std::string operations = R"("operations": [{"name": "tasks", "duration_us": 2}])";
  const std::string tasks =
      R"("tasks" : [ {"operation": 0, "needs": [ 1 ]}, {"operation" :0}, {"name": "x", "needs": [0]},
                     {"operation": 0, "layer": 3} ])";
  const TaskGraph graph = read("{" + operations + ", \"description\": \"\\\"tasks\\\": [{\"," +
                               tasks + R"(, "version": 1, "schedlab": "graph"})");
  CHECK(graph.task_count() == 4);
  CHECK(graph.predecessors(TaskId{0}).size() == 1);  // a later task
  CHECK(graph.name(TaskId{2}) == "x");
  CHECK(graph.tags(TaskId{3}).layer == 3);
  const std::string head = "{\"schedlab\": \"graph\", " + operations + ", ";
  CHECK(has(problem(head + tasks + ", " + tasks + "}"), "/tasks: found tasks for a second time"));
  CHECK(has(problem(head + R"("tasks": [{"operation": 0}, {"operation": 0}], "tensor": []})"),
            "did you mean \"tensors\"?"));
  CHECK(has(problem(head + R"("tasks": [{"operation": 0, "needs": [9]}, {"operation": 0}]})"),
            "/tasks/0/needs/0: found 9, expected an index below 2"));
  CHECK(has(problem(head + R"("tasks": [{"operation": 0}, {"operation": 1}, {"operation": 0}]})"),
            "/tasks/1/operation: found 1"));
  CHECK(has(problem("{" + operations + R"(, "tasks": [{"operation": 0}, {"operation": 0}]})"),
            "found no \"schedlab\" key"));
}

TEST_CASE("broken and hostile JSON is refused, never crashes") {
  const std::string good = file(R"({"name": "a", "duration_us": 1}, {"needs": ["a", 0]})");
  CHECK(problem(good) == "accepted");
  for (std::size_t length = 0; length < good.size(); ++length) {
    CAPTURE(length);
    CHECK(problem(good.substr(0, length)) != "accepted");
  }
  const std::string plain = file(R"({"operation":0},{"operation":0,"needs":[0]},{"operation":0})");
  CHECK(problem(plain) == "accepted");
  for (std::size_t length = 0; length < plain.size(); ++length) {
    CAPTURE(length);
    CHECK(problem(plain.substr(0, length)) != "accepted");
  }
  CHECK(problem(good + "x") != "accepted");
  CHECK(problem(std::string(100'000, '[')) != "accepted");
  CHECK(problem(R"({"schedlab": )" + std::string(100'000, '[')) != "accepted");
  CHECK(problem("{\"schedlab\": \"gra\xFFph\"}") != "accepted");
  CHECK(problem("[]") != "accepted");
  CHECK(problem("null") != "accepted");
}
