// SPDX-License-Identifier: Apache-2.0
#include "cli/cmd_calibrate.hpp"
#include "cli/cmd_validate.hpp"
#include "cli/schema_check.hpp"
#include "cli/validate/other_load.hpp"
#include "cli/validate/recording.hpp"
#include "cli/validate/validation.hpp"
#include "cli/validate/validation_files.hpp"
#include "sim/base/error.hpp"
#include "sim/base/file.hpp"
#include "tests/cli/simulated_bench.hpp"
#include "tests/cli/simulated_device.hpp"
#include "tests/cli/temporary_folder.hpp"

#include <doctest/doctest.h>
#include <nlohmann/json.hpp>

#include <algorithm>
#include <chrono>
#include <cmath>
#include <filesystem>
#include <map>
#include <sstream>
#include <string>
#include <thread>

namespace schedlab {
namespace {

namespace fs = std::filesystem;
using nlohmann::json;
using testing::SimulatedDevice;
using testing::TemporaryFolder;
using namespace schedlab::literals;

const std::string small_spec = R"({
  "name": "small <validation>",
  "workload": {"kind": "lstm", "layers": [2, 3], "steps": 4, "batch": 64, "hidden": 1024, "granularity": "fine"},
  "machine": "v100",
  "policy": ["single_stream", "diagonal", "critical_first"]})";

struct Session {
  int validate(ValidateOptions options,
               const ValidateParts& parts,
               const StopFlag* stop = nullptr) {
    options.spec = (folder.path() / "spec.json").string();
    if (options.out.empty()) options.out = (folder.path() / "out").string();
    if (!fs::exists(options.spec)) write_file_atomically(options.spec, small_spec);
    out.str({});
    err.str({});
    return run(
        options, Terminal{.out = out, .err = err, .interactive = false, .stop = stop}, parts);
  }
  int validate(ValidateOptions options, SimulatedDevice& device) {
    return validate(std::move(options), ValidateParts{.measurer = &device});
  }
  [[nodiscard]] json results(const std::string& name = "out") const {
    expect_fit(folder.path() / name / "validation.json", validation_schema());
    return json::parse(read_file(folder.path() / name / "validation.json"));
  }
  [[nodiscard]] std::string file(const std::string& name) const {
    return read_file(folder.path() / "out" / name);
  }
  static void expect_fit(const fs::path& path, const std::string& schema) {
    const std::string text = read_file(path);
    CHECK_NOTHROW(check_schema(parse_json_node(text, path.string()), text, schema, path.string()));
  }

  TemporaryFolder folder;
  std::ostringstream out;
  std::ostringstream err;
};

/// Every operation with the same three residuals, around which the device stays.
OperationCalibration residuals_around_one(std::uint64_t, const PreparedProblem& problem) {
  OperationCalibration known;
  known.residuals.resize(problem.graph->operations().size(), {0.96, 1.0, 1.05});
  known.inside_hull.assign(problem.graph->operations().size(), 1);
  known.run_noise = 0.01;
  return known;
}

TEST_CASE("validate: a device that is as simulated has no error anywhere") {
  Session session;
  SimulatedDevice device({});
  CHECK(session.validate({.repetitions = 3,
                          .max_median_error = "0%",
                          .max_p90_error = "0%",
                          .min_order = "100%",
                          .json = true},
                         device) == exit_done);
  const json summary = json::parse(session.out.str());
  CHECK(summary.at("compared") == 6);
  CHECK(summary.at("makespan_error").at("most") == 0);
  CHECK(summary.at("pairs") == 6);  // 2 groups of 3 policies
  CHECK(summary.at("decidable_pairs") == 6);
  CHECK(summary.at("kendall_tau") == doctest::Approx(1));
  CHECK(summary.at("regret_most") == 0);
  CHECK(summary.at("speed_up_sign_right").at("of") == 4);
  const json results = session.results();  // outlives the loop
  for (const json& scenario : results.at("scenarios")) {
    CHECK(scenario.at("tasks").at("start_error_p90") == 0);
    CHECK(scenario.at("error_budget").at("total_us") == 0);
  }
  for (const char* name : {"scenarios.csv",
                           "pairs.csv",
                           "runs.csv",
                           "report.html",
                           "makespans.svg",
                           "error_by_policy.svg",
                           "error_budget.svg",
                           "timeline.svg",
                           "trace.json"}) {
    CAPTURE(std::string{name});
    CHECK(fs::exists(session.folder.path() / "out" / name));
  }
  CHECK(session.file("report.html").find("small <v") == std::string::npos);  // escaped
}

TEST_CASE("validate: what timing the tasks costs is not in the makespans") {
  Session session;
  SimulatedDevice device({.timing_cost = from_us(50)});
  CHECK(session.validate({.repetitions = 2, .max_median_error = "0%", .json = true}, device) ==
        exit_done);
  CHECK(json::parse(session.out.str()).at("makespan_error").at("most") == 0);
}

TEST_CASE("validate: longer kernels are found as such, and break the bounds") {
  Session session;
  SimulatedDevice device(
      {.factor = [](const Operation&, Duration) { return 1.1; }, .task_cv = 0.01});
  CHECK(session.validate({.repetitions = 15, .max_median_error = "5%"}, device) == exit_failed);
  CHECK(session.out.str().find("not kept: median makespan error is") != std::string::npos);
  const json results = session.results();
  const json& summary = results.at("summary");
  CHECK(summary.at("broken_bounds").size() == 1);
  // Everything but the host's calls takes 10 % longer: at most -1 / 11 = -9.1 %.
  CHECK(summary.at("makespan_error").at("bias").get<double>() < -0.05);
  CHECK(summary.at("makespan_error").at("bias").get<double>() > -0.0925);
  for (const json& kind : summary.at("kinds")) {
    CHECK(kind.at("bias").get<double>() == doctest::Approx(1 / 1.1 - 1).epsilon(0.02));
  }
  for (const json& scenario : results.at("scenarios")) {
    double sum = 0;
    for (const auto& [name, value] : scenario.at("error_budget").items()) {
      if (name != "total_us" && name != "noise_floor_us") sum += value.get<double>();
    }
    CHECK(sum == doctest::Approx(scenario.at("error_budget").at("total_us").get<double>()));
    if (scenario.at("policy") == "single_stream") {
      // One kernel after another: their time is nearly all of the error.
      const double kernels = scenario.at("error_budget").at("kernel_time_us").get<double>() +
                             scenario.at("error_budget").at("memory_us").get<double>();
      CHECK(kernels / sum > 0.9);
    }
  }
  // The same bound with room is kept.
  CHECK(session.validate({.max_median_error = "0.2", .overwrite = true}, device) == exit_done);
}

TEST_CASE("validate: rounds are interleaved in changing order, and warm-up is not kept") {
  Session session;
  SimulatedDevice device({});
  CHECK(session.validate({.repetitions = 4, .warm_up = 1}, device) == exit_done);
  REQUIRE(device.order.size() == 2 * 5 * 3);
  std::map<std::vector<std::uint64_t>, int> orders;
  for (std::size_t round = 0; round < 10; ++round) {
    const auto first = device.order.begin() + static_cast<std::ptrdiff_t>(3 * round);
    std::vector<std::uint64_t> order(first, first + 3);
    ++orders[order];
    std::sort(order.begin(), order.end());
    // Scenarios 0, 1, 2 are the first group, 3, 4, 5 the second.
    const std::uint64_t group = round < 5 ? 0 : 3;
    CHECK(order == std::vector<std::uint64_t>{group, group + 1, group + 2});
  }
  CHECK(orders.size() > 3);
  const std::string runs = session.file("runs.csv");
  CHECK(std::count(runs.begin(), runs.end(), '\n') == 1 + 2 * 4 * 3);

  SimulatedDevice again({});
  CHECK(session.validate({.repetitions = 4, .warm_up = 1, .overwrite = true}, again) == exit_done);
  CHECK(again.order == device.order);
}

TEST_CASE("validate: intervals from residuals cover a device that keeps to them") {
  Session session;
  SimulatedDevice device(
      {.factor = [](const Operation& operation,
                    Duration) { return operation.name.starts_with("weight") ? 1.04 : 0.99; },
       .task_cv = 0.01,
       .run_cv = 0.005});
  const ValidateParts parts{.measurer = &device, .calibration = residuals_around_one};
  CHECK(session.validate({.draws = 200, .min_coverage = "80%"}, parts) == exit_done);
  const json summary = session.results().at("summary");
  CHECK(summary.at("calibrated") == true);
  CHECK(summary.at("interval_coverage").at("of") == 6);
  CHECK(summary.at("faster_probability").at("pairs") == 6);
  CHECK(summary.at("faster_probability").at("brier").get<double>() < 0.25);
  CHECK(fs::exists(session.folder.path() / "out" / "reliability.svg"));
  const json results = session.results();  // outlives the loop
  for (const json& scenario : results.at("scenarios")) {
    CHECK(scenario.at("predicted_us_p5") < scenario.at("predicted_us"));
    CHECK(scenario.at("predicted_us_p95") > scenario.at("predicted_us"));
  }
}

TEST_CASE("validate: scenarios outside the calibrated range are reported apart") {
  Session session;
  SimulatedDevice device({});
  const auto small_inside = [](std::uint64_t scenario, const PreparedProblem& problem) {
    OperationCalibration known = residuals_around_one(scenario, problem);
    const bool inside = problem.graph->task_count() < 40;
    known.inside_hull.assign(problem.graph->operations().size(), inside ? 1 : 0);
    return known;
  };
  const ValidateParts parts{.measurer = &device, .calibration = small_inside};
  CHECK(session.validate({.repetitions = 2, .draws = 5}, parts) == exit_done);
  const json summary = session.results().at("summary");
  CHECK(summary.at("makespan_error_inside").at("scenarios").get<int>() +
            summary.at("makespan_error_outside").at("scenarios").get<int>() ==
        6);
  const auto all_outside = [](std::uint64_t scenario, const PreparedProblem& problem) {
    OperationCalibration known = residuals_around_one(scenario, problem);
    known.inside_hull.assign(problem.graph->operations().size(), 0);
    return known;
  };
  const ValidateParts outside{.measurer = &device, .calibration = all_outside};
  CHECK(
      session.validate({.repetitions = 2, .draws = 5, .max_median_error = "50%", .overwrite = true},
                       outside) == exit_failed);
  CHECK(session.out.str().find("no scenario within the calibrated range") != std::string::npos);
}

TEST_CASE("validate: a recording replays to the same figures, without a device") {
  Session session;
  SimulatedDevice device(
      {.factor = [](const Operation&, Duration) { return 1.03; }, .task_cv = 0.02});
  const std::string recording = (session.folder.path() / "recording").string();
  CHECK(session.validate({.record = recording}, device) == exit_done);
  const std::size_t runs = device.order.size();
  Session::expect_fit(fs::path{recording} / "recording.json", recording_schema());
  const json first = session.results();
  const std::string first_runs = session.file("runs.csv");
  CHECK(session.validate({.recording = recording, .overwrite = true}, ValidateParts{}) ==
        exit_done);
  CHECK(device.order.size() == runs);
  CHECK(session.results() == first);
  CHECK(session.file("runs.csv") == first_runs);
}

TEST_CASE("validate: predictions alone need no device, and are those that a validation compares") {
  Session session;
  SimulatedDevice device({});
  CHECK(session.validate({.predict_only = true}, device) == exit_done);
  const std::string alone = session.file("predictions.csv");
  CHECK_FALSE(fs::exists(session.folder.path() / "out" / "validation.json"));
  CHECK(session.validate({.repetitions = 2, .overwrite = true}, device) == exit_done);
  const json scenarios = session.results().at("scenarios");
  CHECK(std::count(alone.begin(), alone.end(), '\n') == 7);  // a header and 6 scenarios
  for (const json& scenario : scenarios) {
    // As printed: the shortest text that reads back as the same number.
    CHECK(alone.find("," + json(scenario.at("predicted_us")).dump() + ",") != std::string::npos);
  }
}

TEST_CASE("validate: a recording of another spec is refused, with the place") {
  Session session;
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
  Session session;
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
  Session session;
  SimulatedDevice device({.before = [](const MeasureRequest& request) {
    if (request.scenario == 1) throw DeviceError("out of cores");
  }});
  const std::string recording = (session.folder.path() / "recording").string();
  CHECK(session.validate({.record = recording, .repetitions = 2}, device) == exit_done);
  Session::expect_fit(fs::path{recording} / "recording.json", recording_schema());
  const json results = session.results();
  CHECK(results.at("summary").at("compared") == 5);
  CHECK(results.at("scenarios").at(1).at("note") == "out of cores");
}

TEST_CASE("validate: on a calibrated machine predictions hold within their intervals") {
  Session session;
  testing::SimulatedBench bench{2, 0.05};
  const std::string machine = (session.folder.path() / "machine.json").string();
  std::ostringstream ignored;
  REQUIRE(run(CalibrateOptions{.out = machine, .name = "made_up", .quick = true},
              bench,
              Terminal{ignored, ignored}) == exit_done);
  write_file_atomically(session.folder.path() / "spec.json", R"({
    "workload": {"kind": "lstm", "pass": "training", "include_transfers": false, "layers": [2, 3],
                 "steps": 4, "batch": [32, 8], "hidden": 256},
    "machine": "ideal",
    "policy": ["single_stream", "diagonal", "critical_first"]})");
  // The computer that was calibrated: its kernels take true_seconds(), with noise.
  const testing::TrueCosts truth{2};
  SimulatedDevice device({.factor =
                              [&](const Operation& operation, Duration predicted) {
                                return to_seconds(truth.estimate(operation, {}).duration) /
                                       to_seconds(predicted);
                              },
                          .task_cv = 0.03});
  CHECK(session.validate({.machine = machine, .max_median_error = "5%", .max_p90_error = "12%"},
                         device) == exit_done);
  const json summary = session.results().at("summary");
  CHECK(summary.at("calibrated") == true);
  // Batches of 8 are smaller than what was calibrated.
  CHECK(summary.at("makespan_error_inside").at("scenarios") == 6);
  CHECK(summary.at("makespan_error_outside").at("scenarios") == 6);
  CHECK(summary.at("interval_coverage").at("share").get<double>() >= 0.5);

  CHECK_THROWS_WITH_AS(
      session.validate({.device = "cpu", .workers = 1, .machine = machine, .overwrite = true},
                       ValidateParts{}),
      doctest::Contains("--workers: found 1, expected 2, as the machine was calibrated with"),
      InputError);
}

TEST_CASE("validate: real kernels on this computer's cores, recorded and replayed") {
  Session session;
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

TEST_CASE("Draws of a median scatter less than those of a run, around the same makespan") {
  PredictedScenario predicted;
  predicted.draws_us.assign(4000, 100.0);
  CHECK(draws_of_medians(predicted, 15, 1) == predicted.draws_us);  // no noise
  predicted.run_noise = 0.1;
  const auto deviation = [](const std::vector<double>& draws) {
    double sum = 0;
    for (const double draw : draws) sum += (draw - 100) * (draw - 100);
    return std::sqrt(sum / static_cast<double>(draws.size()));
  };
  // 10 % of a single run, 10 % * 1.2533 / sqrt(16) = 3.13 % of the median of 16; within 5 %.
  CHECK(deviation(draws_of_medians(predicted, 1, 1)) == doctest::Approx(10).epsilon(0.05));
  CHECK(deviation(draws_of_medians(predicted, 16, 1)) == doctest::Approx(3.133).epsilon(0.05));
  CHECK(draws_of_medians(predicted, 16, 1) == draws_of_medians(predicted, 16, 1));
  PredictedScenario other = predicted;
  other.scenario = 1;
  CHECK(draws_of_medians(other, 16, 1) != draws_of_medians(predicted, 16, 1));
}

TEST_CASE("The load of others is a share, and not said of an instant") {
  const OtherLoad load;
  CHECK(!load.share().has_value());
  std::this_thread::sleep_for(std::chrono::milliseconds{150});
  const std::optional<double> share = load.share();
  if (!share) return;  // a system without /proc/stat
  CHECK(*share >= 0);
  CHECK(*share <= 1);
}

TEST_CASE("The specs for validation are valid, and their scenarios can be predicted") {
  for (const char* name : {"validate_quick.json",
                           "validate_cpu.json",
                           "validate_graphs.json",
                           "validate_core_groups.json",
                           "validate_recompute.json",
                           "recompute_quick.json",
                           "gpu_recompute.json",
                           "host_crossover.json",
                           "cpu_backward.json",
                           "gpu_validate.json",
                           "gpu_backward.json",
                           "gpu_numerics.json",
                           "campaign_timeline.json"}) {
    CAPTURE(std::string{name});
    const Spec spec = load_spec((fs::path{SCHEDLAB_EXPERIMENTS} / name).string());
    const Grid grid(spec);
    ScenarioSpace space(spec, grid);
    REQUIRE_NOTHROW(space.components().check_all());
    space.prepare_for_execution(2, HostPlacement::shares_core);
    ScenarioRunner runner(space);
    for (const auto& group : policy_groups(grid)) {
      const PredictedScenario predicted =
          predict_scenario(space, runner, group.back(), no_calibration, {}, nullptr);
      CHECK(predicted.note == "");
    }
  }
}

TEST_CASE("validate says what is wrong with its options") {
  Session session;
  SimulatedDevice device({});
  CHECK_THROWS_WITH_AS(session.validate({}, ValidateParts{}),
                       doctest::Contains("neither --device nor --recording"),
                       InputError);
  CHECK_THROWS_WITH_AS(session.validate({.max_median_error = "five"}, device),
                       doctest::Contains("--max-median-error: found \"five\", expected a share"),
                       InputError);
  CHECK(share_option("5%", "f") == doctest::Approx(0.05));
  CHECK(share_option("5 %", "f") == doctest::Approx(0.05));
  CHECK(share_option("0.12", "f") == doctest::Approx(0.12));
}

}  // namespace
}  // namespace schedlab
