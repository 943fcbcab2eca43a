// SPDX-License-Identifier: Apache-2.0
#include "cli/validate/validation_files.hpp"
#include "sim/base/statistics.hpp"

#include <fmt/format.h>

#include <algorithm>

namespace schedlab {
namespace {

Cell number(std::uint64_t value) {
  return static_cast<std::int64_t>(value);
}

std::vector<Column> scenario_columns(const Grid& grid) {
  using enum ColumnRole;
  std::vector<Column> columns{{"scenario", note}};
  for (const AxisColumn& one : grid.axes()) columns.push_back({one.name, axis});
  for (const char* name : {"group",
                           "runs",
                           "predicted_us",
                           "predicted_us_p5",
                           "predicted_us_p95",
                           "measured_us",
                           "measured_us_low",
                           "measured_us_high",
                           "measured_us_least",
                           "spread",
                           "error",
                           "at_speed_us",
                           "at_speed_error",
                           "undisturbed_us",
                           "undisturbed_error",
                           "inside_calibrated_range",
                           "predicted_memory_bytes",
                           "measured_memory_bytes",
                           "memory_error",
                           "task_duration_error_p50",
                           "task_duration_error_p90",
                           "task_start_error_p50",
                           "task_start_error_p90",
                           "predicted_busy_us",
                           "measured_busy_us"}) {
    columns.push_back({name, metric});
  }
  for (std::size_t part = 0; part < error_part_count; ++part) {
    columns.push_back(
        {fmt::format("error_{}_us", to_string(static_cast<ErrorPart>(part))), metric});
  }
  columns.push_back({"note", note});
  return columns;
}

}  // namespace

Table scenarios_table(const ValidationReport& report) {
  Table table{.columns = scenario_columns(report.grid), .rows = {}};
  for (const ScenarioOutcome& outcome : report.validation.scenarios) {
    auto& row = table.rows.emplace_back();
    row.push_back(number(outcome.scenario));
    for (Cell& cell : report.grid.axis_values(outcome.scenario)) row.push_back(std::move(cell));
    row.push_back(number(outcome.group));
    row.push_back(number(outcome.runs));
    if (outcome.compared()) {
      const TraceComparison& comparison = outcome.comparison;
      row.emplace_back(outcome.predicted_us);
      row.push_back(outcome.predicted_90 ? Cell{outcome.predicted_90->low} : Cell{});
      row.push_back(outcome.predicted_90 ? Cell{outcome.predicted_90->high} : Cell{});
      row.emplace_back(outcome.measured_us);
      row.emplace_back(outcome.measured_95.low);
      row.emplace_back(outcome.measured_95.high);
      row.emplace_back(outcome.least_us);
      row.emplace_back(outcome.spread);
      row.emplace_back(outcome.error);
      row.push_back(outcome.at_speed ? Cell{outcome.at_speed->predicted_us} : Cell{});
      row.push_back(outcome.at_speed ? Cell{outcome.at_speed->error} : Cell{});
      row.push_back(outcome.undisturbed ? Cell{outcome.undisturbed->measured_us} : Cell{});
      row.push_back(outcome.undisturbed ? Cell{outcome.undisturbed->error} : Cell{});
      row.emplace_back(std::int64_t{outcome.inside_hull ? 1 : 0});
      row.push_back(outcome.memory ? Cell{outcome.memory->predicted.count()} : Cell{});
      row.push_back(outcome.memory ? Cell{outcome.memory->measured.count()} : Cell{});
      row.push_back(outcome.memory ? Cell{outcome.memory->error} : Cell{});
      row.emplace_back(comparison.all.duration.p50);
      row.emplace_back(comparison.all.duration.p90);
      row.emplace_back(comparison.all.start.p50);
      row.emplace_back(comparison.all.start.p90);
      row.emplace_back(to_us(comparison.simulated_busy));
      row.emplace_back(to_us(comparison.measured_busy));
      for (const Duration part : comparison.budget.parts) row.emplace_back(to_us(part));
    }
    row.resize(table.columns.size() - 1);
    row.emplace_back(outcome.note);
  }
  return table;
}

Table predictions_table(const Grid& grid, const std::vector<PredictedScenario>& predicted) {
  using enum ColumnRole;
  Table table{.columns = {{"scenario", note}}, .rows = {}};
  for (const AxisColumn& one : grid.axes()) table.columns.push_back({one.name, axis});
  for (const char* name : {"tasks",
                           "predicted_us",
                           "predicted_us_p5",
                           "predicted_us_p95",
                           "inside_calibrated_range"}) {
    table.columns.push_back({name, metric});
  }
  table.columns.push_back({"note", note});
  for (const PredictedScenario& one : predicted) {
    auto& row = table.rows.emplace_back();
    row.push_back(number(one.scenario));
    for (Cell& cell : grid.axis_values(one.scenario)) row.push_back(std::move(cell));
    if (one.run != nullptr) {
      row.push_back(number(one.run->trace.tasks.size()));
      row.emplace_back(to_us(one.run->trace.makespan()));
      std::vector<double> draws = one.draws_us;
      std::sort(draws.begin(), draws.end());
      row.push_back(draws.empty() ? Cell{} : Cell{percentile(draws, 0.05)});
      row.push_back(draws.empty() ? Cell{} : Cell{percentile(draws, 0.95)});
      row.emplace_back(std::int64_t{one.inside_hull ? 1 : 0});
    }
    row.resize(table.columns.size() - 1);
    row.emplace_back(one.note);
  }
  return table;
}

Table pairs_table(const ValidationReport& report) {
  using enum ColumnRole;
  Table table{.columns = {{"scenario", note},
                          {"other_scenario", note},
                          {"case", axis},
                          {"policy", axis},
                          {"other_policy", axis},
                          {"predicted_speed_up", metric},
                          {"measured_speed_up", metric},
                          {"decidable", metric},
                          {"right", metric},
                          {"right_at_speed", metric},
                          {"faster_probability", metric},
                          {"error_difference", metric}},
              .rows = {}};
  for (std::size_t part = 0; part < error_part_count; ++part) {
    table.columns.push_back(
        {fmt::format("error_difference_{}", to_string(static_cast<ErrorPart>(part))), metric});
  }
  const Validation& validation = report.validation;
  for (const PairOutcome& pair : validation.pairs) {
    const ScenarioOutcome& first = validation.scenarios[pair.first];
    const ScenarioOutcome& second = validation.scenarios[pair.second];
    auto& row = table.rows.emplace_back();
    row = {number(first.scenario),
           number(second.scenario),
           validation.groups[first.group].name,
           first.policy,
           second.policy,
           pair.predicted_ratio,
           pair.measured_ratio,
           std::int64_t{pair.decidable ? 1 : 0},
           std::int64_t{pair.right ? 1 : 0},
           pair.right_at_speed ? Cell{std::int64_t{*pair.right_at_speed ? 1 : 0}} : Cell{},
           pair.probability ? Cell{*pair.probability} : Cell{},
           first.error - second.error};
    for (std::size_t part = 0; part < error_part_count; ++part) {
      const auto share = [&](const ScenarioOutcome& outcome) {
        return to_us(outcome.comparison.budget.parts.at(part)) / outcome.measured_us;
      };
      row.emplace_back(share(first) - share(second));
    }
  }
  return table;
}

Table runs_table(const ValidationReport& report) {
  using enum ColumnRole;
  Table table{.columns = {{"scenario", note},
                          {"name", axis},
                          {"round", metric},
                          {"position", metric},
                          {"makespan_us", metric},
                          {"makespan_ps", metric}},
              .rows = {}};
  for (std::uint64_t scenario = 0; scenario < report.measured.scenarios.size(); ++scenario) {
    for (const RunRecord& run : report.measured.scenarios[scenario].runs) {
      table.rows.push_back({number(scenario),
                            report.grid.describe(scenario),
                            number(run.round),
                            number(run.position),
                            to_us(run.makespan),
                            run.makespan.count()});
    }
  }
  return table;
}

}  // namespace schedlab
