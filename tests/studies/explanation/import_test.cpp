// SPDX-License-Identifier: Apache-2.0
#include "sim/base/error.hpp"
#include "sim/base/file.hpp"
#include "sim/base/gzip.hpp"
#include "sim/base/json_node.hpp"
#include "studies/base/schema_check.hpp"
#include "studies/explanation/import_summary.hpp"
#include "studies/explanation/import_verb.hpp"
#include "studies/explanation/input_content.hpp"
#include "studies/scenario/graph_verb.hpp"
#include "studies/scenario/simulate_verb.hpp"
#include "tests/support/temporary_folder.hpp"
#include "tests/support/verb_session.hpp"
#include "tests/workloads/traces/chakra_text.hpp"

#include <doctest/doctest.h>
#include <nlohmann/json.hpp>

#include <filesystem>
#include <sstream>
#include <string>

namespace schedlab {
namespace {

namespace fs = std::filesystem;
using nlohmann::json;
using testing::TemporaryFolder;
using testing::VerbSession;

std::string write(const TemporaryFolder& folder, const char* name, std::string_view bytes) {
  const fs::path path = folder.path() / name;
  write_file_atomically(path, bytes);
  return path.string();
}

/// Two kernels of 10 and 20 us, one launch each.
std::string profile(int rank) {
  return R"json({"distributedInfo": {"rank": )json" + std::to_string(rank) +
         R"json(, "world_size": 2}, "traceEvents": [
    {"ph": "X", "cat": "cuda_runtime", "name": "cudaLaunchKernel", "pid": 1, "tid": 1, "ts": 0, "dur": 4,
     "args": {"correlation": 1}},
    {"ph": "X", "cat": "cuda_runtime", "name": "cudaLaunchKernel", "pid": 1, "tid": 1, "ts": 5, "dur": 4,
     "args": {"correlation": 2}},
    {"ph": "X", "cat": "kernel", "name": "gemm", "pid": 0, "tid": 7, "ts": 6, "dur": 10,
     "args": {"device": 0, "stream": 7, "correlation": 1}},
    {"ph": "X", "cat": "kernel", "name": "relu", "pid": 0, "tid": 7, "ts": 17, "dur": 20,
     "args": {"device": 0, "stream": 7, "correlation": 2}}]})json";
}

TEST_CASE(
    "import: a compressed profile is counted, and its graph and plan are files for other verbs") {
  const TemporaryFolder folder;
  VerbSession session;
  const std::string trace = write(folder, "trace.json.gz", gzip(profile(0)));
  const std::string out = (folder.path() / "out").string();
  CHECK(session.call(ImportOptions{.inputs = {trace}, .out = out, .json = true}) == exit_done);
  const json rank = session.printed().at("ranks").at(0);
  CHECK(rank.at("kernels") == 2);
  CHECK(rank.at("launches") == 2);
  CHECK(rank.at("span_us") == 37.0);  // from 0 to 17 + 20
  CHECK(rank.at("problems").empty());
  const std::string saved = read_file(fs::path{out} / "import.json");
  CHECK_NOTHROW(read_checked_json(saved, import_schema(), "import.json"));
  const std::string graph = (fs::path{out} / "graph.json").string();
  CHECK(session.call(GraphOptions{.input = graph, .machine = "ideal", .json = true}) == exit_done);
  CHECK(session.printed().at("tasks") == 2);
  CHECK(session.printed().at("serial_us") == 30.0);
  CHECK(session.printed().at("critical_path_us") == 30.0);  // one stream: one after the other
  CHECK(fs::exists(fs::path{out} / "plan.json"));
  const std::string table = read_file(fs::path{out} / "activities.csv");
  CHECK(table.find("\n0,0,7,kernel,relu,17") != std::string::npos);
}

TEST_CASE("import: several profiles are ranks, with a graph each") {
  const TemporaryFolder folder;
  VerbSession session;
  const std::string one = write(folder, "one.json", profile(1));
  const std::string zero = write(folder, "zero.json", profile(0));
  const std::string out = (folder.path() / "out").string();
  CHECK(session.call(ImportOptions{.inputs = {one, zero}, .out = out, .json = true}) == exit_done);
  CHECK(session.printed().at("ranks").at(0).at("file") == zero);
  CHECK(fs::exists(fs::path{out} / "graph_rank0.json"));
  CHECK(fs::exists(fs::path{out} / "plan_rank1.json"));
  CHECK_THROWS_WITH_AS(static_cast<void>(session.call(ImportOptions{.inputs = {one, one}})),
                       doctest::Contains("each rank once"),
                       InputError);
}

TEST_CASE("import: graphs of other programs, and our own runs") {
  const TemporaryFolder folder;
  VerbSession session;
  const std::string chakra = write(folder, "chakra.json", R"json({"workload_graph": [
    {"Id": 1, "Name": "a", "runtime": 2.5}, {"Id": 2, "Name": "b", "runtime": 4, "data_deps": [1]}]})json");
  CHECK(session.call(ImportOptions{.inputs = {chakra}, .json = true}) == exit_done);
  CHECK(session.printed().at("graph").at("format") == "chakra_graph");
  CHECK(session.printed().at("graph").at("dependencies") == 1);
  CHECK(session.call(GraphOptions{.input = chakra, .machine = "ideal", .json = true}) == exit_done);
  CHECK(session.printed().at("critical_path_us") == 6.5);
  CHECK_THROWS_WITH_AS(static_cast<void>(session.call(ImportOptions{.inputs = {chakra, chakra}})),
                       doctest::Contains("import it alone"),
                       InputError);

  const std::string spec = write(folder, "spec.json", R"json({
    "workload": {"kind": "grid", "layers": 2, "steps": 3, "duration_us": 10},
    "machine": "ideal", "cost_model": "fixed", "policy": "diagonal"})json");
  const std::string ran = (folder.path() / "run").string();
  REQUIRE(session.call(SimulateOptions{.spec = spec, .out = ran}) == exit_done);
  CHECK(session.call(ImportOptions{.inputs = {ran}, .json = true}) == exit_done);
  const json rank = session.printed().at("ranks").at(0);
  CHECK(rank.at("kernels") == 6);  // 2 layers x 3 steps
  CHECK(rank.at("launches") == 6);
  CHECK(rank.at("problems").empty());
}

/// What import --out writes fits its schema.
json saved_summary(const std::string& out) {
  const std::string text = read_file(fs::path{out} / "import.json");
  CHECK_NOTHROW(read_checked_json(text, import_schema(), "import.json"));
  return json::parse(text);
}

TEST_CASE("import: ranks of a binary Chakra trace become a plan for all, which simulates") {
  const TemporaryFolder folder;
  VerbSession session;
  // Both work, 10 and 25 us; the sum then takes 6 us, as on rank 1, which came last.
  const auto rank = [](std::uint64_t work_us, std::uint64_t sum_us) {
    return testing::chakra_trace({{.id = 1, .name = "work", .duration_us = work_us},
                                  testing::chakra_collective(2, 0, 64, "", {1}, sum_us)});
  };
  const std::string zero = write(folder, "job.0.et", rank(10, 21));
  const std::string one = write(folder, "job.1.et", rank(25, 6));
  const std::string out = (folder.path() / "out").string();
  CHECK(session.call(ImportOptions{.inputs = {one, zero}, .out = out}) == exit_done);
  CHECK(session.out.str().find("2 ranks, 1 collectives, 1 of them of all ranks") !=
        std::string::npos);
  const json graph = saved_summary(out).at("graph");
  CHECK(graph.at("file") == zero);
  CHECK(graph.at("format") == "chakra_binary");
  CHECK(graph.at("ranks") == 2);
  CHECK(fs::exists(fs::path{out} / "graph_rank1.json"));
  const json spec{{"workload", {{"kind", "file"}, {"path", (folder.path() / "job.*.et").string()}}},
                  {"machine", "ideal"},
                  {"cost_model", "fixed"},
                  {"policy", {{"name", "plan_file"}, {"path", out + "/plan.json"}}}};
  const std::string file = write(folder, "spec.json", spec.dump());
  const std::string ran = (folder.path() / "run").string();
  REQUIRE(session.call(SimulateOptions{.spec = file, .out = ran, .json = true}) == exit_done);
  CHECK(session.printed().at("makespan_us") == 31.0);
  CHECK_THROWS_WITH_AS(static_cast<void>(session.call(
                           ImportOptions{.inputs = {zero, write(folder, "p.json", profile(0))}})),
                       doctest::Contains("p.json"),
                       InputError);
}

TEST_CASE("import: a profile with the execution trace of its run") {
  const TemporaryFolder folder;
  VerbSession session;
  const std::string recorded = write(folder, "profile.json", R"json({"traceEvents": [
    {"ph": "X", "cat": "cpu_op", "name": "aten::relu", "pid": 1, "tid": 1, "ts": 0, "dur": 9,
     "args": {"External id": 1, "Record function id": 7}},
    {"ph": "X", "cat": "cuda_runtime", "name": "cudaLaunchKernel", "pid": 1, "tid": 1, "ts": 1, "dur": 4,
     "args": {"correlation": 1}},
    {"ph": "X", "cat": "kernel", "name": "relu", "pid": 0, "tid": 7, "ts": 6, "dur": 10,
     "args": {"device": 0, "stream": 7, "correlation": 1}}]})json");
  const std::string traced = write(folder, "et.json", R"json({"schema": "1.0.1", "nodes": [
    {"id": 2, "parent": 1, "rf_id": 7, "tid": 1, "name": "aten::relu",
     "inputs": [[1, 1, 0, 64, 4, "cuda:0"]], "input_shapes": [[64]], "input_types": ["Tensor(float)"],
     "outputs": [[2, 2, 0, 64, 4, "cuda:0"]], "output_shapes": [[64]],
     "output_types": ["Tensor(float)"]}]})json");
  const std::string out = (folder.path() / "out").string();
  CHECK(session.call(ImportOptions{.inputs = {recorded}, .out = out, .execution_trace = traced}) ==
        exit_done);
  CHECK(session.out.str().find("1 of 1 operators are in the profile, by their numbers") !=
        std::string::npos);
  const json joined = saved_summary(out).at("execution_trace");
  CHECK(joined.at("matched_by_id") == 1);
  CHECK(joined.at("attributed_us") == 10.0);
  const std::string graph = (fs::path{out} / "graph.json").string();
  CHECK(session.call(GraphOptions{.input = graph, .machine = "v100", .json = true}) == exit_done);
  CHECK(session.printed().at("tasks") == 1);
  CHECK(session.printed().at("serial_us") == 10.0);
  CHECK_THROWS_WITH_AS(
      static_cast<void>(session.call(ImportOptions{.inputs = {traced}, .execution_trace = traced})),
      doctest::Contains("expected one profile"),
      InputError);
}

TEST_CASE(
    "graph: of very many operations with very long names a terminal shows what takes longest") {
  const TemporaryFolder folder;
  VerbSession session;
  json nodes = json::array();
  for (int i = 1; i <= 50; ++i) {
    nodes.push_back({{"Id", i},
                     {"Name", "kernel_" + std::to_string(i) + "<" + std::string(300, 'x') + ">"},
                     {"runtime", i}});
  }
  const std::string file = write(folder, "many.json", json{{"workload_graph", nodes}}.dump());
  CHECK(session.call(GraphOptions{.input = file, .machine = "ideal"}) == exit_done);
  std::istringstream lines{session.out.str()};
  std::string line;
  while (std::getline(lines, line)) CHECK(line.size() < 140);
  const std::string text = session.out.str();
  CHECK(text.find("kernel_50<x") != std::string::npos);  // 50 us
  CHECK(text.find("  kernel_11<x") != std::string::npos);
  CHECK(text.find("  kernel_10<x") == std::string::npos);  // the 41st
  CHECK(text.find("and 10 more that take less") != std::string::npos);
}

TEST_CASE("import: what a file holds is told wherever its keys stand") {
  const TemporaryFolder folder;
  // "schema" behind more nodes than anybody looks at first.
  std::string nodes = R"json({"nodes": [)json";
  for (int i = 0; i < 3000; ++i) nodes += R"json({"name": "aten::relu", "inputs": []},)json";
  nodes.back() = ']';
  CHECK(input_content(write(folder, "et.json", nodes + R"json(, "schema": "1.0.1"})json")) ==
        InputContent::foreign_graph);
  // One list of 5 MB is passed over by none; its key tells.
  std::string graph = R"json({"workload_graph": [)json";
  while (graph.size() < 5'000'000) graph += R"json({"Id": 1, "Name": "a", "data_deps": []},)json";
  graph.back() = ']';
  CHECK(input_content(write(folder, "chakra.json", graph + "}")) == InputContent::foreign_graph);
  CHECK(input_content(write(folder, "list.json", "  [{}]")) == InputContent::profile);
  CHECK(input_content(write(folder, "g.json", R"json({"schedlab": "graph"})json")) ==
        InputContent::graph_file);
  CHECK_THROWS_WITH_AS(
      static_cast<void>(input_content(
          write(folder, "spec.json", R"json({"workload": "gnmt_like", "machine": "v100"})json"))),
      doctest::Contains("found a spec, expected what was recorded or simulated"),
      InputError);
  CHECK(input_content(write(folder, "g.txt", "digraph {}")) == InputContent::graph_file);
  CHECK(input_content(write(folder, "g.et", "2\n0 0 0\n1 3 1 0\n")) == InputContent::graph_file);
  CHECK(input_content(write(folder, "empty.et", "")) == InputContent::unknown);
  CHECK(input_content(write(folder, "words.txt", "hello")) == InputContent::unknown);
  // A run's trace is ours although a profiler's list of events is in it, also gzipped.
  const std::string trace = R"json({"otherData": {"schedlab": "trace"}, "traceEvents": []})json";
  CHECK(input_content(write(folder, "t.json.gz", gzip(trace))) == InputContent::own_trace);
  CHECK(input_content(
            write(folder, "p.json", R"json({"traceEvents": [{"name": "\"schedlab\""}]})json")) ==
        InputContent::profile);
}

}  // namespace
}  // namespace schedlab
