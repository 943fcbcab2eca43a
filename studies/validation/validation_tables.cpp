// SPDX-License-Identifier: Apache-2.0
#include "sim/base/statistics.hpp"
#include "studies/validation/validation_files.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <functional>
#include <optional>
#include <utility>
#include <vector>

namespace schedlab {
namespace {

Cell number(std::uint64_t value) {
  return static_cast<std::int64_t>(value);
}

/// A member of what is not always there, as a cell.
template <class Outcome, class Member>
Cell cell_of(const std::optional<Outcome>& outcome, Member member) {
  return outcome ? Cell{std::invoke(member, *outcome)} : Cell{};
}

/// A metric of scenarios that were compared.
struct ComparedColumn {
  const char* name;
  Cell (*value)(const ScenarioOutcome& outcome);
};

constexpr std::array compared_columns{
    ComparedColumn{"predicted_us",
                   [](const ScenarioOutcome& of) -> Cell { return of.predicted_us; }},
    ComparedColumn{
        "predicted_us_p5",
        [](const ScenarioOutcome& of) { return cell_of(of.predicted_90, &Interval::low); }},
    ComparedColumn{
        "predicted_us_p95",
        [](const ScenarioOutcome& of) { return cell_of(of.predicted_90, &Interval::high); }},
    ComparedColumn{"measured_us", [](const ScenarioOutcome& of) -> Cell { return of.measured_us; }},
    ComparedColumn{"measured_us_low",
                   [](const ScenarioOutcome& of) -> Cell { return of.measured_95.low; }},
    ComparedColumn{"measured_us_high",
                   [](const ScenarioOutcome& of) -> Cell { return of.measured_95.high; }},
    ComparedColumn{"measured_us_least",
                   [](const ScenarioOutcome& of) -> Cell { return of.least_us; }},
    ComparedColumn{"spread", [](const ScenarioOutcome& of) -> Cell { return of.spread; }},
    ComparedColumn{"error", [](const ScenarioOutcome& of) -> Cell { return of.error; }},
    ComparedColumn{"at_speed_us",
                   [](const ScenarioOutcome& of) {
                     return cell_of(of.at_speed, &OutcomeAtSpeed::predicted_us);
                   }},
    ComparedColumn{
        "at_speed_error",
        [](const ScenarioOutcome& of) { return cell_of(of.at_speed, &OutcomeAtSpeed::error); }},
    ComparedColumn{"undisturbed_us",
                   [](const ScenarioOutcome& of) {
                     return cell_of(of.undisturbed, &UndisturbedOutcome::measured_us);
                   }},
    ComparedColumn{"undisturbed_error",
                   [](const ScenarioOutcome& of) {
                     return cell_of(of.undisturbed, &UndisturbedOutcome::error);
                   }},
    ComparedColumn{
        "inside_calibrated_range",
        [](const ScenarioOutcome& of) -> Cell { return std::int64_t{of.inside_hull ? 1 : 0}; }},
    ComparedColumn{"predicted_memory_bytes",
                   [](const ScenarioOutcome& of) {
                     return cell_of(of.memory,
                                    [](const MemoryOutcome& m) { return m.predicted.count(); });
                   }},
    ComparedColumn{"measured_memory_bytes",
                   [](const ScenarioOutcome& of) {
                     return cell_of(of.memory,
                                    [](const MemoryOutcome& m) { return m.measured.count(); });
                   }},
    ComparedColumn{
        "memory_error",
        [](const ScenarioOutcome& of) { return cell_of(of.memory, &MemoryOutcome::error); }},
    ComparedColumn{
        "task_duration_error_p50",
        [](const ScenarioOutcome& of) -> Cell { return of.comparison.all.duration.p50; }},
    ComparedColumn{
        "task_duration_error_p90",
        [](const ScenarioOutcome& of) -> Cell { return of.comparison.all.duration.p90; }},
    ComparedColumn{"task_start_error_p50",
                   [](const ScenarioOutcome& of) -> Cell { return of.comparison.all.start.p50; }},
    ComparedColumn{"task_start_error_p90",
                   [](const ScenarioOutcome& of) -> Cell { return of.comparison.all.start.p90; }},
    ComparedColumn{
        "predicted_busy_us",
        [](const ScenarioOutcome& of) -> Cell { return to_us(of.comparison.simulated_busy); }},
    ComparedColumn{"measured_busy_us", [](const ScenarioOutcome& of) -> Cell {
                     return to_us(of.comparison.measured_busy);
                   }}};

std::vector<Column> scenario_columns(const Grid& grid) {
  using enum ColumnRole;
  std::vector<Column> columns{{"scenario", note}};
  for (const AxisColumn& one : grid.axes()) columns.push_back({one.name, axis});
  for (const char* name : {"group", "runs"}) columns.push_back({name, metric});
  for (const ComparedColumn& column : compared_columns) columns.push_back({column.name, metric});
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
      for (const ComparedColumn& column : compared_columns) row.push_back(column.value(outcome));
      for (const Duration part : outcome.comparison.budget.parts) row.emplace_back(to_us(part));
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
