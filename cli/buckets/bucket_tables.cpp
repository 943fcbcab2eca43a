// SPDX-License-Identifier: Apache-2.0
#include "cli/buckets/bucket_tables.hpp"

#include "notebooks_export/html_style.hpp"

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include <algorithm>
#include <cstddef>
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

}  // namespace

std::string aligned_text(const ShownTable& table) {
  std::vector<std::size_t> widths;
  for (const auto& row : table) {
    widths.resize(std::max(widths.size(), row.size()), 0);
    for (std::size_t i = 0; i < row.size(); ++i) widths[i] = std::max(widths[i], row[i].size());
  }
  std::string text;
  for (const auto& row : table) {
    std::string line;
    for (std::size_t i = 0; i < row.size(); ++i) {
      line += fmt::format("{:<{}}  ", row[i], widths[i]);
    }
    line.erase(line.find_last_not_of(' ') + 1);
    text += line + "\n";
  }
  return text;
}

std::string html_table(const ShownTable& table) {
  TextBuffer out;
  out << "<div class=\"scroll\"><table class=\"all\">\n";
  for (const auto& row : table) {
    const char* const tag = &row == &table.front() ? "th" : "td";
    out << "<tr>";
    for (const std::string& field : row) html_element(out, tag, field);
    out << "</tr>\n";
  }
  out << "</table></div>\n";
  return std::move(out).take();
}

std::string rows_json(const Table& table) {
  Json rows = Json::array();
  for (const auto& cells : table.rows) {
    Json row = Json::object();
    for (std::size_t column = 0; column < table.columns.size(); ++column) {
      if (table.columns[column].role == ColumnRole::note) continue;
      row[table.columns[column].name] = json_of(cells[column]);
    }
    rows.push_back(std::move(row));
  }
  return rows.dump();
}

std::string setup_label(const BucketStudy& study, const BucketRow& row) {
  std::string text = fmt::format("{}; batch {}, {}",
                                 study.spec->data[row.data].label,
                                 row.setup.batch,
                                 to_string(row.setup.recompute));
  if (row.setup.ranks > 1) text += fmt::format(", {} ranks", row.setup.ranks);
  if (!row.setup.sorted) text += ", unsorted";
  return text;
}

}  // namespace schedlab
