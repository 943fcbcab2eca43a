// SPDX-License-Identifier: Apache-2.0
#include "studies/buckets/bucket_files.hpp"

#include "notebooks_export/axis.hpp"
#include "notebooks_export/html_style.hpp"
#include "sim/base/schema_parts.hpp"
#include "studies/buckets/bucket_tables.hpp"

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include <algorithm>
#include <utility>

namespace schedlab {
namespace {

using Json = nlohmann::ordered_json;

const std::vector<std::string>& shown_heads() {
  static const std::vector<std::string> heads{"lengths",
                                              "batch",
                                              "recompute",
                                              "ranks",
                                              "sorting",
                                              "rule",
                                              "buckets",
                                              "iterations",
                                              "padding",
                                              "pass",
                                              "building",
                                              "waiting",
                                              "sequences/s",
                                              "speed_up",
                                              "break-even runs",
                                              "memory",
                                              ""};
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
          row.rule,
          row.buckets > 0 ? fmt::format("{}", row.buckets) : "-",
          fmt::format("{}", row.iterations),
          fmt::format("{:.1f} %", 100 * row.padding_share),
          duration_text(row.time.total),
          duration_text(row.time.building),
          duration_text(row.time.waiting),
          seconds > 0 ? fmt::format("{:.4g}", static_cast<double>(row.sequences) / seconds) : "-",
          row.speed_up ? fmt::format("{:.3f}", *row.speed_up) : "-",
          row.break_even_runs ? fmt::format("{:.4g}", *row.break_even_runs) : "-",
          readable(row.memory),
          mark};
}

/// The columns that a reader looks for first.
ShownTable shown_table(const BucketStudy& study) {
  ShownTable table{shown_heads()};
  for (const BucketRow& row : study.rows) table.push_back(shown(study, row));
  return table;
}

std::string batch_text(const TrainingSetup& setup, std::int64_t batch, Bytes capacity) {
  return fmt::format("largest batch with recompute {} in {}: {} (used: {})",
                     to_string(setup.recompute),
                     readable(capacity),
                     batch,
                     setup.batch);
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
                       {"largest_batch", batch}});
  }
  json["setups"] = std::move(largest);
  json["rows"] = Json::parse(rows_json(bucket_table(study)));
  for (std::size_t i = 0; i < study.rows.size(); ++i) {
    json["rows"][i]["boundaries"] = study.rows[i].boundaries;
    json["rows"][i]["batches"] = study.rows[i].batches;
  }
  return json.dump(1) + "\n";
}

std::string bucket_text(const BucketStudy& study) {
  std::string text = aligned_text(shown_table(study));
  for (const auto& [setup, batch] : study.largest_batch) {
    text += batch_text(setup, batch, study.capacity) + "\n";
  }
  return text;
}

std::string bucket_html(const BucketStudy& study,
                        const std::string& program,
                        const std::vector<std::string>& more_pictures,
                        const std::string& more_html) {
  TextBuffer out;
  begin_html_page(out, study.spec->name);
  html_element(out, "h1", study.spec->name);
  html_element(out, "p", study.spec->description, "lead");
  html_element(out,
               "p",
               fmt::format("One pass over the data by {}; {} steps of different length and setup "
                           "were simulated, and stand for all batches of their length.",
                           program,
                           study.simulated));
  for (const auto& [setup, batch] : study.largest_batch) {
    html_element(out, "p", batch_text(setup, batch, study.capacity));
  }
  std::vector<std::string> pictures{
      boundaries_picture(study), epoch_time_picture(study), bucket_memory_picture(study)};
  pictures.insert(pictures.end(), more_pictures.begin(), more_pictures.end());
  for (const std::string& picture : pictures) html_figure(out, picture);
  html_element(out, "h2", "All passes");
  out << html_table(shown_table(study)) << more_html;
  end_html_page(out);
  return std::move(out).take();
}

std::string bucket_results_schema() {
  const Json integer{{"type", "integer"}, {"minimum", 0}};
  const Json number{{"type", "number"}};
  const Json text{{"type", "string"}};
  const Json integers{{"type", "array"}, {"items", integer}};
  Json row{{"lengths", text}, {"recompute", text}, {"sorting", text}, {"rule", text}};
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
  row["break_even_runs"] = {{"type", {"number", "null"}}};
  row["largest_batch"] = {{"type", {"integer", "null"}}};
  row["boundaries"] = integers;
  row["batches"] = integers;
  const Json setup = schema::whole_object({{"batch", integer},
                                           {"recompute", text},
                                           {"ranks", integer},
                                           {"sorting", text},
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
