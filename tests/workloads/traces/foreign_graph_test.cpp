// SPDX-License-Identifier: Apache-2.0
#include "workloads/traces/foreign_graph.hpp"

#include "sim/base/error.hpp"

#include <doctest/doctest.h>
#include <fmt/format.h>

#include <string>
#include <vector>

namespace schedlab {
namespace {

ForeignGraph read(std::string_view text) {
  return read_foreign_graph(text, "foreign.json");
}

std::uint64_t problem(const ForeignGraph& graph, const std::string& name) {
  const auto found = graph.problems.entries().find(name);
  return found == graph.problems.entries().end() ? 0 : found->second.count;
}

bool depends(const TaskGraph& graph, std::string_view task, std::string_view on) {
  for (const TaskId needed : graph.predecessors(graph.find(task))) {
    if (graph.name(needed) == on) return true;
  }
  return false;
}

/// One operator of an execution trace; tensors as [id, storage, offset, elements, bytes, device].
std::string et_node(int id,
                    const std::string& name,
                    const std::string& in,
                    const std::string& in_shapes,
                    const std::string& out,
                    const std::string& out_shapes,
                    const std::string& schema) {
  return fmt::format(
      R"json({{"id": {}, "parent": 2, "name": "{}", "op_schema": "{}", "inputs": {},
              "input_shapes": {}, "input_types": ["Tensor(float)", "Tensor(float)"],
              "outputs": {}, "output_shapes": {}, "output_types": ["Tensor(float)"]}})json",
      id,
      name,
      schema,
      in,
      in_shapes,
      out,
      out_shapes);
}

const std::string frame =
    R"json({"id": 1, "parent": 1, "name": "[pytorch|profiler|execution_trace|process]", "inputs": [],
        "input_shapes": [], "input_types": [], "outputs": [], "output_shapes": [],
        "output_types": []},
       {"id": 2, "parent": 1, "name": "[pytorch|profiler|execution_trace|thread]", "inputs": [],
        "input_shapes": [], "input_types": [], "outputs": [], "output_shapes": [],
        "output_types": []})json";

std::string et(const std::vector<std::string>& nodes) {
  std::string text = R"json({"schema": "1.0.1", "nodes": [)json" + frame;
  for (const std::string& node : nodes) text += "," + node;
  return text + "]}";
}

// Storages: 10 a[64, 128], 11 b[128, 256], 12 c[64, 256]
const std::string a = R"json([1, 10, 0, 8192, 4, "cuda:0"])json";
const std::string b = R"json([2, 11, 0, 32768, 4, "cuda:0"])json";
const std::string c = R"json([3, 12, 0, 16384, 4, "cuda:0"])json";

TEST_CASE("execution trace: products by their shapes, dependencies by the buffers") {
  const ForeignGraph foreign = read(et({
      // written when it ended: the file's order is not that of the ids
      et_node(5,
              "aten::relu_",
              "[" + c + "]",
              "[[64, 256]]",
              "[" + c + "]",
              "[[64, 256]]",
              "aten::relu_(Tensor(a!) self) -> Tensor(a!)"),
      et_node(3,
              "aten::mm",
              "[" + a + "," + b + "]",
              "[[64, 128], [128, 256]]",
              "[" + c + "]",
              "[[64, 256]]",
              "aten::mm(Tensor self, Tensor mat2) -> Tensor"),
      et_node(4,
              "aten::t",
              "[" + c + "]",
              "[[64, 256]]",
              R"json([[9, 12, 0, 16384, 4, "cuda:0"]])json",
              "[[256, 64]]",
              "aten::t(Tensor(a) self) -> Tensor(a)"),
      et_node(6,
              "aten::sum",
              "[" + c + "]",
              "[[64, 256]]",
              R"json([[8, 13, 0, 1, 4, "cuda:0"]])json",
              "[[]]",
              "aten::sum(Tensor self) -> Tensor"),
  }));
  CHECK(foreign.format == ForeignFormat::execution_trace);
  CHECK(foreign.problems.empty());
  const TaskGraph& graph = foreign.graph;
  REQUIRE(graph.task_count() == 4);  // the two frames are no work
  const Operation& mm = graph.operation(graph.find("aten::mm#3"));
  CHECK(mm.kind == TaskKind::gemm);
  CHECK(mm.kernels.at(0).m == 64);
  CHECK(mm.kernels.at(0).n == 256);
  CHECK(mm.kernels.at(0).k == 128);
  CHECK(mm.flops() == Flops{2.0 * 64 * 256 * 128});
  // A view works on the host at most; the others touch memory.
  CHECK(graph.operation(graph.find("aten::t#4")).kind == TaskKind::host);
  const Operation& relu = graph.operation(graph.find("aten::relu_#5"));
  CHECK(relu.kind == TaskKind::pointwise);
  CHECK(relu.bytes_read() == Bytes{65'536});  // 16384 elements of 4 bytes
  CHECK(depends(graph, "aten::t#4", "aten::mm#3"));
  CHECK(depends(graph, "aten::relu_#5", "aten::mm#3"));  // writes what mm wrote
  CHECK(depends(graph, "aten::relu_#5", "aten::t#4"));   // which t has read
  CHECK(depends(graph, "aten::sum#6", "aten::relu_#5"));
  CHECK_FALSE(depends(graph, "aten::sum#6", "aten::mm#3"));
}

TEST_CASE("execution trace: Chakra's schema says the same with other words") {
  const ForeignGraph foreign = read(R"json({"schema": "1.0.2-chakra.0.0.4", "nodes": [
    {"id": 2, "name": "[pytorch|profiler|execution_trace|thread]", "ctrl_deps": 1,
     "inputs": {"values": [], "shapes": [], "types": []},
     "outputs": {"values": [], "shapes": [], "types": []}, "attrs": []},
    {"id": 3, "name": "aten::copy_", "ctrl_deps": 2,
     "inputs": {"values": [[1, 7, 0, 256, 4, "cuda:0"], [2, 8, 0, 256, 4, "cpu"]],
                "shapes": [[256], [256]], "types": ["Tensor(float)", "Tensor(float)"]},
     "outputs": {"values": [[1, 7, 0, 256, 4, "cuda:0"]], "shapes": [[256]],
                 "types": ["Tensor(float)"]},
     "attrs": [{"name": "op_schema", "type": "string",
                "value": "aten::copy_(Tensor(a!) self, Tensor src) -> Tensor(a!)"}]
},
    {"id": 4, "name": "nccl:all_reduce", "ctrl_deps": 2,
     "inputs": {"values": [[[1, 7, 0, 256, 4, "cuda:0"]]], "shapes": [[[256]]],
                "types": ["GenericList[Tensor(float)]"]},
     "outputs": {"values": [], "shapes": [], "types": []}, "attrs": []}]
})json");
  REQUIRE(foreign.graph.task_count() == 2);
  const Operation& copy = foreign.graph.operation(foreign.graph.find("aten::copy_#3"));
  CHECK(copy.kind == TaskKind::copy_host_to_device);
  CHECK(copy.bytes_read() == Bytes{1024});
  CHECK(depends(foreign.graph, "nccl:all_reduce#4", "aten::copy_#3"));  // a tensor in a list
  CHECK(problem(foreign, "collective_without_duration") == 1);
}

TEST_CASE("chakra graph: times and both sorts of dependencies; what is missing is counted") {
  const ForeignGraph foreign = read(R"json({"workload_name": "w", "workload_graph": [
    {"Id": 216, "Name": "aten::cat(0)", "NodeType": 4, "ctrlDeps": [3], "data_deps": [],
     "runtime": 318, "is_cpu_op": true},
    {"Id": 430, "Name": "CatArrayBatchedCopy(int)", "NodeType": 4, "data_deps": [216],
     "runtime": 4.5, "is_cpu_op": false},
    {"Id": 431, "Name": "aten::cat(1)", "NodeType": 4, "ctrlDeps": [216], "data_deps": [430],
     "is_cpu_op": true},
    {"Id": 430, "Name": "again", "data_deps": []}]
})json");
  CHECK(foreign.format == ForeignFormat::chakra_graph);
  const TaskGraph& graph = foreign.graph;
  REQUIRE(graph.task_count() == 3);
  const TaskId kernel = graph.find("CatArrayBatchedCopy(int)#430");
  CHECK(graph.fixed_duration(kernel) == 4500ns);
  CHECK(graph.operation(kernel).name == "CatArrayBatchedCopy(int)");
  CHECK(graph.operation(kernel).kind == TaskKind::fixed);
  const TaskId second = graph.find("aten::cat(1)#431");
  CHECK(graph.operation(second).name == "aten::cat");
  CHECK(graph.operation(second).kind == TaskKind::host);
  CHECK(graph.predecessors(second).size() == 2);
  CHECK(problem(foreign, "unknown_dependency") == 1);     // 3
  CHECK(problem(foreign, "task_without_duration") == 2);  // 431 and the second 430
  CHECK(problem(foreign, "duplicate_id") == 1);
}

TEST_CASE("WfFormat: versions until 1.4 and since 1.5") {
  const ForeignGraph before =
      read(R"json({"name": "w", "schemaVersion": "1.3", "workflow": {"tasks": [
    {"name": "mProject_1", "category": "mProject", "type": "compute", "runtime": 1.5, "parents": []},
    {"name": "mDiff_2", "type": "compute", "runtime": 0.25, "parents": ["mProject_1"],
     "children": []}]}})json");
  const ForeignGraph since = read(R"json({"name": "w", "schemaVersion": "1.5", "workflow": {
    "specification": {"tasks": [
      {"name": "mProject", "id": "mProject_1", "parents": [], "children": ["mDiff_2"]},
      {"name": "mDiff", "id": "mDiff_2", "parents": ["mProject_1"], "children": []}]},
    "execution": {"makespanInSeconds": 2, "tasks": [
      {"id": "mProject_1", "runtimeInSeconds": 1.5}, {"id": "mDiff_2", "runtimeInSeconds": 0.25}]}}})json");
  for (const ForeignGraph* foreign : {&before, &since}) {
    CHECK(foreign->format == ForeignFormat::wfformat);
    CHECK(foreign->problems.empty());
    const TaskGraph& graph = foreign->graph;
    REQUIRE(graph.task_count() == 2);
    CHECK(depends(graph, "mDiff_2", "mProject_1"));
    CHECK(graph.fixed_duration(graph.find("mProject_1")) == 1500ms);
    CHECK(graph.operation(graph.find("mProject_1")).name == "mProject");
  }
}

TEST_CASE("foreign graphs that are none, or damaged, are refused with what to do") {
  const auto refusal = [](std::string_view text) {
    try {
      (void)read(text);
      return std::string{};
    } catch (const InputError& error) {
      return std::string{error.what()};
    }
  };
  const auto says = [&](std::string_view text, const char* words) {
    return refusal(text).find(words) != std::string::npos;
  };
  CHECK(says(R"json({"traceEvents": [{}]})json", "schedlab import"));
  CHECK(says(R"json({"a": 1})json",
             "expected an execution trace, a Chakra graph or a WfFormat file"));
  CHECK(says(R"json({"schema": "1.0.1", "nodes": [)json", "cut off"));
  CHECK(says(R"json({"schema": "1.0.1", "nodes": 5})json", "/nodes"));
  CHECK(says(R"json({"schema": "1.0.1", "nodes": []})json", "no task"));
  CHECK(says(R"json({"workflow": {"x": 1}})json", "a list of tasks"));
  CHECK(says(
      R"json({"workload_graph": [{"Id": 1, "data_deps": [2]}, {"Id": 2, "data_deps": [1]}]})json",
      "cycle"));
  CHECK(says(R"json({"workload_graph": [{"Id": 1 "x"}]})json", "valid JSON"));
  CHECK(foreign_format(R"json({"schedlab": "graph", "tasks": []})json", "f") ==
        ForeignFormat::none);
  CHECK(foreign_format("[1]", "f") == ForeignFormat::none);
  CHECK(foreign_format(R"json({"tasks": [)json", "f") == ForeignFormat::none);
}

TEST_CASE("foreign graphs: sizes and times beyond all measure are counted, not believed") {
  const ForeignGraph foreign = read(R"json({"workload_graph": [
    {"Id": 1, "Name": "a", "runtime": -4}, {"Id": 2, "Name": "b", "runtime": 1e300}]})json");
  CHECK(problem(foreign, "time_out_of_range") == 2);
  CHECK(foreign.graph.fixed_duration(TaskId{0}) == 0us);
  const ForeignGraph huge =
      read(et({et_node(3,
                       "aten::mm",
                       R"json([[1, 10, 0, 9000000000000000000, 4, "cuda:0"]])json",
                       "[[3000000000000000, 3]]",
                       R"json([[1, 11, 0, 9, 4, "cuda:0"]])json",
                       "[[3, 3]]",
                       "")}));
  CHECK(problem(huge, "size_out_of_range") == 2);
}

}  // namespace
}  // namespace schedlab
