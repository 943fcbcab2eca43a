// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "sim/sweep/table.hpp"

#include <string>
#include <vector>

namespace schedlab {

/// A grid whose runs were made once, elsewhere: axes and metrics by name, and a row for each run.
/// `text` is `{"schedlab": "recorded", "version": 1, "axes": [...], "metrics": [...], "rows":
/// [...]}`. Throws InputError naming `file`: what the schema forbids, a row that is too short or
/// too long, a metric that is no number.
[[nodiscard]] Table parse_recorded_runs(const std::string& text, const std::string& file);

/// The values that occur in each column of axes; nothing for metrics.
[[nodiscard]] std::vector<std::vector<Cell>> recorded_axis_values(const Table& table);

}  // namespace schedlab
