// SPDX-License-Identifier: Apache-2.0
#include "studies/buckets/executed_files.hpp"

#include "notebooks_export/axis.hpp"
#include "notebooks_export/chart.hpp"
#include "sim/base/robust_statistics.hpp"
#include "sim/base/schema_parts.hpp"
#include "studies/buckets/bucket_tables.hpp"

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include <algorithm>
#include <cmath>
#include <utility>
#include <variant>
#include <vector>

namespace schedlab {
namespace {

using Json = nlohmann::ordered_json;

constexpr std::size_t axis_count = 9;  // of bucket_columns()

const std::vector<const char*>& metric_names() {
  static const std::vector<const char*> names{"iterations",
                                              "sequences",
                                              "padding_share",
                                              "predicted_s",
                                              "measured_s",
                                              "error",
                                              "measured_min_s",
                                              "measured_max_s",
                                              "total_s",
                                              "predicted_total_s",
                                              "waiting_s",
                                              "predicted_waiting_s",
                                              "reading_gb_per_s",
                                              "predicted_speed_up",
                                              "measured_speed_up",
                                              "predicted_batching_gain",
                                              "measured_batching_gain",
                                              "predicted_sequences_per_s",
                                              "measured_sequences_per_s",
                                              "predicted_memory_bytes",
                                              "measured_memory_bytes",
                                              "memory_error",
                                              "model_bytes",
                                              "first_squared_error",
                                              "last_squared_error",
                                              "finite"};
  return names;
}

Cell cell_of(const std::optional<double>& value) {
  return value ? Cell{*value} : Cell{};
}

/// Of one producer.
Cell reading_rate(const EpochRun& run) {
  if (run.read.count() == 0) return {};
  return static_cast<double>(run.read.count()) / to_seconds(run.reading) / 1e9;
}

std::vector<Cell> measured_cells(const BucketRow& row, const ExecutedEpoch& epoch) {
  std::vector<double> times;
  for (const EpochRun& run : epoch.runs) times.push_back(to_seconds(run.training));
  const auto [least, most] = std::minmax_element(times.begin(), times.end());
  const EpochRun& run = epoch.median();
  const auto sequences = static_cast<double>(row.sequences);
  const bool counted = run.tensors_peak.count() > 0;
  return {row.iterations,
          row.sequences,
          row.padding_share,
          to_seconds(epoch.predicted),
          to_seconds(run.training),
          epoch.error(),
          *least,
          *most,
          to_seconds(run.total),
          to_seconds(epoch.predicted_pass.total),
          to_seconds(run.waiting),
          to_seconds(epoch.predicted_pass.waiting),
          reading_rate(run),
          cell_of(epoch.predicted_speed_up),
          cell_of(epoch.measured_speed_up),
          cell_of(epoch.predicted_batching_gain),
          cell_of(epoch.measured_batching_gain),
          sequences / to_seconds(epoch.predicted),
          sequences / to_seconds(run.training),
          epoch.predicted_peak.count(),
          counted ? Cell{run.tensors_peak.count()} : Cell{},
          cell_of(epoch.memory_error()),
          run.models.count(),
          run.first_error,
          run.last_error,
          std::int64_t{run.finite ? 1 : 0}};
}

const std::vector<std::string>& shown_heads() {
  static const std::vector<std::string> heads{"lengths",       "batch",
                                              "recompute",     "sorting",
                                              "batching",      "packing",
                                              "rule",          "buckets",
                                              "steps",         "predicted",
                                              "measured",      "error",
                                              "speed_up",      "measured speed_up",
                                              "batching gain", "measured batching gain",
                                              "memory",        "measured memory",
                                              "waiting",       "measured waiting",
                                              "squared error"};
  return heads;
}

std::string ratio(const std::optional<double>& value) {
  return value ? fmt::format("{:.3f}", *value) : "-";
}

std::vector<std::string> shown(const BucketStudy& study, const ExecutedEpoch& epoch) {
  const BucketRow& row = study.rows[epoch.row];
  const EpochRun& run = epoch.median();
  return {
      study.spec->data[row.data].label,
      fmt::format("{}", row.setup.batch),
      to_string(row.setup.recompute),
      sorting_name(row.setup.sorted),
      std::string{to_string(row.setup.batching)},
      packing_name(row.setup.packed),
      row.rule,
      fmt::format("{}", row.buckets),
      fmt::format("{}", row.iterations),
      readable(epoch.predicted),
      readable(run.training),
      fmt::format("{:+.1f} %", 100 * epoch.error()),
      ratio(epoch.predicted_speed_up),
      ratio(epoch.measured_speed_up),
      ratio(epoch.predicted_batching_gain),
      ratio(epoch.measured_batching_gain),
      readable(epoch.predicted_peak),
      run.tensors_peak.count() > 0 ? readable(run.tensors_peak) : "-",
      readable(epoch.predicted_pass.waiting),
      readable(run.waiting),
      run.finite ? fmt::format("{:.3f} -> {:.3f}", run.first_error, run.last_error) : "not finite"};
}

PrintedTable shown_table(const BucketStudy& study, const ExecutedStudy& executed) {
  PrintedTable table = empty_table(shown_heads(), shown_heads().size());
  for (const ExecutedEpoch& epoch : executed.epochs) {
    if (!epoch.runs.empty()) table.rows.push_back(shown(study, epoch));
  }
  return table;
}

/// "9 passes: median error of the time 3.1 %, ..."; of sizes.
std::string errors_text(const BucketStudy& study, const ExecutedStudy& executed) {
  std::vector<double> times;
  std::vector<double> gains;
  std::vector<double> memory;
  for (const ExecutedEpoch& epoch : executed.epochs) {
    if (epoch.runs.empty()) continue;
    times.push_back(std::abs(epoch.error()));
    const bool single = study.rows[epoch.row].buckets == 1;
    if (!single && epoch.predicted_speed_up && epoch.measured_speed_up) {
      gains.push_back(std::abs(*epoch.predicted_speed_up / *epoch.measured_speed_up - 1));
    }
    if (const auto error = epoch.memory_error()) memory.push_back(std::abs(*error));
  }
  if (times.empty()) return "no epoch was executed";
  const auto middle = [](const std::vector<double>& values) {
    return values.empty() ? std::string{"-"}
                          : fmt::format("{:.1f} %", 100 * schedlab::median(values));
  };
  return fmt::format(
      "{} executed epochs: median error of the time {}, of the speed-up over one bucket {}, of the "
      "peak memory {}",
      times.size(),
      middle(times),
      middle(gains),
      middle(memory));
}

}  // namespace

Table executed_table(const BucketStudy& study, const ExecutedStudy& executed) {
  Table table;
  const auto& axes = bucket_columns();
  table.columns.assign(axes.begin(), axes.begin() + axis_count);
  for (const char* metric : metric_names()) table.columns.push_back({metric, ColumnRole::metric});
  const Table rows = bucket_table(study);
  for (const ExecutedEpoch& epoch : executed.epochs) {
    if (epoch.runs.empty()) continue;
    const auto& of_row = rows.rows[epoch.row];
    auto& cells = table.rows.emplace_back(of_row.begin(), of_row.begin() + axis_count);
    for (Cell& cell : measured_cells(study.rows[epoch.row], epoch))
      cells.push_back(std::move(cell));
  }
  return table;
}

std::string executed_json(const BucketStudy& study, const ExecutedStudy& executed) {
  Json json{{"schedlab", "executed_epochs"},
            {"version", 1},
            {"name", study.spec->name},
            {"device", executed.device},
            {"date", executed.date},
            {"complete", executed.complete}};
  json["rows"] = Json::parse(rows_json(executed_table(study, executed)));
  std::size_t at = 0;
  for (const ExecutedEpoch& epoch : executed.epochs) {
    if (epoch.runs.empty()) continue;
    Json runs = Json::array();
    for (const EpochRun& run : epoch.runs) runs.push_back(to_seconds(run.training));
    json["rows"][at++]["runs_s"] = std::move(runs);
  }
  return json.dump(1) + "\n";
}

void add_executed(ReportDocument& report, const BucketStudy& study, const ExecutedStudy& executed) {
  report.heading("Executed epochs");
  report.paragraph(fmt::format("On {}, {}.", executed.device, executed.date));
  report.paragraph(errors_text(study, executed) + ".");
  report.table(shown_table(study, executed));
}

std::string executed_picture(const BucketStudy& study, const ExecutedStudy& executed) {
  LineFigure figure;
  figure.title = fmt::format("{}: one epoch, predicted and measured", study.spec->name);
  figure.subtitle = executed.device;
  figure.x_label = "buckets";
  figure.names = enum_names<BoundaryRule>();
  figure.shared_y = true;
  double most = 0;
  for (const ExecutedEpoch& epoch : executed.epochs) {
    most = std::max(most, to_seconds(epoch.predicted));
    if (!epoch.runs.empty()) most = std::max(most, to_seconds(epoch.median().training));
  }
  const ShownUnit unit = time_unit(most);
  figure.y_label = unit.name;
  const auto add = [&](const std::string& title, const BucketRow& row, Duration time) {
    auto panel = std::find_if(figure.panels.begin(), figure.panels.end(), [&](const LinePanel& p) {
      return p.title == title;
    });
    if (panel == figure.panels.end()) {
      panel = figure.panels.insert(panel, {.title = title, .series = {}});
    }
    auto& all = panel->series;
    auto series =
        std::find_if(all.begin(), all.end(), [&](const Series& s) { return s.name == row.rule; });
    if (series == all.end()) series = all.insert(series, {.name = row.rule, .points = {}});
    series->points.push_back({static_cast<double>(row.buckets), to_seconds(time) / unit.size});
  };
  for (const ExecutedEpoch& epoch : executed.epochs) {
    if (epoch.runs.empty()) continue;
    const BucketRow& row = study.rows[epoch.row];
    const std::string setup = setup_label(study, row);
    add("predicted: " + setup, row, epoch.predicted);
    add("measured: " + setup, row, epoch.median().training);
  }
  for (LinePanel& panel : figure.panels) {
    for (Series& series : panel.series) {
      std::sort(series.points.begin(), series.points.end(), [](const Point& a, const Point& b) {
        return a.x < b.x;
      });
    }
  }
  return line_figure_svg(figure);
}

std::string executed_epochs_schema() {
  const Json text{{"type", "string"}};
  const Json number{{"type", "number"}};
  Json row;
  for (std::size_t axis = 0; axis < axis_count; ++axis) {
    row[bucket_columns()[axis].name] = {{"type", {"string", "integer"}}};
  }
  for (const char* name : metric_names()) row[name] = {{"type", {"number", "null"}}};
  row["runs_s"] = {{"type", "array"}, {"items", number}};
  return schema::file("SchedLab executed epochs of buckets",
                      "executed_epochs",
                      schema::whole_object(
                          {{"name", text},
                           {"device", text},
                           {"date", text},
                           {"complete", {{"type", "boolean"}}},
                           {"rows", {{"type", "array"}, {"items", schema::whole_object(row)}}}}))
      .dump(2);
}

}  // namespace schedlab
