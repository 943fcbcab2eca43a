// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <string>
#include <variant>
#include <vector>

namespace schedlab {

/// One value of a table; monostate = missing.
using Cell = std::variant<std::monostate, std::int64_t, double, std::string>;

enum class ColumnRole : std::uint8_t { axis, metric, note };

struct Column {
  std::string name;  ///< with its unit: "makespan_us"
  ColumnRole role = ColumnRole::metric;
};

/// Results of a sweep: one row per scenario, in the order of the axes whatever the number of
/// threads.
struct Table {
  std::vector<Column> columns;
  std::vector<std::vector<Cell>> rows;
};

}  // namespace schedlab
