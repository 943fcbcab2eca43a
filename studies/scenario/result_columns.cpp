// SPDX-License-Identifier: Apache-2.0
#include "studies/scenario/result_columns.hpp"

#include "studies/scenario/components.hpp"

#include <fmt/format.h>

#include <array>
#include <string_view>
#include <utility>

namespace schedlab {
namespace {

/// Divided, not multiplied, so that 13159675300 ps print as 13159.6753.
Cell microseconds(Duration duration) {
  return static_cast<double>(duration.count()) / 1e6;
}

/// Missing where there is nothing to divide by.
Cell ratio(Duration of, Duration over) {
  if (over.count() <= 0) return {};
  return static_cast<double>(of.count()) / static_cast<double>(over.count());
}

/// "100 90 80"; longer lists are in metrics.json.
Cell stage_peaks(const Summary& summary) {
  constexpr std::size_t most_shown = 64;
  const auto& peaks = summary.stage_peak_memory;
  if (peaks.empty() || peaks.size() > most_shown) return {};
  std::string all;
  for (const Bytes peak : peaks) {
    if (!all.empty()) all += ' ';
    all += std::to_string(peak.count());
  }
  return all;
}

Cell number(std::uint64_t value) {
  return static_cast<std::int64_t>(value);
}

std::vector<ResultColumn> number_columns() {
  using enum ColumnType;
  return {
      {"makespan_us", real, "length of the run"},
      {"makespan_ps", integer, "the same, exact"},
      {"case_bound_us",
       real,
       "no schedule of this case can be shorter, at any granularity that one of its policies was "
       "given"},
      {"case_bound", text, "which bound that is: critical_path or work"},
      {"case_gap", real, "makespan over the bound of the case"},
      {"bound_us",
       real,
       "the largest lower bound for the tasks and the plan of this row; another granularity or "
       "plan can beat it"},
      {"bound",
       text,
       "which bound that is: critical_path or work, of any schedule of these tasks; or host_issue, "
       "of the host calls of this plan"},
      {"gap", real, "makespan over that bound"},
      {"utilization", real, "compute units in use, time-weighted"},
      {"busy_share", real, "share of the makespan in which some task runs"},
      {"mean_concurrency", real, "tasks running at once, on average"},
      {"overlap_share", real, "of the time with critical work: how much has non-critical work too"},
      {"matmul_share", real, "of the summed task time: how much is matrix products"},
      {"host_busy_share", real, "share of the makespan in which the host makes calls"},
      {"host_bound_share",
       real,
       "share in which a device is idle and its next task not yet submitted"},
      {"load_us", real, "host time of loading device graphs or sunk models"},
      {"head_overhead_us", real, "from the calls that launch them to their arrival on the device"},
      {"collective_wait_us", real, "how long a rank waits in collectives for the last to start"},
      {"peak_memory_bytes", integer, "most memory held at once"},
      {"bubble_share", real, "of a pipeline: share in which a rank works on no pass or update"},
      {"stage_peak_memory_bytes", text, "of a pipeline: peak of each stage, up to 64 of them"},
      {"task_granularity",
       text,
       "how finely the workload was cut for this policy; missing: it has no such option"},
      {"work_us", real, "all tasks of the graph on all units; 0: units are unlimited"},
      {"tasks", integer, "tasks of the graph"},
      {"launches", integer, "kernels launched"},
      {"host_calls", integer, "host calls of the plan"},
      {"records", integer, "event records"},
      {"waits", integer, "waits of streams for events"},
      {"queries", integer, "stream queries"},
      {"events", integer, "events of the plan"},
      {"streams", integer, "streams of the plan"},
      {"found_split", integer, "slices of the batch where the spec says \"auto\""},
  };
}

/// What is said of each number that scatters.
struct SampleColumn {
  std::string_view ending;
  std::string_view doc;
  double SampleSummary::*value;
};

constexpr std::array<SampleColumn, 6> sample_columns{
    {{"_mean", "mean of the samples", &SampleSummary::mean},
     {"_mean_low", "lower end of the 95 % interval of that mean", &SampleSummary::mean_low},
     {"_mean_high", "upper end of it", &SampleSummary::mean_high},
     {"_median", "median of the samples", &SampleSummary::median},
     {"_p5", "5 % of the samples are below", &SampleSummary::p5},
     {"_p95", "95 % of the samples are below", &SampleSummary::p95}}};

void append_samples(std::vector<Cell>& cells, const Samples& samples) {
  cells.push_back(number(samples.count()));
  for (const SampleSummary& summary : samples.summaries()) {
    for (const SampleColumn& column : sample_columns) {
      cells.emplace_back();
      if (summary.count > 0) cells.back() = summary.*column.value;
    }
  }
}

}  // namespace

std::vector<ResultColumn> result_columns(const ResultLayout& layout) {
  std::vector<ResultColumn> columns = number_columns();
  for (const Granularity granularity : layout.granularities) {
    columns.push_back({makespan_column(granularity),
                       ColumnType::integer,
                       fmt::format("makespan of this policy when it is given granularity {}; "
                                   "missing: it cannot, or its plan is wrong",
                                   granularity_word(granularity))});
  }
  if (layout.sampled) {
    columns.push_back({"samples", ColumnType::integer, "runs drawn on a machine that scatters"});
    for (const SampledMetric& metric : sampled_metrics()) {
      for (const SampleColumn& column : sample_columns) {
        columns.push_back({std::string{metric.name} + std::string{column.ending},
                           ColumnType::real,
                           std::string{metric.name} + ": " + std::string{column.doc}});
      }
    }
  }
  columns.push_back(
      {"findings", ColumnType::integer, "what the plan checker found; missing: not checked"});
  columns.push_back(
      {"note",
       ColumnType::text,
       "why there is no result, the checker's first finding, or what to know of the "
       "result: a host by name decides and how well its cost is known, durations that "
       "are the same on every machine"});
  return columns;
}

std::vector<std::string> result_column_names(bool sampled) {
  std::vector<std::string> names;
  const ResultLayout layout{.sampled = sampled,
                            .granularities = {all_granularities.begin(), all_granularities.end()}};
  for (const ResultColumn& column : result_columns(layout)) names.push_back(column.name);
  return names;
}

std::string makespan_column(Granularity granularity) {
  return fmt::format("makespan_at_{}_ps", granularity_word(granularity));
}

std::vector<Cell> result_cells(const ScenarioResult& result, const ResultLayout& layout) {
  if (result.failed) {
    std::vector<Cell> cells(result_columns(layout).size());
    cells.back() = result.note;
    return cells;
  }
  const LikeForLike& like = result.like_for_like;
  const Summary& s = result.summary;
  std::vector<Cell> cells{microseconds(s.makespan),
                          std::int64_t{s.makespan.count()},
                          microseconds(like.bounds.largest()),
                          std::string{like.bounds.largest_name()},
                          ratio(s.makespan, like.bounds.largest()),
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
                          microseconds(s.load),
                          microseconds(s.head_overhead),
                          microseconds(s.collective_wait),
                          std::int64_t{s.peak_memory.count()},
                          s.bubble_share ? Cell{*s.bubble_share} : Cell{},
                          stage_peaks(s),
                          like.granularity.empty() ? Cell{} : Cell{like.granularity},
                          microseconds(s.bounds.work),
                          number(s.tasks),
                          number(s.launches),
                          number(s.host_calls),
                          number(s.records),
                          number(s.waits),
                          number(s.queries),
                          number(s.events),
                          number(s.streams),
                          result.found_split > 0 ? Cell{result.found_split} : Cell{}};
  for (const Duration makespan : like.makespans) {
    cells.push_back(makespan.count() > 0 ? Cell{std::int64_t{makespan.count()}} : Cell{});
  }
  if (layout.sampled) append_samples(cells, result.samples);
  cells.push_back(result.checked ? Cell{result.findings} : Cell{});
  cells.push_back(result.note.empty() ? Cell{} : Cell{result.note});
  return cells;
}

}  // namespace schedlab
