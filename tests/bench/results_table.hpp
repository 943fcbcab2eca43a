// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <benchmark/benchmark.h>

#include <cstdint>
#include <map>
#include <string>
#include <vector>

namespace schedlab::bench {

/// What was measured under one name: a value per repetition.
struct Measured {
  std::string work;  ///< "in-order sweep"
  std::uint32_t tasks = 0;
  std::string unit;  ///< "ns/task", "B/task", "scenarios/s"
  std::vector<double> values;

  [[nodiscard]] double minimum() const;
  [[nodiscard]] double median() const;
};

/// Collects repetitions and prints one table at the end: minimum and median, ratio to each
/// reference of the same size, goal and whether it was met.
///
/// The minimum is compared: everything else on the machine only ever adds to a time.
class ResultsTable final : public benchmark::ConsoleReporter {
 public:
  ResultsTable() : ConsoleReporter(OO_None) {}

  /// Takes the benchmarks' names apart at the last '/': work and number of tasks.
  void ReportRuns(const std::vector<Run>& runs) override;
  /// Gives the row its place in the table; repetitions come in random order.
  void announce(const std::string& work, std::uint32_t tasks) { (void)row(work, tasks, "ns/task"); }
  void add(const std::string& work, std::uint32_t tasks, const std::string& unit, double value);

  /// `at_most` in ns or B per task at `tasks` tasks.
  void set_goal(const std::string& work, std::uint32_t tasks, double at_most);
  void set_least(const std::string& work, std::uint32_t tasks, double at_least);
  /// `work` is to be shown as a ratio to `reference`.
  void compare(const std::string& work, const std::string& reference);

  /// Nanoseconds per task of the fastest repetition; 0 if it was not measured.
  [[nodiscard]] double best(const std::string& work, std::uint32_t tasks) const;

  [[nodiscard]] std::string text() const;
  /// One object per row: work, tasks, unit, minimum, median, repetitions, goal, met, ratios.
  [[nodiscard]] std::string json() const;

 private:
  struct Goal {
    double value = 0;
    bool least = false;
  };
  [[nodiscard]] const Goal* goal_of(const Measured& measured) const;
  [[nodiscard]] static double shown(const Measured& measured, const Goal* goal);
  [[nodiscard]] std::vector<std::pair<std::string, double>> ratios_of(
      const Measured& measured) const;
  Measured& row(const std::string& work, std::uint32_t tasks, const std::string& unit);

  std::vector<Measured> rows_;  // by first appearance
  std::map<std::pair<std::string, std::uint32_t>, Goal> goals_;
  std::map<std::string, std::vector<std::string>> references_;
};

}  // namespace schedlab::bench
