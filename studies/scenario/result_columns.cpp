// SPDX-License-Identifier: Apache-2.0
#include "studies/scenario/result_columns.hpp"

#include "sim/sweep/field_table.hpp"
#include "sim/trace/summary_fields.hpp"
#include "studies/scenario/components.hpp"

#include <fmt/format.h>

#include <optional>
#include <string_view>
#include <utility>

namespace schedlab {
namespace {

/// Missing where there is nothing to divide by.
std::optional<double> ratio(Duration of, Duration over) {
  if (over.count() <= 0) return std::nullopt;
  return static_cast<double>(of.count()) / static_cast<double>(over.count());
}

/// What a sweep says of each scenario beside what all runs have.
const Fields<ScenarioResult>& result_fields() {
  using R = ScenarioResult;
  static const Fields<R> fields{
      inlined<R>(&R::summary, summary_fields().in(in_tables))
          .after("makespan_ps",
                 {{"case_bound_us",
                   [](const R& r) { return r.like_for_like.bounds.largest(); },
                   {.doc = "no schedule of this case can be shorter, at any granularity that one "
                           "of its policies was given"}},
                  {"case_bound",
                   [](const R& r) { return r.like_for_like.bounds.largest_name(); },
                   {.doc = "which bound that is, a word of the column bound"}},
                  {"case_gap",
                   [](const R& r) {
                     return ratio(r.summary.makespan, r.like_for_like.bounds.largest());
                   },
                   {.doc = "makespan over the bound of the case"}},
                  {"case_critical_path_us",
                   [](const R& r) { return r.like_for_like.bounds.critical_path; },
                   {.doc = "longest path of the graph whose bound that is, without launches and "
                           "delays: no machine that runs single tasks as fast is faster"}},
                  {"proven_optimal",
                   [](const R& r) {
                     const Duration bound = r.like_for_like.bounds.largest();
                     return std::int64_t{bound > Duration{0} && r.summary.makespan <= bound};
                   },
                   {.doc = "1: the makespan is the bound of the case; 0: not proven"}}})
          .after("stage_peak_memory_bytes",
                 {"task_granularity",
                  [](const R& r) { return r.like_for_like.granularity; },
                  {.doc = "how finely the workload was cut for this policy; missing: it has no "
                          "such option",
                   .unless_empty = true}}),
      {"found_split",
       [](const R& r) { return r.found_split > 0 ? std::optional{r.found_split} : std::nullopt; },
       {.doc = "slices of the batch where the spec says \"auto\""}}};
  return fields;
}

ColumnType type_of(const Field& field) {
  const auto word = field.type.at("type").get<std::string>();
  if (word == "number") return ColumnType::real;
  return word == "integer" ? ColumnType::integer : ColumnType::text;
}

void append_samples(std::vector<Cell>& cells, const Samples& samples) {
  cells.emplace_back(static_cast<std::int64_t>(samples.count()));
  for (const SampleSummary& summary : samples.summaries()) {
    if (summary.count > 0) {
      append_cells(cells, sample_fields(), summary);
    } else {
      cells.resize(cells.size() + sample_fields().size());
    }
  }
}

}  // namespace

std::vector<ResultColumn> result_columns(const ResultLayout& layout) {
  std::vector<ResultColumn> columns;
  for (const Field& field : result_fields()) {
    columns.push_back({field.name, type_of(field), std::string{field.notes.doc}});
  }
  for (const Granularity granularity : layout.granularities) {
    columns.push_back({makespan_column(granularity),
                       ColumnType::integer,
                       fmt::format("makespan of this policy when it is given granularity {}; "
                                   "missing: it cannot, or its plan is wrong",
                                   granularity_name(granularity))});
  }
  if (layout.sampled) {
    columns.push_back({"samples", ColumnType::integer, "runs drawn on a machine that scatters"});
    for (const std::string& metric : sampled_metrics()) {
      for (const Field& field : sample_fields()) {
        columns.push_back({fmt::format("{}_{}", metric, field.name),
                           ColumnType::real,
                           fmt::format("{}: {}", metric, field.notes.doc)});
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
  return fmt::format("makespan_at_{}_ps", granularity_name(granularity));
}

std::vector<Cell> result_cells(const ScenarioResult& result, const ResultLayout& layout) {
  if (result.failed) {
    std::vector<Cell> cells(result_columns(layout).size());
    cells.back() = result.note;
    return cells;
  }
  std::vector<Cell> cells;
  append_cells(cells, result_fields(), result);
  for (const Duration makespan : result.like_for_like.makespans) {
    cells.push_back(makespan.count() > 0 ? Cell{std::int64_t{makespan.count()}} : Cell{});
  }
  if (layout.sampled) append_samples(cells, result.samples);
  cells.push_back(result.checked ? Cell{result.findings} : Cell{});
  cells.push_back(result.note.empty() ? Cell{} : Cell{result.note});
  return cells;
}

}  // namespace schedlab
