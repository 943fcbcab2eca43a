// SPDX-License-Identifier: Apache-2.0
#include "sim/base/statistics.hpp"
#include "sim/sweep/field_table.hpp"
#include "studies/validation/validation_fields.hpp"
#include "studies/validation/validation_files.hpp"

#include <algorithm>
#include <functional>
#include <utility>
#include <vector>

namespace schedlab {
namespace {

Cell number(std::uint64_t value) {
  return static_cast<std::int64_t>(value);
}

/// "scenario", the axes, the fields' columns, "note".
template <class T>
std::vector<Column> scenario_columns(const Grid& grid, const Fields<T>& fields) {
  std::vector<Column> columns{{"scenario", ColumnRole::note}};
  for (const AxisColumn& one : grid.axes()) columns.push_back({one.name, ColumnRole::axis});
  append_columns(columns, fields);
  columns.push_back({"note", ColumnRole::note});
  return columns;
}

/// A row below them.
template <class T>
std::vector<Cell> scenario_row(const Grid& grid, const Fields<T>& fields, const T& of) {
  std::vector<Cell> row{number(of.scenario)};
  for (Cell& cell : grid.axis_values(of.scenario)) row.push_back(std::move(cell));
  append_cells(row, fields, of);
  row.emplace_back(of.note);
  return row;
}

Fields<PredictedScenario> prediction_fields() {
  using P = PredictedScenario;
  const auto draw = [](double share) {
    return [share](const P& p) -> std::optional<double> {
      if (p.draws_us.empty()) return std::nullopt;
      std::vector<double> draws = p.draws_us;
      std::sort(draws.begin(), draws.end());
      return percentile(draws, share);
    };
  };
  return when<P>([](const P& p) { return p.run != nullptr; },
                 {{"tasks", [](const P& p) { return p.run->trace.tasks.size(); }},
                  {"predicted_us", [](const P& p) { return to_us(p.run->trace.makespan()); }},
                  {"predicted_evidence",
                   [](const P& p) {
                     const Problem problem = p.run->problem();
                     return cost_evidence(problem.graph, problem.platform.devices[DeviceId{0}]);
                   }},
                  {"predicted_us_p5", draw(0.05)},
                  {"predicted_us_p95", draw(0.95)},
                  {"inside_calibrated_range", &P::in_calibrated_range}});
}

/// Two scenarios of a group.
struct PairView {
  const PairOutcome& pair;
  const ScenarioOutcome& first;
  const ScenarioOutcome& second;
  std::string group;
};

Fields<PairView> pair_axes() {
  using P = PairView;
  return {{"case", &P::group},
          {"policy", [](const P& p) { return p.first.policy; }},
          {"other_policy", [](const P& p) { return p.second.policy; }}};
}

Fields<PairView> pair_metrics() {
  using P = PairView;
  const auto difference = [](const std::string& word, ErrorPart part) {
    const auto share = [part](const ScenarioOutcome& of) {
      return to_us(of.comparison.budget.part(part)) / of.measured_us;
    };
    return Fields<P>{"error_difference_" + word,
                     [share](const P& p) { return share(p.first) - share(p.second); }};
  };
  return {{"predicted_speed_up", [](const P& p) { return p.pair.predicted_ratio; }},
          {"measured_speed_up", [](const P& p) { return p.pair.measured_ratio; }},
          {"decidable", [](const P& p) { return p.pair.decidable; }},
          {"right", [](const P& p) { return p.pair.right; }},
          {"right_at_speed", [](const P& p) { return p.pair.right_at_speed; }},
          {"faster_probability", [](const P& p) { return p.pair.probability; }},
          {"error_difference", [](const P& p) { return p.first.error - p.second.error; }},
          for_each_name<ErrorPart, P>(difference)};
}

}  // namespace

Table scenarios_table(const ValidationReport& report) {
  const Fields<ScenarioOutcome> fields = scenario_fields();
  Table table{.columns = scenario_columns(report.grid, fields), .rows = {}};
  for (const ScenarioOutcome& outcome : report.validation.scenarios) {
    table.rows.push_back(scenario_row(report.grid, fields, outcome));
  }
  return table;
}

Table predictions_table(const Grid& grid, const std::vector<PredictedScenario>& predicted) {
  const Fields<PredictedScenario> fields = prediction_fields();
  Table table{.columns = scenario_columns(grid, fields), .rows = {}};
  for (const PredictedScenario& one : predicted) {
    table.rows.push_back(scenario_row(grid, fields, one));
  }
  return table;
}

Table pairs_table(const ValidationReport& report) {
  const Fields<PairView> axes = pair_axes();
  const Fields<PairView> metrics = pair_metrics();
  Table table{.columns = {{"scenario", ColumnRole::note}, {"other_scenario", ColumnRole::note}},
              .rows = {}};
  append_columns(table.columns, axes, ColumnRole::axis);
  append_columns(table.columns, metrics);
  const Validation& validation = report.validation;
  for (const PairOutcome& pair : validation.pairs) {
    const ScenarioOutcome& first = validation.scenarios[pair.first];
    const PairView view{
        pair, first, validation.scenarios[pair.second], validation.groups[first.group].name};
    auto& row = table.rows.emplace_back();
    row = {number(first.scenario), number(view.second.scenario)};
    append_cells(row, axes, view);
    append_cells(row, metrics, view);
  }
  return table;
}

Table runs_table(const ValidationReport& report) {
  const Fields<RunRecord> fields = run_fields();
  Table table{.columns = {{"scenario", ColumnRole::note}, {"name", ColumnRole::axis}}, .rows = {}};
  append_columns(table.columns, fields);
  for (std::uint64_t scenario = 0; scenario < report.measured.scenarios.size(); ++scenario) {
    for (const RunRecord& run : report.measured.scenarios[scenario].runs) {
      auto& row = table.rows.emplace_back();
      row = {number(scenario), report.grid.describe(scenario)};
      append_cells(row, fields, run);
    }
  }
  return table;
}

}  // namespace schedlab
