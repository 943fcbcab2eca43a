// SPDX-License-Identifier: Apache-2.0
#include "studies/buckets/bucket_files.hpp"

#include "notebooks_export/axis.hpp"
#include "sim/base/schema_parts.hpp"
#include "studies/base/version.hpp"
#include "studies/buckets/bucket_tables.hpp"

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include <algorithm>
#include <utility>

namespace schedlab {
namespace {

using Json = nlohmann::ordered_json;

const std::vector<std::string>& shown_heads() {
  static const std::vector<std::string> heads{
      "lengths",  "batch",   "recompute",   "ranks",      "sorting",       "batching",
      "packing",  "rule",    "buckets",     "iterations", "padding",       "pass",
      "building", "waiting", "sequences/s", "speed_up",   "batching gain", "break-even runs",
      "memory",   ""};
  return heads;
}

std::string duration_text(Duration duration) {
  const double seconds = to_seconds(duration);
  if (seconds >= 7200) return fmt::format("{:.2f} h", seconds / 3600);
  return readable(duration);
}

std::vector<std::string> shown(const BucketStudy& study, const BucketRow& row) {
  const double seconds = to_seconds(row.time.total);
  const char* mark = row.best     ? "fastest of all that fit"
                     : row.chosen ? "fastest that fits"
                     : row.fits   ? ""
                                  : "does not fit";
  return {study.spec->data[row.data].label,
          fmt::format("{}", row.setup.batch),
          to_string(row.setup.recompute),
          fmt::format("{}", row.setup.ranks),
          sorting_name(row.setup.sorted),
          std::string{to_string(row.setup.batching)},
          packing_name(row.setup.packed),
          row.rule,
          row.buckets > 0 ? fmt::format("{}", row.buckets) : "-",
          fmt::format("{}", row.iterations),
          fmt::format("{:.1f} %", 100 * row.padding_share),
          duration_text(row.time.total),
          duration_text(row.time.building),
          duration_text(row.time.waiting),
          seconds > 0 ? fmt::format("{:.4g}", static_cast<double>(row.sequences) / seconds) : "-",
          row.speed_up ? fmt::format("{:.3f}", *row.speed_up) : "-",
          row.batching_gain ? fmt::format("{:.3f}", *row.batching_gain) : "-",
          row.break_even_runs ? fmt::format("{:.4g}", *row.break_even_runs) : "-",
          readable(row.memory),
          mark};
}

/// The columns that a reader looks for first.
PrintedTable shown_table(const BucketStudy& study) {
  PrintedTable table = empty_table(shown_heads(), shown_heads().size());
  for (const BucketRow& row : study.rows) table.rows.push_back(shown(study, row));
  return table;
}

std::string batch_text(const TrainingSetup& setup, std::int64_t batch, Bytes capacity) {
  return fmt::format("largest batch with recompute {} in {}: {} (used: {})",
                     to_string(setup.recompute),
                     readable(capacity),
                     batch,
                     setup.batch);
}

/// Of the first three data sets, the fastest epoch that fits.
std::string answer_text(const BucketStudy& study) {
  std::string text;
  std::size_t sentences = 0;
  for (const BucketRow& row : study.rows) {
    if (!row.best || ++sentences > 3) continue;
    text += fmt::format(
        "{}On {} the fastest epoch that fits takes {}: {}{}, batch {}, recompute {}, {:.1f} % "
        "padding{}.",
        text.empty() ? "" : " ",
        study.spec->data[row.data].label,
        duration_text(row.time.total),
        row.rule,
        row.buckets > 0
            ? fmt::format(" with {}", counted(static_cast<std::size_t>(row.buckets), "bucket"))
            : "",
        row.setup.batch,
        to_string(row.setup.recompute),
        100 * row.padding_share,
        row.speed_up ? fmt::format(", {:.2f} times as fast as one bucket", *row.speed_up) : "");
  }
  return text;
}

}  // namespace

std::string bucket_json(const BucketStudy& study) {
  Json json{{"schedlab", "bucket_results"},
            {"version", 1},
            {"name", study.spec->name},
            {"description", study.spec->description},
            {"capacity_bytes", study.capacity.count()},
            {"simulated_steps", study.simulated},
            {"complete", study.complete}};
  Json largest = Json::array();
  for (const auto& [setup, batch] : study.largest_batch) {
    largest.push_back({{"batch", setup.batch},
                       {"recompute", to_string(setup.recompute)},
                       {"ranks", setup.ranks},
                       {"sorting", sorting_name(setup.sorted)},
                       {"batching", std::string{to_string(setup.batching)}},
                       {"packing", packing_name(setup.packed)},
                       {"largest_batch", batch}});
  }
  json["setups"] = std::move(largest);
  json["rows"] = Json::parse(rows_json(bucket_table(study)));
  for (std::size_t i = 0; i < study.rows.size(); ++i) {
    json["rows"][i]["boundaries"] = study.rows[i].boundaries;
    json["rows"][i]["batches"] = study.rows[i].batches;
    json["rows"][i]["batch_rows"] = study.rows[i].batch_rows;
  }
  return json.dump(1) + "\n";
}

ReportDocument bucket_report(const BucketStudy& study,
                             const Sensitivity* sensitivity,
                             const std::vector<std::string>& more_pictures) {
  ReportDocument report(study.spec->name);
  report.paragraph(answer_text(study), Tone::lead);
  std::vector<std::string> pictures{
      epoch_time_picture(study), boundaries_picture(study), bucket_memory_picture(study)};
  pictures.insert(pictures.end(), more_pictures.begin(), more_pictures.end());
  report.figure(std::move(pictures.front()));
  report.paragraph(study.spec->description);
  report.paragraph(
      fmt::format("One epoch by schedlab {}; {} steps of different length and setup "
                  "were simulated, and stand for all batches of their length.",
                  program_version(),
                  study.simulated));
  for (const auto& [setup, batch] : study.largest_batch) {
    report.paragraph(batch_text(setup, batch, study.capacity));
  }
  for (std::size_t i = 1; i < pictures.size(); ++i) report.figure(std::move(pictures[i]));
  if (sensitivity != nullptr) {
    add_sensitivity(
        report, *sensitivity, fmt::format("Two epochs on {}: ", study.spec->data.front().label));
  }
  report.heading("All epochs");
  report.table(shown_table(study));
  return report;
}

std::string bucket_results_schema() {
  const Json integer{{"type", "integer"}, {"minimum", 0}};
  const Json number{{"type", "number"}};
  const Json text{{"type", "string"}};
  const Json integers{{"type", "array"}, {"items", integer}};
  Json row;
  for (const char* key : {"lengths", "recompute", "sorting", "batching", "packing", "rule"}) {
    row[key] = text;
  }
  for (const char* key : {"batch",
                          "ranks",
                          "buckets",
                          "iterations",
                          "models_built",
                          "sequences",
                          "memory_bytes",
                          "fits",
                          "chosen",
                          "best"}) {
    row[key] = integer;
  }
  for (const char* key : {"padding_share",
                          "epoch_s",
                          "training_s",
                          "building_s",
                          "waiting_s",
                          "iteration_us",
                          "sequences_per_s"}) {
    row[key] = number;
  }
  row["speed_up"] = {{"type", {"number", "null"}}};
  row["batching_gain"] = {{"type", {"number", "null"}}};
  row["break_even_runs"] = {{"type", {"number", "null"}}};
  row["largest_batch"] = {{"type", {"integer", "null"}}};
  row["boundaries"] = integers;
  row["batches"] = integers;
  row["batch_rows"] = integers;
  const Json setup = schema::whole_object({{"batch", integer},
                                           {"recompute", text},
                                           {"ranks", integer},
                                           {"sorting", text},
                                           {"batching", text},
                                           {"packing", text},
                                           {"largest_batch", integer}});
  return schema::file("SchedLab results of buckets",
                      "bucket_results",
                      schema::whole_object(
                          {{"name", text},
                           {"description", text},
                           {"capacity_bytes", integer},
                           {"simulated_steps", integer},
                           {"complete", {{"type", "boolean"}}},
                           {"setups", {{"type", "array"}, {"items", setup}}},
                           {"rows", {{"type", "array"}, {"items", schema::whole_object(row)}}}}))
      .dump(2);
}

}  // namespace schedlab
