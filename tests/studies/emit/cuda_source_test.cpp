// SPDX-License-Identifier: Apache-2.0
#include "studies/emit/cuda_source.hpp"

#include "tests/studies/emit/emitted_program.hpp"
#include "tests/support/refusal.hpp"
#include "tests/support/skip.hpp"

#include <doctest/doctest.h>

#include <algorithm>
#include <string>

namespace schedlab {
namespace {

using testing::emitted_plan;
using testing::has;
using testing::PlannedCalls;
using testing::RecordedPlan;
using testing::RecordedProgram;
using testing::run_recorded;

/// Compiles and runs what is emitted of a spec; its calls must be the plan's.
RecordedProgram expect_equal_calls(const std::string& spec, bool work) {
  CAPTURE(spec);
  const EmittedPlan emitted = emitted_plan(spec);
  const RecordedProgram program = run_recorded(cuda_source(emitted, {}).text, work);
  CAPTURE(program.printed);
  REQUIRE(program.compiled);
  CHECK(program.exit_code == 0);
  const RecordedPlan recorded(program.log, emitted.plan.event_count);
  const PlannedCalls planned(emitted);
  CHECK(recorded.start == planned.start);
  CHECK(recorded.calls == planned.calls);
  CHECK(recorded.graphs == planned.graphs);
  // Every task has put something into its stream.
  CHECK(recorded.pieces.size() == emitted.graph().task_count());
  return program;
}

std::string with(const std::string& workload,
                 const std::string& policy,
                 const std::string& launch) {
  return R"({"workload": )" + workload + R"(, "machine": "h200", "policy": )" + policy +
         R"(, "launch": ")" + launch + R"("})";
}

constexpr const char* small_lstm =
    R"({"kind": "lstm", "layers": 2, "steps": 3, "batch": 4, "hidden": 16, "input": 8})";

}  // namespace

TEST_CASE("an emitted pass makes the plan's calls, eagerly and as a device graph") {
  for (const char* launch : {"eager", "graph_launch"}) {
    const RecordedProgram program =
        expect_equal_calls(with(small_lstm, "\"critical_first\"", launch), true);
    CHECK(has(program.printed, "check: passed"));
    CHECK(has(program.printed, "l1_dwh"));
    CHECK(!has(program.printed, "nan"));
  }
}

TEST_CASE("cells, passes, directions and precisions are emitted") {
  const std::string sizes = R"("layers": 2, "steps": 3, "batch": 4, "hidden": 16, )";
  for (
      const char* rest :
      {R"("kind": "lstm", "pass": "training", "optimizer": "adam", "data_type": "tf32")",
       R"("kind": "gru", "bidirectional": "all", "granularity": "matmul")",
       R"("kind": "gru", "reset": "before", "pass": "training", "accumulation": "partial", "host_memory": "pageable")",
       R"("kind": "lstm", "pass": "forward", "data_type": "bf16", "granularity": "coarse")",
       R"("kind": "lstm", "data_type": "bf16", "accumulation": "batched", "accumulation_steps": 2)"}) {
    const RecordedProgram program =
        expect_equal_calls(with("{" + sizes + rest + "}", "\"heft\"", "eager"), true);
    CHECK(has(program.printed, "check: passed"));
  }
}

TEST_CASE("a program that leaves a task of the plan out fails its own check") {
  const EmittedPlan emitted = emitted_plan(with(small_lstm, "\"heft\"", "eager"));
  std::string text = cuda_source(emitted, {}).text;
  const std::size_t at = text.find("  tasks::weight_2_1_1(lanes[");
  REQUIRE(at != std::string::npos);
  text.erase(at, text.find('\n', at) - at);
  const RecordedProgram program = run_recorded(text, true);
  REQUIRE(program.compiled);
  CHECK(program.exit_code != 0);
  CHECK(has(program.printed, "check: FAILED"));
}

TEST_CASE("workloads without kernels of their own become proxy kernels") {
  for (const char* workload :
       {R"({"kind": "lstm", "layers": 2, "steps": 3, "data_type": "fp16"})",
        R"({"kind": "alexnet", "batch": 2})",
        R"({"kind": "gnmt", "layers": 2, "source_steps": 4, "target_steps": 4})"}) {
    const RecordedProgram program = expect_equal_calls(with(workload, "\"heft\"", "eager"), false);
    CHECK(has(program.printed, "the tasks are proxy kernels"));
  }
}

TEST_CASE("the legacy default stream and streams of other kinds keep what they are") {
  const std::string spec =
      with(small_lstm, R"({"name": "diagonal", "streams_per_iteration": true})", "eager");
  const RecordedProgram program = expect_equal_calls(
      spec.substr(0, spec.size() - 1) + R"(, "default_stream": "legacy"})", true);
  CHECK(has(program.printed, "check: passed"));
}

TEST_CASE("names of tasks and operations are kept, whatever they are") {
  const testing::TemporaryFolder folder;
  const auto file = folder.path() / "graph.json";
  write_file_atomically(file, R"graph({"schedlab": "graph", "version": 1,
    "operations": [{"name": "new"}, {"name": "void f<4>(int \\ \"??/\") /* "}, {"name": "\u00e9"}],
    "tasks": [{"name": "int", "operation": 0, "duration_us": 1},
              {"name": "a\"b\\ ??/", "operation": 1, "duration_us": 1, "needs": [0]},
              {"name": "\u00fc", "operation": 2, "duration_us": 1},
              {"name": "a(b)", "operation": 0, "duration_us": 1},
              {"name": "a b", "operation": 0, "duration_us": 1}]})graph");
  const std::string workload = R"({"kind": "file", "path": ")" + file.string() + "\"}";
  expect_equal_calls(with(workload, "\"heft\"", "eager"), false);
}

TEST_CASE("programmatic launches and edges are emitted as attributes of the kernels") {
  for (const char* mode : {"eager", "graph_launch"}) {
    std::string spec = with(
        R"({"kind": "lstm", "pass": "training", "layers": 2, "steps": 3, "batch": 4, "hidden": 16, "input": 8})",
        "\"single_stream\"",
        mode);
    const std::string launch = fmt::format("\"launch\": \"{}\"", mode);
    spec.replace(spec.find(launch),
                 launch.size(),
                 fmt::format(R"("launch": {{"name": "{}", "programmatic": "own_kernels"}})", mode));
    CHECK(emitted_plan(spec).plan.programmatic());
    const RecordedProgram program = expect_equal_calls(spec, true);
    CHECK(has(program.printed, "check: passed"));
  }
}

TEST_CASE("a graph that is launched again has its rows one after another") {
  std::string spec = with(small_lstm, "\"heft\"", "graph_launch");
  const std::string launch = "\"graph_launch\"";
  spec.replace(spec.find(launch), launch.size(), R"({"name": "graph_launch", "runs": 3})");
  const RecordedProgram program = expect_equal_calls(spec, true);
  CHECK(std::count_if(program.log.begin(), program.log.end(), [](const std::string& line) {
          return line.rfind("instantiate", 0) == 0;
        }) == 3);
}

TEST_CASE("what one program for one device cannot do is refused by name") {
  const auto refused = [](const std::string& spec) -> std::string {
    try {
      return cuda_source(emitted_plan(spec), {}).text;
    } catch (const InfeasibleError& error) {
      return error.what();
    }
  };
  const std::string pageable =
      R"({"kind": "lstm", "layers": 2, "steps": 3, "pass": "training", "host_memory": "pageable"})";
  CHECK(has(refused(with(pageable, "\"single_stream\"", "graph_launch")), "pageable"));
  CHECK(has(refused(with(R"({"kind": "lstm", "layers": 2, "steps": 3, "data_type": "int8"})",
                         "\"single_stream\"",
                         "eager")),
            "int8"));
}

TEST_CASE("nvcc compiles what is emitted") {
  if (std::string{SCHEDLAB_NVCC}.empty()) return testing::skip("no nvcc");
  const testing::TemporaryFolder folder;
  const auto at = [&](const char* name) { return (folder.path() / name).string(); };
  const EmittedPlan emitted = emitted_plan(with(small_lstm, "\"critical_first\"", "graph_launch"));
  write_file_atomically(at("emitted.cu"), cuda_source(emitted, {}).text);
  const std::string compile =
      fmt::format("{} -std=c++20 -arch={} -Werror all-warnings -c {} -o {} > {} 2>&1",
                  SCHEDLAB_NVCC,
                  "sm_90",
                  at("emitted.cu"),
                  at("emitted.o"),
                  at("errors"));
  const int status = std::system(compile.c_str());
  CAPTURE(read_file(at("errors")));
  CHECK(status == 0);
}

}  // namespace schedlab
