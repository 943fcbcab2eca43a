// SPDX-License-Identifier: Apache-2.0
#include "cli/cmd_execute.hpp"
#include "real_exec/cuda/cuda_executor.hpp"
#include "sim/base/error.hpp"
#include "sim/base/file.hpp"
#include "sim/trace/chrome_json.hpp"
#include "studies/execution/execution_device.hpp"
#include "studies/explanation/explanation.hpp"
#include "tests/support/temporary_folder.hpp"

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

const std::string small_lstm = R"({
  "name": "small", "machine": "v100",
  "workload": {"kind": "lstm", "pass": "training", "layers": 2, "steps": 3, "batch": 4, "hidden": 24},
  "policy": )";

struct Session {
  TemporaryFolder folder;
  StopFlag stop{false};
  std::ostringstream out;
  std::ostringstream err;

  [[nodiscard]] std::string spec(const std::string& text) const {
    write_file_atomically(folder.path() / "spec.json", text);
    return (folder.path() / "spec.json").string();
  }
  [[nodiscard]] std::string target() const { return (folder.path() / "run").string(); }
  int call(const ExecuteOptions& options) {
    out.str({});
    err.str({});
    return run(options, {.out = out, .err = err, .interactive = false, .stop = &stop});
  }
};

ExecuteOptions options_for(const Session& session, const std::string& text) {
  ExecuteOptions options;
  options.spec = session.spec(text);
  options.out = session.target();
  options.workers = 2;
  options.repetitions = 3;
  options.pin = false;
  options.overwrite = true;
  options.json = true;
  return options;
}

TEST_CASE("execute: what ran can be explained and simulated again with what was measured") {
  Session session;
  for (const std::string launch : {"eager", "graph_launch"}) {
    CAPTURE(launch);
    ExecuteOptions options = options_for(session, R"({
      "machine": {"base": "manycore_cpu", "front_end_us": 5}, "policy": "diagonal",
      "workload": {"kind": "lstm", "pass": "backward", "layers": 2, "steps": 3, "batch": 4, "hidden": 24},
      "launch": ")" + launch + "\"}");
    REQUIRE(session.call(options) == exit_done);
    const Explanation explanation = explain(load_explained_run(session.target()));
    CHECK(explanation.run.measured);
    CHECK(explanation.run.no_replay.empty());
    CHECK(explanation.run.graph.edge_count() > 0);  // the scenario's graph, not the trace's labels
    const WhatIfTable table = what_if(explanation.run);
    CHECK(table.trace == explanation.run.trace.makespan());
    CHECK(table.replay > Duration{0});
    if (launch != "eager") continue;
    // Really spent on every kernel, so part of each launch.
    const HostCosts& costs = explanation.run.platform.hosts[HostId{0}].costs;
    CHECK(costs.front_end == std::chrono::microseconds{5});
    for (const WhatIf& change : table.changes) {
      if (change.name == "eager_two_thread") CHECK(change.makespan.has_value());
    }
  }
}

TEST_CASE("execute: a measured trace with the files of a simulated one") {
  Session session;
  for (const char* policy : {"\"diagonal\"", "\"critical_first\""}) {
    CAPTURE(policy);
    ExecuteOptions options = options_for(session, small_lstm + policy + "}");
    CHECK(session.call(options) == exit_done);
    const json said = json::parse(session.out.str());
    CHECK(said.at("computes") == true);
    CHECK(said.at("workers") == 2);
    CHECK(said.at("makespan_us_min") <= said.at("makespan_us_median"));
    CHECK(said.at("makespan_us_median") <= said.at("makespan_us_max"));
    CHECK(said.at("utilization") > 0.0);
    CHECK(said.at("utilization") <= 1.0);
    for (const char* name : {"trace.json", "plan.json", "metrics.json", "timeline.svg"}) {
      CHECK(fs::exists(fs::path{session.target()} / name));
    }
    const json trace = json::parse(read_file(fs::path{session.target()} / "trace.json"));
    CHECK(trace.dump().find("measured cpu") != std::string::npos);
  }
}

TEST_CASE("execute: any graph runs as a proxy, and says so") {
  Session session;
  const std::string grid = R"({"machine": "ideal", "cost_model": "fixed", "policy": "diagonal",
    "workload": {"kind": "grid", "layers": 3, "steps": 4, "duration_us": 5}})";
  ExecuteOptions options = options_for(session, grid);
  options.host = "preloaded";
  CHECK(session.call(options) == exit_done);
  CHECK(json::parse(session.out.str()).at("computes") == false);

  options = options_for(session, small_lstm + "\"diagonal\"}");
  options.proxy = "shapes";
  CHECK(session.call(options) == exit_done);
  CHECK(json::parse(session.out.str()).at("computes") == false);
}

TEST_CASE("execute: what cannot run here is refused with what to do instead") {
  Session session;
  ExecuteOptions options = options_for(session, small_lstm + "\"critical_first\"}");
  options.host = "preloaded";
  CHECK_THROWS_WITH_AS(
      static_cast<void>(session.call(options)), doctest::Contains("graph_launch"), InfeasibleError);
  CHECK_FALSE(fs::exists(session.target()));
  options.device = "tpu";
  CHECK_THROWS_WITH_AS(
      static_cast<void>(session.call(options)), doctest::Contains("cpu, cuda"), InputError);
  options.device = "cpu";
  options.precision = "tf32";
  CHECK_THROWS_WITH_AS(
      static_cast<void>(session.call(options)), doctest::Contains("--device cuda"), InputError);

  std::string batched = small_lstm + "\"cudnn_like\"}";
  batched.insert(batched.find("\"kind\""), "\"input_steps\": 2, ");
  CHECK_THROWS_WITH_AS(static_cast<void>(session.call(options_for(session, batched))),
                       doctest::Contains("\"input_steps\": 1"),
                       InfeasibleError);

  const std::string captured = small_lstm + R"("critical_first", "launch": "graph_launch"})";
  options = options_for(session, captured);
  options.host = "preloaded";
  CHECK(session.call(options) == exit_done);
}

TEST_CASE("execute: a CUDA device that is not there is refused with the reason") {
  Session session;
  ExecuteOptions options = options_for(session, small_lstm + "\"critical_first\"}");
  options.device = "cuda:999";
  CHECK_THROWS_WITH_AS(
      static_cast<void>(session.call(options)), cuda_available(999).reason.c_str(), DeviceError);
  CHECK_FALSE(fs::exists(session.target()));
}

TEST_CASE("names of devices") {
  const auto kind = [](const char* word) { return device_from(word).value().kind->name; };
  CHECK(kind("cpu") == "cpu");
  CHECK(kind("cuda") == "cuda");
  CHECK(device_from("cuda")->number == 0);
  CHECK(kind("cuda:3") == "cuda");
  CHECK(device_from("cuda:3")->number == 3);
  CHECK(device_from("opencl:1")->group_units == 0);
  CHECK(device_from("opencl:1/4")->number == 1);
  CHECK(device_from("opencl:1/4")->group_units == 4);
  for (const char* word : {"",
                           "cpu:1",
                           "cuda3",
                           "cuda:",
                           "cuda:-1",
                           "cuda:1x",
                           "CUDA",
                           "cuda:0/2",
                           "opencl:/2",
                           "opencl:0/",
                           "opencl:0/0"}) {
    CAPTURE(word);
    CHECK_FALSE(device_from(word).has_value());
  }
  CHECK(device_choices(training_devices) ==
        "cpu, cuda, cuda:N, opencl, opencl:N, opencl:N/UNITS, mpi or threads");
}

TEST_CASE("execute: a stopped run throws, and nothing takes the folder's name") {
  Session session;
  session.stop = true;
  CHECK_THROWS_AS(
      static_cast<void>(session.call(options_for(session, small_lstm + "\"diagonal\"}"))),
      Interrupted);
  CHECK_FALSE(fs::exists(fs::path{session.target()} / "metrics.json"));
}

}  // namespace
}  // namespace schedlab
