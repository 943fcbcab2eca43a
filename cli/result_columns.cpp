// SPDX-License-Identifier: Apache-2.0
#include "cli/result_columns.hpp"

#include <utility>

namespace schedlab {
namespace {

/// Divided, not multiplied, so that 13159675300 ps print as 13159.6753.
Cell microseconds(Duration duration) {
  return static_cast<double>(duration.count()) / 1e6;
}

Cell number(std::uint64_t value) {
  return static_cast<std::int64_t>(value);
}

}  // namespace

const std::vector<ResultColumn>& result_columns() {
  using enum ColumnType;
  static const std::vector<ResultColumn> columns{
      {"makespan_us", real, "length of the run"},
      {"makespan_ps", integer, "the same, exact"},
      {"bound_us", real, "the largest lower bound on the makespan of any schedule or of this host"},
      {"bound", text, "which bound that is: critical_path, work or host_issue"},
      {"gap", real, "makespan over the bound; 1 is optimal"},
      {"utilization", real, "compute units in use, time-weighted"},
      {"busy_share", real, "share of the makespan in which some task runs"},
      {"mean_concurrency", real, "tasks running at once, on average"},
      {"overlap_share", real, "of the time with critical work: how much has non-critical work too"},
      {"matmul_share", real, "of the summed task time: how much is matrix products"},
      {"host_busy_share", real, "share of the makespan in which the host makes calls"},
      {"host_bound_share", real, "share in which the device waits for the host"},
      {"peak_memory_bytes", integer, "most memory held at once"},
      {"tasks", integer, "tasks of the graph"},
      {"launches", integer, "kernels launched"},
      {"host_calls", integer, "host calls of the plan"},
      {"records", integer, "event records"},
      {"waits", integer, "waits of streams for events"},
      {"queries", integer, "stream queries"},
      {"events", integer, "events of the plan"},
      {"streams", integer, "streams of the plan"},
      {"findings", integer, "what the plan checker found; missing: not checked"},
      {"note", text, "why there is no result, or the checker's first finding"},
  };
  return columns;
}

std::vector<std::string> result_column_names() {
  std::vector<std::string> names;
  for (const ResultColumn& column : result_columns()) names.push_back(column.name);
  return names;
}

std::vector<Cell> result_cells(const ScenarioResult& result) {
  if (result.failed) {
    std::vector<Cell> cells(result_columns().size());
    cells.back() = result.note;
    return cells;
  }
  const Summary& s = result.summary;
  return {microseconds(s.makespan),
          std::int64_t{s.makespan.count()},
          microseconds(s.bounds.largest()),
          std::string{s.bounds.largest_name()},
          s.gap,
          s.utilization,
          s.busy_share,
          s.mean_concurrency,
          s.overlap_share,
          s.matmul_share,
          s.host_busy_share,
          s.host_bound_share,
          std::int64_t{s.peak_memory.count()},
          number(s.tasks),
          number(s.launches),
          number(s.host_calls),
          number(s.records),
          number(s.waits),
          number(s.queries),
          number(s.events),
          number(s.streams),
          result.checked ? Cell{result.findings} : Cell{},
          result.note.empty() ? Cell{} : Cell{result.note}};
}

}  // namespace schedlab
