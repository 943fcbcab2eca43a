// SPDX-License-Identifier: Apache-2.0
#include "tests/bench/results_table.hpp"

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include <algorithm>
#include <utility>

namespace schedlab::bench {

double Measured::minimum() const {
  return *std::min_element(values.begin(), values.end());
}

double Measured::median() const {
  std::vector<double> sorted(values);
  std::sort(sorted.begin(), sorted.end());
  return sorted[sorted.size() / 2];
}

void ResultsTable::ReportRuns(const std::vector<Run>& runs) {
  std::vector<Run> medians;  // the only lines to print: there are dozens of repetitions
  for (const Run& run : runs) {
    if (run.aggregate_name == "median") medians.push_back(run);
    if (run.run_type != Run::RT_Iteration || run.error_occurred) continue;
    const std::string& name = run.run_name.function_name;
    const std::size_t slash = name.rfind('/');
    if (slash == std::string::npos) continue;
    const auto tasks = static_cast<std::uint32_t>(std::stoul(name.substr(slash + 1)));
    const double seconds =
        run.real_accumulated_time / static_cast<double>(run.iterations);  // set by hand: CPU time
    add(name.substr(0, slash), tasks, "ns/task", seconds * 1e9 / tasks);
  }
  ConsoleReporter::ReportRuns(medians);
}

Measured& ResultsTable::row(const std::string& work, std::uint32_t tasks, const std::string& unit) {
  for (Measured& measured : rows_) {
    if (measured.work == work && measured.tasks == tasks) return measured;
  }
  rows_.push_back({work, tasks, unit, {}});
  return rows_.back();
}

void ResultsTable::add(const std::string& work,
                       std::uint32_t tasks,
                       const std::string& unit,
                       double value) {
  row(work, tasks, unit).values.push_back(value);
}

void ResultsTable::set_goal(const std::string& work, std::uint32_t tasks, double at_most) {
  goals_[{work, tasks}] = {at_most, false};
}

void ResultsTable::set_least(const std::string& work, std::uint32_t tasks, double at_least) {
  goals_[{work, tasks}] = {at_least, true};
}

void ResultsTable::compare(const std::string& work, const std::string& reference) {
  references_[work].push_back(reference);
}

double ResultsTable::best(const std::string& work, std::uint32_t tasks) const {
  for (const Measured& measured : rows_) {
    if (measured.work == work && measured.tasks == tasks && !measured.values.empty()) {
      return measured.minimum();
    }
  }
  return 0;
}

const ResultsTable::Goal* ResultsTable::goal_of(const Measured& measured) const {
  const auto found = goals_.find({measured.work, measured.tasks});
  return found == goals_.end() ? nullptr : &found->second;
}

double ResultsTable::shown(const Measured& measured, const Goal* goal) {
  const bool rate = (goal != nullptr && goal->least) || measured.unit.ends_with("/s");
  return rate ? *std::max_element(measured.values.begin(), measured.values.end())
              : measured.minimum();
}

std::vector<std::pair<std::string, double>> ResultsTable::ratios_of(
    const Measured& measured) const {
  std::vector<std::pair<std::string, double>> ratios;
  const auto found = references_.find(measured.work);
  if (found == references_.end()) return ratios;
  for (const std::string& reference : found->second) {
    const double theirs = best(reference, measured.tasks);
    if (theirs > 0) ratios.emplace_back(reference, measured.minimum() / theirs);
  }
  return ratios;
}

std::string ResultsTable::text() const {
  std::string out = fmt::format("\n{:<52} {:>9} {:>10} {:>10}  {:<11} {:>8}  {}\n",
                                "work",
                                "tasks",
                                "best",
                                "median",
                                "unit",
                                "goal",
                                "best / reference");
  for (const Measured& measured : rows_) {
    if (measured.values.empty()) continue;
    const Goal* goal = goal_of(measured);
    const double best = shown(measured, goal);
    std::string verdict;
    if (goal != nullptr) {
      const bool met = goal->least ? best >= goal->value : best <= goal->value;
      verdict =
          fmt::format("{}{:g} {}", goal->least ? ">=" : "<=", goal->value, met ? "met" : "MISSED");
    }
    std::string ratios;
    for (const auto& [reference, ratio] : ratios_of(measured)) {
      ratios += fmt::format("{}{:.3g} x {}", ratios.empty() ? "" : ", ", ratio, reference);
    }
    out += fmt::format("{:<52} {:>9} {:>10.4g} {:>10.4g}  {:<11} {:>8}  {}\n",
                       measured.work,
                       measured.tasks,
                       best,
                       measured.median(),
                       measured.unit,
                       verdict,
                       ratios);
  }
  return out;
}

std::string ResultsTable::json() const {
  nlohmann::ordered_json rows = nlohmann::ordered_json::array();
  for (const Measured& measured : rows_) {
    if (measured.values.empty()) continue;
    const Goal* goal = goal_of(measured);
    nlohmann::ordered_json row{{"work", measured.work},
                               {"tasks", measured.tasks},
                               {"unit", measured.unit},
                               {"best", shown(measured, goal)},
                               {"median", measured.median()},
                               {"repetitions", measured.values.size()}};
    if (goal != nullptr) {
      const double best = shown(measured, goal);
      row["goal"] = goal->value;
      row["met"] = goal->least ? best >= goal->value : best <= goal->value;
    }
    for (const auto& [reference, ratio] : ratios_of(measured)) row["ratio_to"][reference] = ratio;
    rows.push_back(row);
  }
  return rows.dump(2) + "\n";
}

}  // namespace schedlab::bench
