// SPDX-License-Identifier: Apache-2.0
#include "sim/base/file.hpp"
#include "studies/base/schema_check.hpp"
#include "studies/validation/recording.hpp"
#include "studies/validation/speed_of_machine.hpp"
#include "studies/validation/validate_verb.hpp"
#include "studies/validation/validation_files.hpp"
#include "tests/studies/execution/simulated_device.hpp"
#include "tests/support/checkout.hpp"
#include "tests/support/temporary_folder.hpp"

#include <doctest/doctest.h>
#include <nlohmann/json.hpp>

#include <cmath>
#include <filesystem>
#include <sstream>
#include <string>

namespace schedlab {
namespace {

using nlohmann::json;
using testing::SimulatedDevice;
using testing::TemporaryFolder;

DriftReading all_kinds(double factor) {
  DriftReading reading;
  for (const TaskKind kind : {TaskKind::gemm, TaskKind::pointwise}) {
    reading.kinds.push_back({.kind = kind, .one_unit = factor, .all_units = factor});
  }
  return reading;
}

/// Two groups of two policies; the host's calls are a few per cent of the time.
struct Validated {
  int run(SimulatedDevice* device, const std::string& recording, const std::string& record) {
    const std::string spec = (folder.path() / "spec.json").string();
    write_file_atomically(spec, R"({
      "name": "speed",
      "workload": {"kind": "lstm", "layers": [2, 3], "steps": 4, "batch": 64, "hidden": 1024,
                   "granularity": "fine"},
      "machine": "v100",
      "policy": ["single_stream", "diagonal"]})");
    ValidateOptions options{.spec = spec, .recording = recording};
    options.out = (folder.path() / (recording.empty() ? "out" : "again")).string();
    options.overwrite = !recording.empty();
    options.record = record;
    options.repetitions = 15;
    const int code = schedlab::run(options,
                                   Terminal{.out = out, .err = err, .interactive = false},
                                   ValidateParts{.measurer = device});
    const std::string path = options.out + "/validation.json";
    const std::string text = read_file(path);
    CHECK_NOTHROW(read_checked_json(text, validation_schema(), path));
    results = json::parse(text);
    return code;
  }
  [[nodiscard]] const json& summary() const { return results.at("summary"); }

  TemporaryFolder folder;
  std::ostringstream out;
  std::ostringstream err;
  json results;
};

}  // namespace

TEST_CASE("validate: a machine that has become slower is known by its speed checks") {
  Validated validated;
  SimulatedDevice device({.factor = [](const Operation&, Duration) { return 1.2; },
                          .check = [] { return std::optional{all_kinds(1.2)}; }});
  CHECK(validated.run(&device, {}, {}) == exit_done);
  const json& summary = validated.summary();
  const json& speed = summary.at("speed");
  CHECK(speed.at("overall").get<double>() == doctest::Approx(1.2));
  CHECK(speed.at("disturbed_rounds") == 0);
  CHECK(speed.at("rounds") == 30);  // 2 groups of 15
  // The prediction stays as it was made: almost 1 / 1.2 of what was measured.
  CHECK(summary.at("makespan_error").at("bias").get<double>() < -0.1);
  // At the speed of the measurement every duration is what was measured, but for a picosecond.
  CHECK(speed.at("makespan_error").at("max").get<double>() < 1e-6);
  for (const json& scenario : validated.results.at("scenarios")) {
    const json& budget = scenario.at("error_budget");
    CHECK(budget.at("drift_us").get<double>() ==
          doctest::Approx(budget.at("total_us").get<double>()).epsilon(1e-6));
    CHECK(budget.at("drift_us").get<double>() < 0);
    CHECK(std::abs(budget.at("kernel_time_us").get<double>()) < 0.01);
  }
  CHECK(validated.err.str().find("not as fast as when it was calibrated") != std::string::npos);
  CHECK(
      validated.out.str().find("They took 1.20 times as long as when the machine was calibrated") !=
      std::string::npos);
  CHECK(std::filesystem::exists(validated.folder.path() / "out" / "speed.svg"));
}

TEST_CASE("validate: disturbed rounds are left out of medians beside, by the speed checks alone") {
  Validated validated;
  // Of each group's 17 rounds of 2 runs, 2 of warm-up, the kept ones 2 to 9 take 1.5 times as long.
  std::size_t runs = 0;
  const auto factor = [&] {
    const std::size_t round = runs == 0 ? 0 : (runs - 1) % 34 / 2;
    return 4 <= round && round <= 11 ? 1.5 : 1.0;
  };
  SimulatedDevice device({.factor = [&](const Operation&, Duration) { return factor(); },
                          .before = [&](const MeasureRequest&) { ++runs; },
                          .check = [&] { return std::optional{all_kinds(factor())}; }});
  CHECK(validated.run(&device, {}, {}) == exit_done);
  // 8 of 15 runs are long: so is the median.
  CHECK(validated.summary().at("makespan_error").at("bias").get<double>() < -0.25);
  const json& speed = validated.summary().at("speed");
  // Of a group's 18 checks the 8 after a long round are far from the median. Beside one of them are
  // the long rounds and the one that follows.
  CHECK(speed.at("overall").get<double>() == doctest::Approx(1.0));
  CHECK(speed.at("disturbed_rounds") == 18);
  CHECK(speed.at("rounds") == 30);
  CHECK(speed.at("makespan_error_undisturbed").at("scenarios") == 4);
  CHECK(speed.at("makespan_error_undisturbed").at("max").get<double>() < 1e-6);
  CHECK(validated.results.at("scenarios").at(0).at("undisturbed_runs") == 6);
}

TEST_CASE("validate: a recording keeps the speed checks") {
  Validated validated;
  SimulatedDevice device({.factor = [](const Operation&, Duration) { return 1.1; },
                          .task_cv = 0.02,
                          .check = [] { return std::optional{all_kinds(1.08)}; }});
  const std::string recording = (validated.folder.path() / "recording").string();
  CHECK(validated.run(&device, {}, recording) == exit_done);
  const json measured = validated.summary();
  const std::string path = recording + "/recording.json";
  const std::string text = read_file(path);
  CHECK_NOTHROW(read_checked_json(text, recording_schema(), path));
  CHECK(validated.run(nullptr, recording, {}) == exit_done);
  CHECK(validated.summary() == measured);

  // Under the name that they had in the version before.
  std::string older = text;
  const std::string now = "\"speed_checks\"";
  older.replace(older.find(now), now.size(), "\"probes\"");
  write_file_atomically(path, older);
  CHECK(validated.run(nullptr, recording, {}) == exit_done);
  CHECK(validated.summary().at("speed") == measured.at("speed"));
}

TEST_CASE("recordings of CPUs that come with the program replay on any computer") {
  namespace fs = std::filesystem;
  const fs::path recordings = testing::checkout() / "experiments/recordings";
  if (!fs::exists(recordings)) return;
  for (const auto& entry : fs::directory_iterator(recordings)) {
    const std::string name = entry.path().filename().string();
    if (!name.starts_with("cpu-")) continue;
    CAPTURE(name);
    const TemporaryFolder folder;
    std::ostringstream out;
    std::ostringstream err;
    ValidateOptions options{.spec = (entry.path() / "spec.json").string()};
    options.recording = entry.path().string();
    options.out = (folder.path() / "out").string();
    options.draws = 10;
    CHECK(run(options, Terminal{.out = out, .err = err, .interactive = false}) == exit_done);
    const json results = json::parse(read_file(options.out + "/validation.json"));
    const json& summary = results.at("summary");
    CHECK(summary.at("compared") == summary.at("scenarios"));
    CHECK(summary.at("speed").at("checks").get<int>() > 0);
    CHECK(summary.at("interval_coverage").at("of") == summary.at("scenarios"));
    const std::string path = (entry.path() / recording_file).string();
    const std::string text = read_file(path);
    CHECK_NOTHROW(read_checked_json(text, recording_schema(), path));
    // Nothing of the computer but its processor.
    CHECK(read_file((entry.path() / "spec.json").string()).find("\"./machine.json\"") !=
          std::string::npos);
  }
}

TEST_CASE("passes recorded on an H200 are predicted from the calibration before them") {
  const auto campaign = testing::checkout() / "experiments/recordings/h200_campaign";
  const TemporaryFolder folder;
  std::ostringstream out;
  std::ostringstream err;
  ValidateOptions options{.spec = (testing::checkout() / "experiments/gpu_validate.json").string()};
  options.recording = (campaign / "validation").string();
  options.machine = (campaign / "machine.json").string();
  options.out = (folder.path() / "out").string();
  options.draws = 1;
  CHECK(run(options, Terminal{.out = out, .err = err, .interactive = false}) == exit_done);
  const json summary = json::parse(read_file(options.out + "/validation.json")).at("summary");
  CHECK(summary.at("compared") == 50);
  CHECK(summary.at("makespan_error").at("median").get<double>() < 0.09);  // docs/h200.md
  CHECK(summary.at("makespan_error").at("p90").get<double>() < 0.2);
}

TEST_CASE("a round is disturbed if a speed check beside it is far from the median") {
  Measurements measured;
  const auto check = [&](std::size_t group, std::uint32_t round, double factor) {
    measured.speed_checks.push_back(
        {.group = group, .round = round, .at_s = 0, .reading = all_kinds(factor)});
  };
  for (const std::uint32_t round : {0U, 2U, 4U}) check(0, round, 1.0);
  check(1, 0, 1.0);
  check(1, 3, 1.2);
  check(1, 5, 1.05);
  const SpeedOfMachine machine{measured};
  CHECK_FALSE(machine.disturbed(0, 3));
  CHECK(machine.disturbed(1, 2));  // between the checks before rounds 0 and 3
  CHECK(machine.disturbed(1, 4));  // between those before 3 and 5
  CHECK_FALSE(machine.disturbed(1, 5));
  CHECK(machine.of_group(1)->overall() == doctest::Approx(1.05));
  CHECK_FALSE(machine.of_group(2).has_value());
  const SpeedSummary summary = machine.summary({4, 5});
  CHECK(summary.checks == 6);
  CHECK(summary.rounds == 9);
  CHECK(summary.disturbed == 5);  // all of group 1
}

}  // namespace schedlab
