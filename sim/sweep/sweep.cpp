// SPDX-License-Identifier: Apache-2.0
#include "sim/sweep/sweep.hpp"

#include "sim/base/error.hpp"
#include "sim/sweep/parallel_rows.hpp"

#include <fmt/format.h>

namespace schedlab::detail {
namespace {

/// Moves the results behind the axis cells of their row.
void append(Table& table, std::uint64_t index, std::size_t axes, Row row) {
  SCHEDLAB_EXPECTS(
      table.columns.size() == axes + row.size(),
      fmt::format(
          "row {} has {} results, row 0 has {}", index, row.size(), table.columns.size() - axes));
  for (std::size_t i = 0; i < row.size(); ++i) {
    SCHEDLAB_EXPECTS(table.columns[axes + i].name == row[i].name,
                     fmt::format("row {} has \"{}\" where row 0 has \"{}\"",
                                 index,
                                 row[i].name,
                                 table.columns[axes + i].name));
    table.rows[index].push_back(std::move(row[i].value));
  }
}

}  // namespace

Table run_rows(std::vector<std::string> axis_names,
               std::uint64_t count,
               unsigned jobs,
               const StopFlag* stop,
               const std::function<std::vector<Cell>(std::uint64_t)>& axis_cells,
               const std::function<Row(std::uint64_t)>& run_one) {
  Table table;
  for (std::string& name : axis_names) {
    table.columns.push_back({.name = std::move(name), .role = ColumnRole::axis});
  }
  const std::size_t axes = table.columns.size();
  table.rows.resize(count);
  const auto work = [&](RowRange range, unsigned) -> Commit {
    std::vector<Row> rows;
    for (std::uint64_t i = range.first; i < range.last; ++i) rows.push_back(run_one(i));
    return [&, range, rows = std::move(rows)]() mutable {
      for (std::uint64_t i = range.first; i < range.last; ++i) {
        Row& row = rows[i - range.first];
        if (i == 0) {
          for (const NamedCell& cell : row)
            table.columns.push_back({cell.name, ColumnRole::metric});
        }
        table.rows[i] = axis_cells(i);
        append(table, i, axes, std::move(row));
      }
    };
  };
  if (parallel_rows(count, jobs, stop, work) < count) {
    throw InfeasibleError("the sweep was stopped before its end");
  }
  return table;
}

}  // namespace schedlab::detail
