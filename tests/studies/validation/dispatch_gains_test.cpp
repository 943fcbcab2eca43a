// SPDX-License-Identifier: Apache-2.0
#include "studies/validation/dispatch_gains.hpp"

#include "tests/studies/validation/validate_session.hpp"

#include <doctest/doctest.h>
#include <nlohmann/json.hpp>

#include <string>

namespace schedlab {
namespace {

using nlohmann::json;
using testing::SimulatedDevice;
using testing::ValidateSession;

TEST_CASE("validate: plans against workers that decide, predicted and measured") {
  ValidateSession session;
  write_file_atomically(session.folder.path() / "spec.json", R"({
    "workload": {"kind": "lstm", "pass": "backward", "granularity": "fine", "layers": [3, 4], "steps": 6, "batch": 64,
                 "hidden": 1024, "include_transfers": false},
    "machine": {"base": "manycore_cpu", "units_per_kernel": 1},
    "policy": ["single_stream",
               {"name": "successor_first", "max_streams": 3, "dispatch": ["static", "dynamic"]},
               {"name": "work_stealing", "max_streams": 3, "dispatch": ["static", "dynamic"]}]})");
  // Every task takes 20 % more or less than was predicted: plans wait for what is late.
  SimulatedDevice device({.task_cv = 0.2});
  CHECK(session.validate({.repetitions = 5}, device) == exit_done);
  const json results = session.results();
  REQUIRE(results.at("dispatch").size() == 4);
  for (const json& gain : results.at("dispatch")) {
    CHECK(gain.at("dynamic_scenario").get<int>() == gain.at("scenario").get<int>() + 1);
    // Of the simulated times only, and nothing is as late or as early as expected.
    CHECK(gain.at("predicted_gain").get<double>() == doctest::Approx(1).epsilon(0.01));
    CHECK(gain.at("measured_gain").get<double>() > 1);
    const json& dynamic =
        results.at("scenarios").at(gain.at("dynamic_scenario").get<std::size_t>());
    CHECK(dynamic.at("changed_decisions").get<double>() > 0);
    const json& planned = results.at("scenarios").at(gain.at("scenario").get<std::size_t>());
    CHECK_FALSE(planned.contains("changed_decisions"));
  }
  CHECK(session.out.str().find("What deciding at run time gains") != std::string::npos);
  CHECK(session.file("report.html").find("changed decisions") != std::string::npos);
}

TEST_CASE("validate: where durations scatter, the predicted gain is that of the samples") {
  ValidateSession session;
  write_file_atomically(session.folder.path() / "spec.json", R"({
    "workload": {"kind": "lstm", "pass": "backward", "granularity": "fine", "layers": 4, "steps": 6, "batch": 64,
                 "hidden": 1024, "include_transfers": false},
    "machine": {"base": "manycore_cpu", "units_per_kernel": 1},
    "policy": {"name": "successor_first", "max_streams": 3, "dispatch": ["static", "dynamic"]},
    "variability": {"samples": 20, "duration_cv": 0.3}})");
  SimulatedDevice device({});
  CHECK(session.validate({.repetitions = 3}, device) == exit_done);
  const json gain = session.results().at("dispatch").at(0);
  CHECK(gain.at("predicted_gain").get<double>() > 1.005);
  CHECK(gain.at("measured_gain").get<double>() < 1.005);  // nothing scatters on this device
}

TEST_CASE("validate: without two kinds of dispatch nothing is said of it") {
  ValidateSession session;
  SimulatedDevice device({});
  CHECK(session.validate({.repetitions = 3}, device) == exit_done);
  CHECK(session.results().at("dispatch").empty());
  CHECK(session.out.str().find("deciding at run time") == std::string::npos);
}

}  // namespace
}  // namespace schedlab
