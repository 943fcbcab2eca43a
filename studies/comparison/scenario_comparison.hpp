// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "sim/base/fields.hpp"
#include "sim/base/robust_statistics.hpp"

#include <cstdint>
#include <filesystem>
#include <optional>
#include <string>
#include <vector>

namespace schedlab {

/// One scenario of a sweep or of a validation, as its files tell it.
struct ScenarioTime {
  std::vector<std::string> values;   ///< by axis; "" where the axis does not apply
  Duration time{0};                  ///< makespan, or median of the measured ones; 0: none
  std::optional<Interval> interval;  ///< 95 %, in us; nullopt: not measured
};

/// A number that is said of all scenarios of a validation together.
struct OverallNumber {
  std::string name;
  double value = 0;
};

/// The scenarios of a sweep or of a validation.
struct ScenarioTimes {
  struct Axis {
    std::string name;
    bool of_policy = false;
  };
  std::string file;     ///< what they were read from
  std::string program;  ///< version that wrote it; may be empty
  std::vector<Axis> axes;
  std::vector<ScenarioTime> scenarios;
  std::vector<OverallNumber> numbers;
};

/// results.sqlite of a sweep. Throws InputError.
[[nodiscard]] ScenarioTimes times_of_sweep(const std::filesystem::path& database);
/// validation.json. Its axes are "case", all that scenarios of a group share, and "policy".
/// Throws InputError.
[[nodiscard]] ScenarioTimes times_of_validation(const std::filesystem::path& file);

/// A scenario that ran in both.
struct ScenarioChange {
  std::string scenario;  ///< "layers=2, policy=heft": what tells it from the others
  std::string group;     ///< the part that is no policy
  std::string policy;
  Duration first{0};
  Duration second{0};
  std::optional<bool> decidable;  ///< measured: the 95 % intervals of the two do not overlap

  [[nodiscard]] double ratio() const { return to_us(second) / to_us(first); }
  /// May it be told from noise? What is simulated always may.
  [[nodiscard]] bool counts() const { return decidable.value_or(true); }
};

/// All scenarios with one value of an axis.
struct AxisChange {
  std::string axis;
  std::string value;
  std::size_t scenarios = 0;
  double ratio = 1;  ///< geometric mean of second over first
  double min = 1;
  double max = 1;
};

/// A case whose fastest policy is another in the second.
struct WinnerChange {
  std::string group;
  std::string first_policy;
  std::string second_policy;
  double loss = 0;  ///< of the former winner in the second: its time over the fastest there, less 1
  std::optional<bool> decidable;  ///< measured: their 95 % intervals do not overlap there
};

struct NumberChange {
  std::string name;
  double first = 0;
  double second = 0;
};

/// What is different between two sweeps, or two validations. Scenarios are matched by the values of
/// the axes that both have.
struct ScenarioComparison {
  std::string first_program;
  std::string second_program;
  std::vector<ScenarioChange> scenarios;  ///< the largest ratio first
  std::vector<std::string> first_only;    ///< scenarios that only one of them has
  std::vector<std::string> second_only;
  std::vector<std::string> first_failed;  ///< of those in both: without a time there
  std::vector<std::string> second_failed;
  std::vector<std::string> lone_axes;  ///< that only one of them has
  std::size_t slower = 0;              ///< scenarios that take longer in the second, and count
  std::size_t faster = 0;
  double ratio = 1;  ///< geometric mean of second over first
  double median = 1;
  std::vector<AxisChange> axes;  ///< of axes with several values; the largest ratio of each first
  std::size_t groups = 0;        ///< cases with several policies in both
  std::vector<WinnerChange> winners;  ///< the largest loss first
  std::vector<NumberChange> numbers;
};

/// Throws InputError if nothing is in both, or if axes that only one has are needed to tell its
/// scenarios apart.
[[nodiscard]] ScenarioComparison compare_scenarios(const ScenarioTimes& first,
                                                   const ScenarioTimes& second);

[[nodiscard]] const Fields<ScenarioComparison>& scenario_comparison_fields();
/// One scenario, in comparison.json and (a row) in comparison.csv.
[[nodiscard]] const Fields<ScenarioChange>& scenario_change_fields();

}  // namespace schedlab
