// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "notebooks_export/axis.hpp"
#include "notebooks_export/sweep_view.hpp"
#include "sim/sweep/table.hpp"

#include <cstddef>
#include <optional>
#include <string>
#include <utility>
#include <vector>

namespace schedlab {

/// Range and geometric mean of numbers above 0, such as ratios.
struct RatioSpread {
  Range range;
  double logarithms = 0;
  std::size_t count = 0;

  /// Numbers that are missing or not above 0 are left out.
  void add(std::optional<double> value);
  /// 0 without numbers.
  [[nodiscard]] double mean() const;
};

/// A speed-up over the baseline in two factors; their product is the speed-up.
struct SplitGain {
  double cut = 1;    ///< of the baseline's policy, when it is given this run's granularity
  double order = 1;  ///< of this policy over the baseline's at that granularity
};

/// At which granularities the policies of a sweep were run besides their own: the columns
/// "makespan_at_*_ps". Empty: the table has none, as all policies of a case were given the same, or
/// as the sweep was told not to.
[[nodiscard]] std::vector<std::string> compared_granularities(const Table& table);

/// nullopt if the case has no baseline, or its policy no run at this run's granularity.
[[nodiscard]] std::optional<SplitGain> split_gain(const SweepView& view,
                                                  const SweepCase& one,
                                                  const SweepRun& run);

/// For the subtitles of pictures that do not compare like for like.
inline constexpr const char* own_granularity = "each policy at its own task granularity";

/// Do the policies of some case have tasks of different granularities, or found different numbers
/// of slices?
[[nodiscard]] bool given_differently(const SweepView& view);

/// The table with "task_granularity" as an axis: each run at each granularity that is compared, so
/// that all runs of a case were given the same. Of a run that is not among its rows only the
/// makespan is known. The rows of a case that leaves no choice stay as they are.
[[nodiscard]] Table like_for_like_table(const Table& table);

/// A row per policy and granularity: tasks, kernels and work over all cases, work relative to what
/// the baseline was given.
[[nodiscard]] Table given_table(const SweepView& view);

/// Who has the shortest makespan in how many cases, the most first.
[[nodiscard]] std::vector<std::pair<std::string, std::size_t>> wins(const SweepView& view);
/// "clever in 10, single_stream in 8 of 18 cases": who has the shortest makespan how often.
[[nodiscard]] std::string wins_text(const SweepView& view);

/// The comparison in sentences, like for like first. Empty with one policy.
[[nodiscard]] std::vector<std::string> comparison_text(const SweepView& view);

}  // namespace schedlab
