// SPDX-License-Identifier: Apache-2.0
#include "studies/validation/launch_gains.hpp"

#include "sim/base/file.hpp"
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

using nlohmann::json;
using testing::SimulatedDevice;
using testing::TemporaryFolder;

TEST_CASE("The break-even size lies where the loaded run takes as long as the host alone") {
  // The host needs 10 us an operator; loaded, an operator takes its size and 1 us.
  const std::vector<LaunchPoint> points{
      {20, 21, 21}, {2, 10, 3}, {6, 10, 7}, {12, 13, 13}};  // in any order
  // Between 6 (7 us) and 12 (13 us): 10 us is half way, at 9.
  CHECK(crossover_size(points) == doctest::Approx(9));
  CHECK_FALSE(crossover_size({{2, 10, 3}, {6, 10, 7}}).has_value());      // too small, all of them
  CHECK_FALSE(crossover_size({{12, 13, 13}, {20, 21, 21}}).has_value());  // too large
  CHECK_FALSE(crossover_size({}).has_value());
}

TEST_CASE("validate: gains of loading and the break-even size, predicted and measured") {
  const TemporaryFolder folder;
  write_file_atomically(folder.path() / "spec.json", R"({
    "workload": {"kind": "grid", "layers": 1, "steps": 100, "duration_us": [2, 6, 12, 24]},
    "machine": {"base": "ideal", "front_end_us": 9}, "cost_model": "fixed",
    "policy": "single_stream", "launch": ["eager", "graph_launch"]})");
  std::ostringstream out;
  std::ostringstream err;
  // A host that needs 1 us more for each launch than was predicted.
  SimulatedDevice device({.launch_more = std::chrono::microseconds{1}});
  const ValidateOptions options{.spec = (folder.path() / "spec.json").string(),
                                .out = (folder.path() / "out").string(),
                                .repetitions = 3};
  CHECK(run(options, {.out = out, .err = err}, {.measurer = &device}) == exit_done);
  const json results = json::parse(read_file(folder.path() / "out" / "validation.json"));
  const json& launch = results.at("launch");
  REQUIRE(launch.at("gains").size() == 4);
  // 2 us: eager 100 * 9 + 2 = 902 us (measured 1002), loaded 200 us.
  CHECK(launch.at("gains")[0].at("predicted_gain").get<double>() == doctest::Approx(4.51));
  CHECK(launch.at("gains")[0].at("measured_gain").get<double>() == doctest::Approx(5.01));
  REQUIRE(launch.at("crossovers").size() == 1);
  // Loaded, an operator takes its size: the sizes are the host's 9.02 and 10.02 us an operator.
  CHECK(launch.at("crossovers")[0].at("predicted_us").get<double>() == doctest::Approx(9.02));
  CHECK(launch.at("crossovers")[0].at("measured_us").get<double>() == doctest::Approx(10.02));
  CHECK(out.str().find("break-even operator") != std::string::npos);
}

}  // namespace
}  // namespace schedlab
