// SPDX-License-Identifier: Apache-2.0
#include "sim/base/error.hpp"
#include "sim/base/file.hpp"
#include "studies/comparison/scenario_comparison.hpp"
#include "studies/spec/axis_label.hpp"
#include "studies/sweep/results_store.hpp"

#include <nlohmann/json.hpp>

#include <algorithm>
#include <utility>

namespace schedlab {
namespace {

using Json = nlohmann::json;

/// Numbers of a validation's summary, which may be absent or null.
constexpr std::array validation_numbers{std::pair{"median error", "/makespan_error/median"},
                                        std::pair{"90 % of errors below", "/makespan_error/p90"},
                                        std::pair{"decidable orders right", "/order_right/share"},
                                        std::pair{"spread of runs", "/spread_of_runs"}};

ScenarioTime measured_scenario(const Json& scenario, const Json& groups) {
  ScenarioTime time;
  const auto& group = groups.at(scenario.at("group").get<std::size_t>());
  time.values = {group.at("name").get<std::string>(), scenario.at("policy").get<std::string>()};
  if (!scenario.contains("measured_us")) return time;  // its note says why
  time.time = from_us(scenario.at("measured_us").get<double>());
  time.interval = Interval{.low = scenario.at("measured_us_low").get<double>(),
                           .high = scenario.at("measured_us_high").get<double>()};
  return time;
}

}  // namespace

ScenarioTimes times_of_sweep(const std::filesystem::path& database) {
  const ResultsStore store = ResultsStore::open(database);
  ScenarioTimes times;
  times.file = database.string();
  times.program = "schedlab " + store.header().version;
  const auto& columns = store.columns();
  std::vector<std::size_t> axes;
  for (std::size_t i = 0; i < columns.size(); ++i) {
    if (columns[i].path.empty()) continue;
    axes.push_back(i);
    times.axes.push_back({columns[i].name, columns[i].path.starts_with("/policy")});
  }
  const auto makespan = static_cast<std::size_t>(
      std::ranges::find(columns, "makespan_ps", &ResultsStore::Column::name) - columns.begin());
  store.for_each([&](std::uint64_t, const std::vector<Cell>& cells) {
    ScenarioTime& scenario = times.scenarios.emplace_back();
    for (const std::size_t axis : axes) scenario.values.push_back(to_string(cells[axis]));
    const auto* time =
        makespan < cells.size() ? std::get_if<std::int64_t>(&cells[makespan]) : nullptr;
    if (time != nullptr) scenario.time = Duration{*time};
  });
  return times;
}

ScenarioTimes times_of_validation(const std::filesystem::path& file) {
  ScenarioTimes times;
  times.file = file.string();
  times.axes = {{"case", false}, {"policy", true}};
  try {
    const Json json = Json::parse(read_file(file));
    times.program = json.at("program").get<std::string>();
    for (const Json& scenario : json.at("scenarios")) {
      times.scenarios.push_back(measured_scenario(scenario, json.at("groups")));
    }
    for (const auto& [name, pointer] : validation_numbers) {
      const Json::json_pointer at{pointer};
      const Json& summary = json.at("summary");
      if (summary.contains(at) && summary[at].is_number()) {
        times.numbers.push_back({name, summary[at].get<double>()});
      }
    }
  } catch (const Json::exception& error) {
    throw InputError({.file = file.string(),
                      .pointer = {},
                      .found = error.what(),
                      .expected = "what schedlab validate writes",
                      .hint = "schedlab validate FILE --recording FOLDER writes it anew"});
  }
  return times;
}

}  // namespace schedlab
