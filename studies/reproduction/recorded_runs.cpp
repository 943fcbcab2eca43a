// SPDX-License-Identifier: Apache-2.0
#include "studies/reproduction/recorded_runs.hpp"

#include "sim/base/error.hpp"
#include "sim/base/schema_parts.hpp"
#include "studies/base/schema_check.hpp"

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include <algorithm>

namespace schedlab {
namespace {

using Json = schema::Json;

Json names_schema(const char* doc) {
  return Json{
      {"type", "array"}, {"items", {{"type", "string"}}}, {"minItems", 1}, {"description", doc}};
}

std::string recorded_schema() {
  const Json row{{"type", "array"}, {"items", {{"type", {"string", "number"}}}}};
  const Json rows{{"type", "array"},
                  {"items", row},
                  {"minItems", 1},
                  {"description", "a run each: values of the axes, then of the metrics"}};
  return schema::file("SchedLab recorded runs",
                      "recorded",
                      schema::object({{"name", schema::text("short name")},
                                      {"axes", names_schema("what differs between runs")},
                                      {"metrics", names_schema("what came out")},
                                      {"rows", rows}},
                                     {"axes", "metrics", "rows"},
                                     "runs that were made once"))
      .dump(2);
}

Cell recorded_cell(const Json& value) {
  if (value.is_string()) return value.get<std::string>();
  if (value.is_number_integer()) return value.get<std::int64_t>();
  return value.get<double>();
}

}  // namespace

Table parse_recorded_runs(const std::string& text, const std::string& file) {
  read_checked_json(text, recorded_schema(), file);
  const Json json = Json::parse(text);
  Table table;
  for (const Json& name : json.at("axes")) table.columns.push_back({name, ColumnRole::axis});
  for (const Json& name : json.at("metrics")) table.columns.push_back({name, ColumnRole::metric});
  for (const Json& run : json.at("rows")) {
    const auto reject = [&](std::string found, std::string expected) {
      throw InputError({.file = file,
                        .pointer = fmt::format("/rows/{}", table.rows.size()),
                        .found = std::move(found),
                        .expected = std::move(expected),
                        .hint = {}});
    };
    if (run.size() != table.columns.size()) {
      reject(fmt::format("{} values", run.size()),
             fmt::format("{}, one for each axis and metric", table.columns.size()));
    }
    std::vector<Cell> cells;
    for (const Json& value : run) {
      const Column& column = table.columns[cells.size()];
      if (column.role == ColumnRole::metric && !value.is_number()) {
        reject(value.dump(), fmt::format("a number, {}", column.name));
      }
      cells.push_back(recorded_cell(value));
    }
    table.rows.push_back(std::move(cells));
  }
  return table;
}

std::vector<std::vector<Cell>> recorded_axis_values(const Table& table) {
  std::vector<std::vector<Cell>> values(table.columns.size());
  for (std::size_t i = 0; i < values.size(); ++i) {
    if (table.columns[i].role != ColumnRole::axis) continue;
    for (const std::vector<Cell>& row : table.rows) {
      if (std::find(values[i].begin(), values[i].end(), row[i]) == values[i].end()) {
        values[i].push_back(row[i]);
      }
    }
  }
  return values;
}

}  // namespace schedlab
