// SPDX-License-Identifier: Apache-2.0
#include "studies/reproduction/published_system.hpp"
#include "studies/scenario/scenario_runner.hpp"
#include "studies/spec/spec.hpp"
#include "workloads/pipeline/layer_workloads.hpp"

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

json grid_spec(const std::string& name) {
  const PublishedSystem system = load_system("s5");
  const auto grid = std::find_if(system.grids.begin(),
                                 system.grids.end(),
                                 [&](const SystemGrid& g) { return g.name == name; });
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

/// A knob of every workload of the spec.
void scale_workloads(json& spec, const char* knob, double factor) {
  const auto scale = [&](json& workload) {
    workload[knob] = workload[knob].get<double>() * factor;
  };
  if (spec["workload"].is_object()) return scale(spec["workload"]);
  for (json& workload : spec["workload"]) scale(workload);
}

/// Seconds of 5 epochs of 60,000 images, 1000 a round, or 1000 of each group where each has a
/// workload of its own.
double seconds(json spec, std::int64_t replicas, const std::string& layers_per_stage) {
  double images = 1000;
  if (spec["workload"].is_array()) {
    const json own = spec["workload"].at(static_cast<std::size_t>(replicas - 1));
    spec["workload"] = own;
    images = own.at("batch").get<double>();
    REQUIRE(images == 1000.0 * static_cast<double>(replicas));
  }
  spec["workload"]["replicas"] = replicas;
  spec["workload"]["layers_per_stage"] = layers_per_stage;
  const Spec parsed = parse_spec(spec.dump(), "table1.json");
  const Grid grid(parsed);
  REQUIRE(grid.size() == 1);
  ScenarioSpace space(parsed, grid);
  ScenarioRunner runner(space);
  const ScenarioResult result = runner.run(0, true);
  REQUIRE_MESSAGE(!result.failed, result.note);
  return to_seconds(result.summary.makespan) * 5 * 60'000 / images;
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

TEST_CASE("a batch of its own for each replica: the numbers are what the corner cells give") {
  const json spec = grid_spec("table1");
  const Cells corners = published("table1_fitted");
  REQUIRE(corners.size() == 4);
  const double best = squares(spec, corners);
  for (const double factor : {0.98, 1.02}) {
    CAPTURE(factor);
    json other = spec;
    scale_workloads(other, "gflop_per_s", factor);
    CHECK(squares(other, corners) > best);
    other = spec;
    json& link = other["machine"]["node_link_gb_per_s"];
    link = link.get<double>() * factor;
    CHECK(squares(other, corners) > best);
  }
  // A message costs nothing: any cost is worse.
  json other = spec;
  for (const char* knob : {"send_us", "receive_us"}) other["machine"][knob] = 50;
  CHECK(squares(other, corners) > best);
}

TEST_CASE("a shared batch: the numbers are what the corner cells give by least squares") {
  const json spec = grid_spec("table1_shared");
  const Cells corners = published("table1_shared_fitted");
  REQUIRE(corners.size() == 4);
  const double best = squares(spec, corners);
  for (const double factor : {0.98, 1.02}) {
    CAPTURE(factor);
    for (const char* knob : {"gflop_per_s", "pass_overhead_us"}) {
      CAPTURE(knob);
      json other = spec;
      scale_workloads(other, knob, factor);
      CHECK(squares(other, corners) > best);
    }
    json other = spec;
    for (const char* knob : {"send_us", "receive_us"}) {
      other["machine"][knob] = other["machine"][knob].get<double>() * factor;
    }
    CHECK(squares(other, corners) > best);
  }
}

TEST_CASE("a shared batch meets half of the other cells of table 1 within 5 percent") {
  const json spec = grid_spec("table1_shared");
  std::vector<double> errors;
  for (const auto& [cell, value] : published("table1_shared")) {
    errors.push_back(std::abs(seconds(spec, cell.first, cell.second) / value - 1));
  }
  REQUIRE(errors.size() == 14);
  std::sort(errors.begin(), errors.end());
  CHECK((errors[6] + errors[7]) / 2 <= 0.05);
}

TEST_CASE("the parameters of table 4's models are those of the simulated ones") {
  const json spec = grid_spec("table4");
  REQUIRE(spec["rows"].size() == 18);
  for (const json& row : spec["rows"]) {
    const auto blocks = row[0].get<std::int64_t>() * row[1].get<std::int64_t>();
    CAPTURE(blocks);
    const LayerGraph graph = make_layers("gpt", {{"blocks", blocks}}).graph;
    // 4 bytes each; the words are tied to the output and count once.
    CHECK(parameter_bytes(graph).count() == 4 * row[2].get<std::int64_t>());
  }
}

}  // namespace schedlab
