// SPDX-License-Identifier: Apache-2.0
#include "studies/reproduction/published_system.hpp"
#include "studies/scenario/scenario_runner.hpp"
#include "studies/spec/spec.hpp"

#include <doctest/doctest.h>
#include <nlohmann/json.hpp>

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <map>
#include <string>
#include <utility>
#include <vector>

namespace schedlab {
namespace {

using nlohmann::json;
/// (replicas, layers per stage) -> seconds.
using Cells = std::map<std::pair<std::int64_t, std::string>, double>;

json table1_spec() {
  const PublishedSystem system = load_system("s5");
  const auto grid = std::find_if(system.grids.begin(), system.grids.end(), [](const SystemGrid& g) {
    return g.name == "table1";
  });
  REQUIRE(grid != system.grids.end());
  return json::parse(grid->spec);
}

Cells published(const std::string& claim_id) {
  const PublishedSystem system = load_system("s5");
  Cells cells;
  for (const Claim& claim : system.claims) {
    if (claim.id != claim_id) continue;
    for (const PublishedPoint& point : claim.published) {
      const auto& axes = point.at.axes;
      cells[{std::get<std::int64_t>(axes.at("replicas").front()),
             std::get<std::string>(axes.at("layers_per_stage").front())}] = *point.value;
    }
  }
  return cells;
}

/// Seconds of 5 epochs of 60,000 images, 1000 a round.
double seconds(json spec, std::int64_t replicas, const std::string& layers_per_stage) {
  spec["workload"]["replicas"] = replicas;
  spec["workload"]["layers_per_stage"] = layers_per_stage;
  const Spec parsed = parse_spec(spec.dump(), "table1.json");
  const Grid grid(parsed);
  REQUIRE(grid.size() == 1);
  ScenarioSpace space(parsed, grid);
  ScenarioRunner runner(space);
  const ScenarioResult result = runner.run(0, true);
  REQUIRE_MESSAGE(!result.failed, result.note);
  return to_seconds(result.summary.makespan) * 5 * 60'000 / 1000;
}

double squares(const json& spec, const Cells& cells) {
  double sum = 0;
  for (const auto& [cell, value] : cells) {
    const double error = seconds(spec, cell.first, cell.second) / value - 1;
    sum += error * error;
  }
  return sum;
}

}  // namespace

TEST_CASE("the numbers of s5's table 1 are what its corner cells give by least squares") {
  const json spec = table1_spec();
  const Cells corners = published("table1_fitted");
  REQUIRE(corners.size() == 4);
  const double best = squares(spec, corners);
  for (const double factor : {0.98, 1.02}) {
    CAPTURE(factor);
    for (const char* knob : {"gflop_per_s", "pass_overhead_us"}) {
      CAPTURE(knob);
      json other = spec;
      other["workload"][knob] = other["workload"][knob].get<double>() * factor;
      CHECK(squares(other, corners) > best);
    }
    json other = spec;
    for (const char* knob : {"send_us", "receive_us"}) {
      other["machine"][knob] = other["machine"][knob].get<double>() * factor;
    }
    CHECK(squares(other, corners) > best);
  }
}

TEST_CASE("half of the other cells of table 1 are met within 5 percent") {
  const json spec = table1_spec();
  std::vector<double> errors;
  for (const auto& [cell, value] : published("table1")) {
    errors.push_back(std::abs(seconds(spec, cell.first, cell.second) / value - 1));
  }
  REQUIRE(errors.size() == 14);
  std::sort(errors.begin(), errors.end());
  CHECK((errors[6] + errors[7]) / 2 <= 0.05);
}

}  // namespace schedlab
