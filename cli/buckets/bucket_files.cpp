// SPDX-License-Identifier: Apache-2.0
#include "cli/buckets/bucket_files.hpp"

#include "cli/schema_parts.hpp"
#include "notebooks_export/axis.hpp"
#include "notebooks_export/html_style.hpp"

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include <algorithm>
#include <utility>
#include <variant>

namespace schedlab {
namespace {

using Json = nlohmann::ordered_json;

Json json_of(const Cell& cell) {
  if (const auto* whole = std::get_if<std::int64_t>(&cell)) return *whole;
  if (const auto* number = std::get_if<double>(&cell)) return *number;
  if (const auto* text = std::get_if<std::string>(&cell)) return *text;
  return nullptr;
}

/// The columns that a reader looks for first.
struct ShownRow {
  std::vector<std::string> fields;
};

const std::vector<std::string>& shown_heads() {
  static const std::vector<std::string> heads{"lengths",
                                              "batch",
                                              "recompute",
                                              "ranks",
                                              "rule",
                                              "buckets",
                                              "iterations",
                                              "padding",
                                              "pass",
                                              "waiting",
                                              "sequences/s",
                                              "speed_up",
                                              "memory",
                                              ""};
  return heads;
}

std::string duration_text(Duration duration) {
  const double seconds = to_seconds(duration);
  if (seconds >= 7200) return fmt::format("{:.2f} h", seconds / 3600);
  return readable(duration);
}

ShownRow shown(const BucketStudy& study, const BucketRow& row) {
  const double seconds = to_seconds(row.time.total);
  const char* mark = row.best     ? "fastest of all that fit"
                     : row.chosen ? "fastest that fits"
                     : row.fits   ? ""
                                  : "does not fit";
  return {{study.spec->data[row.data].label,
           fmt::format("{}", row.setup.batch),
           to_string(row.setup.recompute),
           fmt::format("{}", row.setup.ranks),
           row.rule,
           row.buckets > 0 ? fmt::format("{}", row.buckets) : "-",
           fmt::format("{}", row.iterations),
           fmt::format("{:.1f} %", 100 * row.padding_share),
           duration_text(row.time.total),
           duration_text(row.time.waiting),
           seconds > 0 ? fmt::format("{:.4g}", static_cast<double>(row.sequences) / seconds) : "-",
           row.speed_up ? fmt::format("{:.3f}", *row.speed_up) : "-",
           readable(row.memory),
           mark}};
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
            {"simulated_steps", study.simulated}};
  Json largest = Json::array();
  for (const auto& [setup, batch] : study.largest_batch) {
    largest.push_back({{"batch", setup.batch},
                       {"recompute", to_string(setup.recompute)},
                       {"ranks", setup.ranks},
                       {"largest_batch", batch}});
  }
  json["setups"] = std::move(largest);
  const Table table = bucket_table(study);
  Json rows = Json::array();
  for (std::size_t i = 0; i < table.rows.size(); ++i) {
    Json row;
    for (std::size_t column = 0; column < table.columns.size(); ++column) {
      if (table.columns[column].role == ColumnRole::note) continue;
      row[table.columns[column].name] = json_of(table.rows[i][column]);
    }
    row["boundaries"] = study.rows[i].boundaries;
    row["batches"] = study.rows[i].batches;
    rows.push_back(std::move(row));
  }
  json["rows"] = std::move(rows);
  return json.dump(1) + "\n";
}

std::string bucket_text(const BucketStudy& study) {
  std::vector<ShownRow> rows{{shown_heads()}};
  for (const BucketRow& row : study.rows) rows.push_back(shown(study, row));
  std::vector<std::size_t> widths(shown_heads().size(), 0);
  for (const ShownRow& row : rows) {
    for (std::size_t i = 0; i < widths.size(); ++i) {
      widths[i] = std::max(widths[i], row.fields[i].size());
    }
  }
  std::string text;
  for (const ShownRow& row : rows) {
    std::string line;
    for (std::size_t i = 0; i < widths.size(); ++i) {
      line += fmt::format("{:<{}}  ", row.fields[i], widths[i]);
    }
    line.erase(line.find_last_not_of(' ') + 1);
    text += line + "\n";
  }
  for (const auto& [setup, batch] : study.largest_batch) {
    text += batch_text(setup, batch, study.capacity) + "\n";
  }
  return text;
}

std::string bucket_html(const BucketStudy& study,
                        const std::string& program,
                        const std::vector<std::string>& more_pictures) {
  TextBuffer out;
  out << "<!DOCTYPE html>\n<html lang=\"en\">\n<head>\n<meta charset=\"utf-8\">\n<title>";
  out.xml(study.spec->name) << "</title>\n<style>" << html_style << "</style>\n</head>\n<body>\n";
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
      boundaries_picture(study), pass_time_picture(study), bucket_memory_picture(study)};
  pictures.insert(pictures.end(), more_pictures.begin(), more_pictures.end());
  for (const std::string& picture : pictures) out << "<figure>\n" << picture << "</figure>\n";
  html_element(out, "h2", "All passes");
  out << "<div class=\"scroll\"><table class=\"all\">\n<tr>";
  for (const std::string& head : shown_heads()) html_element(out, "th", head);
  out << "</tr>\n";
  for (const BucketRow& row : study.rows) {
    out << "<tr>";
    for (const std::string& field : shown(study, row).fields) html_element(out, "td", field);
    out << "</tr>\n";
  }
  out << "</table></div>\n</body>\n</html>\n";
  return std::move(out).take();
}

std::string bucket_results_schema() {
  const Json integer{{"type", "integer"}, {"minimum", 0}};
  const Json number{{"type", "number"}};
  const Json text{{"type", "string"}};
  const Json integers{{"type", "array"}, {"items", integer}};
  Json row{{"lengths", text}, {"recompute", text}, {"rule", text}};
  for (const char* key : {"batch",
                          "ranks",
                          "buckets",
                          "iterations",
                          "sequences",
                          "memory_bytes",
                          "fits",
                          "chosen",
                          "best"}) {
    row[key] = integer;
  }
  for (const char* key : {"padding_share",
                          "pass_s",
                          "training_s",
                          "building_s",
                          "waiting_s",
                          "iteration_us",
                          "sequences_per_s"}) {
    row[key] = number;
  }
  row["speed_up"] = {{"type", {"number", "null"}}};
  row["largest_batch"] = {{"type", {"integer", "null"}}};
  row["boundaries"] = integers;
  row["batches"] = integers;
  const Json setup = schema::whole_object(
      {{"batch", integer}, {"recompute", text}, {"ranks", integer}, {"largest_batch", integer}});
  return schema::file("SchedLab results of buckets",
                      "bucket_results",
                      schema::whole_object(
                          {{"name", text},
                           {"description", text},
                           {"capacity_bytes", integer},
                           {"simulated_steps", integer},
                           {"setups", {{"type", "array"}, {"items", setup}}},
                           {"rows", {{"type", "array"}, {"items", schema::whole_object(row)}}}}))
      .dump(2);
}

}  // namespace schedlab
