// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "sim/sweep/table.hpp"
#include "sim/trace/sampled_metrics.hpp"
#include "sim/trace/summary.hpp"

#include <string>
#include <vector>

namespace schedlab {

/// How one scenario of a sweep ended.
struct ScenarioResult {
  Summary summary;               ///< without noise; all zero when `error` is set
  Samples samples;               ///< on a machine that scatters; else empty
  bool checked = false;          ///< the plan checker saw the plan
  std::int64_t findings = 0;     ///< what it found
  std::string note;              ///< the error, or the first finding; empty: all is well
  bool failed = false;           ///< there is no result, `note` says why
  std::int64_t found_split = 0;  ///< slices of the batch; 0: the spec gives them, or needs none
};

/// What SQL calls the type of a column.
enum class ColumnType : std::uint8_t { integer, real, text };

struct ResultColumn {
  std::string name;  ///< the same word in the database, the CSV file, plots and reports
  ColumnType type = ColumnType::real;
  std::string doc;
};

/// The columns of a result, without those of the axes; `sampled`: with those that a machine that
/// scatters adds.
[[nodiscard]] const std::vector<ResultColumn>& result_columns(bool sampled);
[[nodiscard]] std::vector<std::string> result_column_names(bool sampled);

/// One cell per result_columns(); those of a failed scenario are missing, but for its note.
[[nodiscard]] std::vector<Cell> result_cells(const ScenarioResult& result, bool sampled);

}  // namespace schedlab
