// SPDX-License-Identifier: Apache-2.0
// What concerns predictions for a CUDA device and needs none.
#include "sim/base/error.hpp"
#include "sim/base/file.hpp"
#include "studies/base/schema_check.hpp"
#include "studies/execution/cuda_device.hpp"
#include "studies/spec/spec.hpp"
#include "studies/spec/spec_edits.hpp"
#include "studies/validation/recording.hpp"
#include "studies/validation/validate_verb.hpp"
#include "tests/studies/execution/simulated_device.hpp"
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
using testing::SimulatedDevice;
using testing::TemporaryFolder;

const std::string workload_text =
    R"("workload": {"kind": "lstm", "layers": 2, "steps": 3, "batch": 8, "hidden": 32})";

std::string spec_text(const std::string& machine, const std::string& policies) {
  return R"({"name": "ends", )" + workload_text + R"(, "machine": )" + machine + R"(, "policy": )" +
         policies + "}";
}

std::optional<std::uint32_t> connections_of(const std::string& machine) {
  const Spec spec = parse_spec(spec_text(machine, R"("diagonal")"), "spec.json", ".");
  const Grid grid(spec);
  return cuda_connections(ScenarioSpace(spec, grid));
}

struct Session {
  TemporaryFolder folder;
  std::ostringstream out;
  std::ostringstream err;

  int validate(ValidateOptions options, const ValidateParts& parts) {
    options.spec = (folder.path() / "spec.json").string();
    return run(options, {.out = out, .err = err, .interactive = false, .stop = nullptr}, parts);
  }
  [[nodiscard]] std::string path(const std::string& name) const {
    return (folder.path() / name).string();
  }
  [[nodiscard]] json file(const std::string& name) const {
    return json::parse(read_file(path(name)));
  }
};

}  // namespace

TEST_CASE("connections of a process are those of the machine, if CUDA has so many") {
  CHECK(connections_of(R"({"base": "h200", "connections": 32})") == 32);
  CHECK(connections_of(R"("h200")") == 8);  // CUDA's default, in its machine file
  CHECK(connections_of(R"({"base": "h200", "connections": 64})") == std::nullopt);
  CHECK(connections_of(R"({"base": "h200", "connections": 0})") == std::nullopt);
  CHECK_THROWS_WITH_AS(connections_of(R"({"base": "h200", "connections": [8, 32]})"),
                       doctest::Contains("found 8 and 32"),
                       InputError);
}

TEST_CASE("a spec gets other connections and another data type, on every alternative") {
  const auto machine = [](const std::string& text) {
    return json::parse(text_with_connections(spec_text(text, R"("diagonal")"), 16))["machine"];
  };
  CHECK(machine(R"("v100")") == json::parse(R"({"base": "v100", "connections": 16})"));
  CHECK(machine(R"("a/b.json")") == json::parse(R"({"path": "a/b.json", "connections": 16})"));
  CHECK(
      machine(R"(["p100", {"base": "v100", "connections": [8, 32]}])") ==
      json::parse(R"([{"base": "p100", "connections": 16}, {"base": "v100", "connections": 16}])"));

  const std::string both =
      R"({"workload": [{"kind": "lstm"}, {"kind": "gru", "data_type": "fp32"}]})";
  CHECK(json::parse(text_with_data_type(both, "bf16", "spec.json"))["workload"] ==
        json::parse(
            R"([{"kind": "lstm", "data_type": "bf16"}, {"kind": "gru", "data_type": "bf16"}])"));
  CHECK_THROWS_WITH_AS(text_with_data_type(R"({"workload": "graph.json"})", "bf16", "spec.json"),
                       doctest::Contains("spec.json: /workload"),
                       InputError);
}

TEST_CASE("a spec gets another launch, which the options name, or keeps its own") {
  const std::string spec = R"({"policy": "heft", "launch": ["graph_launch", "sink"]})";
  CHECK(json::parse(text_with_launch(spec, "eager"))["launch"] == "eager");
  CHECK(json::parse(text_with_launch(R"({"policy": "heft"})", "eager"))["launch"] == "eager");
}

TEST_CASE("precision and connections are refused where no CUDA device is asked for") {
  Session session;
  write_file_atomically(session.path("spec.json"), spec_text(R"("h200")", R"("diagonal")"));
  const ValidateOptions options{.device = "cpu", .precision = "tf32", .out = session.path("out")};
  CHECK_THROWS_WITH_AS((void)session.validate(options, {}),
                       doctest::Contains("--precision: found --device cpu"),
                       InputError);
  CHECK_THROWS_WITH_AS(
      (void)session.validate({.connections = 8, .recording = "x", .out = session.path("out")}, {}),
      doctest::Contains("--connections: found no device"),
      InputError);
}

TEST_CASE("predictions with a device's options are made without the device") {
  Session session;
  // Four layers side by side: with one connection they wait for each other.
  write_file_atomically(session.path("spec.json"), R"({"name": "wide",
    "workload": {"kind": "lstm", "layers": 4, "steps": 8, "batch": 8, "hidden": 256, "granularity": "fine"},
    "machine": "h200", "policy": "diagonal"})");
  const auto predicted_us = [&](ValidateOptions options) {
    options.device = "cuda";
    options.predict_only = true;
    options.overwrite = true;
    options.out = session.path("predicted");
    REQUIRE(session.validate(options, {}) == exit_done);
    return read_file(session.path("predicted/predictions.csv"));
  };
  const std::string plain = predicted_us({});
  CHECK(predicted_us({.precision = "tf32"}) != plain);
  CHECK(predicted_us({.connections = 1}) != plain);
  CHECK(predicted_us({.connections = 8}) == plain);  // as the machine has
}

TEST_CASE("simulated and measured runs on a device end alike: when the host has waited for it") {
  Session session;
  write_file_atomically(session.path("spec.json"),
                        spec_text(R"("h200")", R"(["single_stream", "diagonal"])"));
  SimulatedDevice device({});
  const ValidateOptions options{.out = session.path("out"),
                                .record = session.path("recording"),
                                .repetitions = 3,
                                .warm_up = 0};
  REQUIRE(session.validate(options, {.measurer = &device, .ends_synchronized = true}) == exit_done);
  const json validation = session.file("out/validation.json");
  for (const json& scenario : validation["scenarios"]) {
    CHECK(scenario["error"] == 0.0);  // the device is the simulator
  }

  const std::string file = session.path("recording/recording.json");
  const std::string text = read_file(file);
  CHECK_NOTHROW(read_checked_json(text, recording_schema(), file));
  CHECK(json::parse(text)["ends_synchronized"] == true);
  ValidateOptions replay{.recording = session.path("recording"), .out = session.path("again")};
  REQUIRE(session.validate(replay, {}) == exit_done);
  const json again = session.file("again/validation.json");
  for (const json& scenario : again["scenarios"]) {
    CHECK(scenario["error"] == 0.0);
  }

  // A device whose runs end with the last activity is faster by what the host takes to notice.
  SimulatedDevice other({});
  const ValidateOptions without{.out = session.path("without"), .repetitions = 3, .warm_up = 0};
  REQUIRE(session.validate(without, {.measurer = &other}) == exit_done);
  const auto first = [&](const std::string& out) {
    return session.file(out + "/validation.json")["scenarios"][0]["predicted_us"].get<double>();
  };
  // wake_up_us of the H200's machine file: 4.
  CHECK(first("out") - first("without") == doctest::Approx(4.0).epsilon(0.001));
}

}  // namespace schedlab
