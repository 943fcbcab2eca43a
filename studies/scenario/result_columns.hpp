// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "sim/plan/policy.hpp"
#include "sim/sweep/table.hpp"
#include "sim/trace/lower_bounds.hpp"
#include "sim/trace/sampled_metrics.hpp"
#include "sim/trace/summary.hpp"

#include <string>
#include <vector>

namespace schedlab {

/// What the policy of a scenario was given to schedule, and what it makes of what the policies that
/// it is compared with were given.
struct LikeForLike {
  std::string granularity;          ///< of the tasks; empty: the workload leaves no choice
  std::vector<Duration> makespans;  ///< at each granularity that is compared; 0: no valid run
  /// Bounds of every schedule at any of them, where the larger of the two is least. host_issue
  /// is 0, as it belongs to a plan.
  LowerBounds bounds;
};

/// How one scenario of a sweep ended.
struct ScenarioResult {
  Summary summary;               ///< without noise; all zero when `error` is set
  Samples samples;               ///< on a machine that scatters; else empty
  bool checked = false;          ///< the plan checker saw the plan
  std::int64_t findings = 0;     ///< what it found
  std::string note;              ///< the error, or the first finding; empty: all is well
  bool failed = false;           ///< there is no result, `note` says why
  std::int64_t found_split = 0;  ///< slices of the batch; 0: the spec gives them, or needs none
  /// At which its workload was cut, where that leaves it open.
  Granularity granularity = Granularity::fine;
  LikeForLike like_for_like{};
};

/// What SQL calls the type of a column.
enum class ColumnType : std::uint8_t { integer, real, text };

struct ResultColumn {
  std::string name;  ///< the same word in the database, the CSV file, plots and reports
  ColumnType type = ColumnType::real;
  std::string doc;
};

/// What the columns of a sweep depend on besides its axes.
struct ResultLayout {
  bool sampled = false;  ///< the machine scatters
  /// What policies that are compared were given, where that differs (compared_granularities()).
  std::vector<Granularity> granularities{};
};

/// The columns of a result, without those of the axes.
[[nodiscard]] std::vector<ResultColumn> result_columns(const ResultLayout& layout);
/// All that a sweep may have, so that no axis takes such a name.
[[nodiscard]] std::vector<std::string> result_column_names(bool sampled);
/// "makespan_at_fine_ps".
[[nodiscard]] std::string makespan_column(Granularity granularity);

/// One cell per result_columns(); those of a failed scenario are missing, but for its note.
[[nodiscard]] std::vector<Cell> result_cells(const ScenarioResult& result,
                                             const ResultLayout& layout);

}  // namespace schedlab
