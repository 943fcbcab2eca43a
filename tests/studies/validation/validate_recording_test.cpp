// SPDX-License-Identifier: Apache-2.0
// What a validation keeps: recordings, predictions without a device, and what is left of one that
// was stopped or could not run everything.
#include "sim/base/error.hpp"
#include "sim/base/file.hpp"
#include "studies/validation/recording.hpp"
#include "tests/studies/validation/validate_session.hpp"

#include <doctest/doctest.h>
#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include <algorithm>
#include <filesystem>
#include <string>

namespace schedlab {
namespace {

namespace fs = std::filesystem;
using nlohmann::json;
using testing::SimulatedDevice;
using testing::small_spec;
using testing::ValidateSession;

TEST_CASE("validate: a recording replays to the same figures, without a device") {
  ValidateSession session;
  SimulatedDevice device(
      {.factor = [](const Operation&, Duration) { return 1.03; }, .task_cv = 0.02});
  const std::string recording = (session.folder.path() / "recording").string();
  CHECK(session.validate({.record = recording}, device) == exit_done);
  const std::size_t runs = device.order.size();
  ValidateSession::expect_fit(fs::path{recording} / "recording.json", recording_schema());
  const json first = session.results();
  const std::string first_runs = session.file("runs.csv");
  CHECK(session.validate({.recording = recording, .overwrite = true}, ValidateParts{}) ==
        exit_done);
  CHECK(device.order.size() == runs);
  CHECK(session.results() == first);
  CHECK(session.file("runs.csv") == first_runs);
}

TEST_CASE("validate: predictions alone need no device, and are those that a validation compares") {
  ValidateSession session;
  SimulatedDevice device({});
  CHECK(session.validate({.predict_only = true}, device) == exit_done);
  const std::string alone = session.file("predictions.csv");
  CHECK_FALSE(fs::exists(session.folder.path() / "out" / "validation.json"));
  CHECK(session.validate({.repetitions = 2, .overwrite = true}, device) == exit_done);
  const json scenarios = session.results().at("scenarios");
  CHECK(std::count(alone.begin(), alone.end(), '\n') == 7);  // a header and 6 scenarios
  for (const json& scenario : scenarios) {
    // As printed: the shortest text that reads back as the same number.
    CHECK(alone.find(fmt::format(",{},", scenario.at("predicted_us").get<double>())) !=
          std::string::npos);
  }
}

TEST_CASE("validate: a recording of another spec is refused, with the place") {
  ValidateSession session;
  SimulatedDevice device({});
  const std::string recording = (session.folder.path() / "recording").string();
  CHECK(session.validate({.record = recording, .repetitions = 2}, device) == exit_done);
  std::string other = small_spec;
  other.replace(other.find("[2, 3]"), 6, "[2, 4]");
  write_file_atomically(session.folder.path() / "spec.json", other);
  CHECK_THROWS_WITH_AS(
      session.validate({.recording = recording, .overwrite = true}, ValidateParts{}),
      doctest::Contains("/scenarios/3/name: found \"layers=3"),
      InputError);
  write_file_atomically(fs::path{recording} / "recording.json", "{\"schedlab\": \"trace\"}");
  CHECK_THROWS_WITH_AS(
      session.validate({.recording = recording, .overwrite = true}, ValidateParts{}),
      doctest::Contains("found no recording"),
      InputError);
}

TEST_CASE("validate: stopped in the middle, finished rounds are used and marked incomplete") {
  ValidateSession session;
  StopFlag stop{false};
  int calls = 0;
  SimulatedDevice device({.before = [&](const MeasureRequest&) {
    if (++calls == 3 * 3 + 2) stop.store(true);  // in the fourth round of the first group
  }});
  const ValidateParts parts{.measurer = &device};
  CHECK(session.validate({.repetitions = 5, .warm_up = 1}, parts, &stop) == exit_failed);
  const json results = session.results();
  CHECK(results.at("summary").at("complete") == false);
  CHECK(results.at("summary").at("compared") == 3);
  CHECK(results.at("scenarios").at(0).at("runs") == 2);  // of three finished one was warm-up
  CHECK(results.at("scenarios").at(5).at("note") == "not measured");
  CHECK(session.err.str().find("Stopped before the end") != std::string::npos);
}

TEST_CASE("validate: a scenario that the device cannot run has its reason, the others go on") {
  ValidateSession session;
  SimulatedDevice device({.before = [](const MeasureRequest& request) {
    if (request.scenario == 1) throw DeviceError("out of cores");
  }});
  const std::string recording = (session.folder.path() / "recording").string();
  CHECK(session.validate({.record = recording, .repetitions = 2}, device) == exit_done);
  ValidateSession::expect_fit(fs::path{recording} / "recording.json", recording_schema());
  const json results = session.results();
  CHECK(results.at("summary").at("compared") == 5);
  CHECK(results.at("scenarios").at(1).at("note") == "out of cores");
}

TEST_CASE("validate: real kernels on this computer's cores, recorded and replayed") {
  ValidateSession session;
  write_file_atomically(session.folder.path() / "spec.json", R"({
    "workload": {"kind": "lstm", "pass": "backward", "layers": 2, "steps": 3, "batch": 4, "hidden": 16},
    "machine": "manycore_cpu",
    "policy": ["single_stream", "diagonal", "critical_first"]})");
  const std::string recording = (session.folder.path() / "recording").string();
  CHECK(session.validate(
            {.device = "cpu", .pin = false, .record = recording, .repetitions = 3, .warm_up = 1},
            ValidateParts{}) == exit_done);
  const json measured = session.results();
  CHECK(measured.at("summary").at("compared") == 3);
  CHECK(measured.at("summary").at("device").get<std::string>().find("worker") != std::string::npos);
  CHECK(session.validate({.recording = recording, .overwrite = true}, ValidateParts{}) ==
        exit_done);
  CHECK(session.results() == measured);
}

}  // namespace
}  // namespace schedlab
