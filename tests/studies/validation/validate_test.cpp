// SPDX-License-Identifier: Apache-2.0
#include "sim/base/error.hpp"
#include "sim/base/file.hpp"
#include "studies/execution/calibrate_verb.hpp"
#include "studies/execution/other_load.hpp"
#include "studies/validation/validate_verb.hpp"
#include "studies/validation/validation.hpp"
#include "tests/calibration/simulated_bench.hpp"
#include "tests/studies/execution/simulated_device.hpp"
#include "tests/studies/validation/validate_session.hpp"
#include "tests/support/checkout.hpp"

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
using testing::ValidateSession;
using namespace schedlab::literals;

/// Every operation with the same three residuals, around which the device stays.
OperationCalibration residuals_around_one(std::uint64_t, const PreparedProblem& problem) {
  OperationCalibration known;
  known.residuals.resize(problem.graph->operations().size(), {0.96, 1.0, 1.05});
  known.in_calibrated_range.assign(problem.graph->operations().size(), 1);
  known.run_noise = 0.01;
  return known;
}

TEST_CASE("validate: a device that is as simulated has no error anywhere") {
  ValidateSession session;
  SimulatedDevice device({});
  CHECK(session.validate({.repetitions = 3,
                          .max_median_error = "0%",
                          .max_p90_error = "0%",
                          .min_order = "100%",
                          .json = true},
                         device) == exit_done);
  const json summary = json::parse(session.out.str());
  CHECK(summary.at("compared") == 6);
  CHECK(summary.at("makespan_error").at("max") == 0);
  CHECK(summary.at("pairs") == 6);  // 2 groups of 3 policies
  CHECK(summary.at("decidable_pairs") == 6);
  CHECK(summary.at("kendall_tau") == doctest::Approx(1));
  CHECK(summary.at("regret_max") == 0);
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
  const std::string page = session.file("report.html");
  CHECK(page.find("small <v") == std::string::npos);  // escaped
  CHECK(page.find("Of two policies predicted to be closest: ") != std::string::npos);
}

TEST_CASE("validate: what timing the tasks costs is not in the makespans") {
  ValidateSession session;
  SimulatedDevice device({.timing_cost = from_us(50)});
  CHECK(session.validate({.repetitions = 2, .max_median_error = "0%", .json = true}, device) ==
        exit_done);
  CHECK(json::parse(session.out.str()).at("makespan_error").at("max") == 0);
}

TEST_CASE("validate: longer kernels are found as such, and break the bounds") {
  ValidateSession session;
  SimulatedDevice device(
      {.factor = [](const Operation&, Duration) { return 1.1; }, .task_cv = 0.01});
  CHECK(session.validate({.repetitions = 15, .max_median_error = "5%"}, device) == exit_failed);
  CHECK(session.out.str().find("Not kept: median makespan error is") != std::string::npos);
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
  // The same bound with slack is kept.
  CHECK(session.validate({.max_median_error = "0.2", .overwrite = true}, device) == exit_done);
}

TEST_CASE("validate: rounds are interleaved in changing order, and warm-up is not kept") {
  ValidateSession session;
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
  ValidateSession session;
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
  ValidateSession session;
  SimulatedDevice device({});
  const auto small_inside = [](std::uint64_t scenario, const PreparedProblem& problem) {
    OperationCalibration known = residuals_around_one(scenario, problem);
    const bool inside = problem.graph->task_count() < 40;
    known.in_calibrated_range.assign(problem.graph->operations().size(), inside ? 1 : 0);
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
    known.in_calibrated_range.assign(problem.graph->operations().size(), 0);
    return known;
  };
  const ValidateParts outside{.measurer = &device, .calibration = all_outside};
  CHECK(
      session.validate({.repetitions = 2, .draws = 5, .max_median_error = "50%", .overwrite = true},
                       outside) == exit_failed);
  CHECK(session.out.str().find("no scenario within the calibrated range") != std::string::npos);
}

TEST_CASE("validate: on a calibrated machine predictions hold within their intervals") {
  ValidateSession session;
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
                           "validate_opencl.json",
                           "opencl_queues.json",
                           "validate_core_groups.json",
                           "validate_dispatch.json",
                           "validate_scatter.json",
                           "validate_workers.json",
                           "validate_recompute.json",
                           "recompute_quick.json",
                           "gpu_recompute.json",
                           "host_crossover.json",
                           "cpu_backward.json",
                           "gpu_validate.json",
                           "gpu_quoted.json",
                           "gpu_backward.json",
                           "gpu_numerics.json",
                           "campaign_timeline.json"}) {
    CAPTURE(std::string{name});
    const Spec spec = load_spec((testing::checkout() / "experiments" / name).string());
    const Grid grid(spec);
    ScenarioSpace space(spec, grid);
    REQUIRE_NOTHROW(space.components().check_all());
    space.prepare_for_execution(2, HostPlacement::shares_core);
    ScenarioRunner runner(space);
    const auto no_calibration = [](const auto&...) { return OperationCalibration{}; };
    for (const auto& group : policy_groups(grid)) {
      const PredictedScenario predicted =
          predict_scenario(runner, group.back(), no_calibration, {}, nullptr);
      CHECK(predicted.note == "");
    }
  }
}

TEST_CASE("validate says what is wrong with its options") {
  ValidateSession session;
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
