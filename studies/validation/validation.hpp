// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "sim/base/robust_statistics.hpp"
#include "sim/base/statistics.hpp"
#include "sim/trace/compare.hpp"
#include "studies/execution/measurement.hpp"
#include "studies/scenario/scenario_space.hpp"
#include "studies/validation/prediction.hpp"
#include "studies/validation/ranking.hpp"
#include "studies/validation/speed_of_machine.hpp"

#include <array>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace schedlab {

struct MemoryOutcome {
  Bytes predicted{};
  Bytes measured{};
  double error = 0;  ///< predicted / measured - 1
};

/// The prediction as it would have been at the machine's speed during the measurement, from speed
/// checks.
struct OutcomeAtSpeed {
  double predicted_us = 0;
  double error = 0;                      ///< predicted / measured - 1
  std::optional<Interval> predicted_90;  ///< of the median, us
};

/// The runs of the rounds that were not disturbed.
struct UndisturbedOutcome {
  std::size_t runs = 0;
  double measured_us = 0;  ///< median
  double error = 0;
};

/// One scenario, predicted and measured.
struct ScenarioOutcome {
  std::uint64_t scenario = 0;
  std::string name;    ///< all axes
  std::string policy;  ///< what tells it from the others of its group
  std::size_t group = 0;
  std::string note;  ///< why there is no comparison; then only the fields above have meaning
  std::size_t runs = 0;
  double predicted_us = 0;
  CostEvidence predicted_evidence = CostEvidence::data_sheet;  ///< what the prediction rests on
  double measured_us = 0;                                      ///< median
  Interval measured_95;                                        ///< of the median, us
  double min_us = 0;                                           ///< fastest run
  double spread = 0;  ///< interquartile range of the runs over their median
  double error = 0;   ///< predicted / measured - 1
  bool in_calibrated_range = true;
  /// Tensors of the simulated run, and what the measured runs allocated at most; nullopt: that was
  /// not counted.
  std::optional<MemoryOutcome> memory;
  std::optional<Interval> predicted_90;    ///< of the median, us; nullopt: not calibrated
  std::optional<Interval> run_90;          ///< of a single run, us
  std::optional<OutcomeAtSpeed> at_speed;  ///< nullopt: the machine had no speed checks
  /// nullopt: not checked, or fewer than min_undisturbed runs.
  std::optional<UndisturbedOutcome> undisturbed;
  /// Share of tasks behind another one on their stream than predicted, median of the kept runs;
  /// nullopt: all was decided before the run.
  std::optional<double> changed_decisions;
  TraceComparison comparison;

  [[nodiscard]] bool compared() const { return note.empty(); }
};

/// Scenarios that differ in their policy alone.
struct GroupOutcome {
  std::string name;                  ///< the axes they share
  std::vector<std::size_t> members;  ///< compared outcomes
  std::optional<std::size_t> baseline;
  std::optional<double> kendall_tau;
  double regret = 0;
  std::size_t predicted_best = 0;  ///< outcomes; of a group without members: 0
  std::size_t measured_best = 0;
};

/// Speed-up over the baseline policy of the group.
struct SpeedUpOutcome {
  std::size_t outcome = 0;
  double predicted = 0;
  double measured = 0;
  bool decidable = false;  ///< as PairOutcome::decidable, against the baseline
  bool sign_agrees = false;
};

struct PairOutcome {
  std::size_t first = 0;  ///< outcomes of one group
  std::size_t second = 0;
  double predicted_ratio = 0;  ///< makespan of the second over that of the first
  double measured_ratio = 0;
  bool decidable = false;              ///< the 95 % intervals of the two medians do not overlap
  bool right = false;                  ///< the predicted order is the measured one
  std::optional<bool> right_at_speed;  ///< the order at the speed of the measurement, if checked
  std::optional<double> probability;   ///< that the first is faster: share of draws, ties half
};

/// A part of the error budgets, over all scenarios, relative to the measured makespan.
struct BudgetSummary {
  double bias = 0;      ///< median, with its sign
  double absolute = 0;  ///< median of the absolute values
};

/// One policy over all groups.
struct PolicySummary {
  std::string policy;
  std::size_t scenarios = 0;
  ErrorSummary error;
  std::size_t speed_ups = 0;      ///< groups that have the baseline, too
  double predicted_speed_up = 0;  ///< medians over these
  double measured_speed_up = 0;
  std::size_t signs_right = 0;
  std::size_t decidable = 0;
  std::size_t decidable_right = 0;
};

/// Errors of tasks of one kind over all scenarios.
struct KindSummary {
  std::string kind;
  std::size_t scenarios = 0;
  std::uint64_t tasks = 0;
  double duration_p50 = 0;  ///< medians over the scenarios of their p50, p90 and bias
  double duration_p90 = 0;
  double start_p50 = 0;
  double start_p90 = 0;
  double bias = 0;
};

struct Validation {
  std::vector<ScenarioOutcome> scenarios;
  std::vector<GroupOutcome> groups;
  std::vector<PairOutcome> pairs;
  std::vector<SpeedUpOutcome> speed_ups;
  std::string baseline;  ///< label of the baseline policy; empty: there is none
  bool calibrated = false;

  ErrorSummary all;
  ErrorSummary inside;  ///< the calibrated range
  ErrorSummary outside;
  ErrorSummary memory;   ///< of peaks, where what is allocated was counted
  ErrorSummary fastest;  ///< all, against the fastest run: less for what others do to the machine
  double spread = 0;     ///< median over the scenarios of theirs
  SpeedSummary speed;
  ErrorSummary at_speed;              ///< of predictions at the speed of the measurement
  ErrorSummary undisturbed;           ///< against medians without disturbed rounds
  Proportion at_speed_order;          ///< of decidable pairs
  Proportion at_speed_coverage;       ///< of the intervals at that speed
  std::optional<double> kendall_tau;  ///< over all scenarios
  std::optional<double> group_tau;    ///< median over the groups
  double mean_regret = 0;
  double max_regret = 0;
  std::size_t decidable = 0;                 ///< pairs
  Proportion order;                          ///< share of decidable pairs whose order is right
  Proportion signs;                          ///< share of decidable speed-ups whose sign is right
  Proportion all_signs;                      ///< the same of all
  Proportion coverage;                       ///< share of measured medians within the 90 % interval
  Proportion run_coverage;                   ///< share of single runs within theirs
  ProbabilityScore probabilities;            ///< of all pairs
  ProbabilityScore decidable_probabilities;  ///< of decidable ones
  std::array<BudgetSummary, error_part_count> budget{};
  std::vector<KindSummary> kinds;
  std::vector<PolicySummary> policies;  ///< in the order of the spec
};

/// Groups of the grid: scenarios that differ in axes of the policy alone, in their order.
[[nodiscard]] std::vector<std::vector<std::uint64_t>> policy_groups(const Grid& grid);

/// All statistics. `predicted` and `measured.scenarios` by scenario. `baseline`: name of a
/// registered policy that speed-ups refer to, where a group has it. `seed`: of the bootstrap.
/// `at_speed`: by scenario, predictions at the speed of the measurement; empty: not checked.
[[nodiscard]] Validation validate(
    const ScenarioSpace& space,
    const std::vector<PredictedScenario>& predicted,
    const Measurements& measured,
    const std::string& baseline,
    std::uint64_t seed,
    const std::vector<std::optional<PredictionAtSpeed>>& at_speed = {});

/// Runs that a median without disturbed rounds needs.
inline constexpr std::size_t min_undisturbed = 5;

/// Bounds that a user gives; nullopt: none.
struct ValidationBounds {
  std::optional<double> median_error;
  std::optional<double> p90_error;
  std::optional<double> order;     ///< least share of decidable pairs in the right order
  std::optional<double> coverage;  ///< least share of medians within the intervals
};
/// One sentence for each bound that is not kept; a bound on nothing (no scenario within the
/// calibrated range, no decidable pair) is not kept. Errors are judged within the calibrated range.
[[nodiscard]] std::vector<std::string> broken_bounds(const Validation& validation,
                                                     const ValidationBounds& bounds);

}  // namespace schedlab
