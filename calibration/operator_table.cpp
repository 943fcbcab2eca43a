// SPDX-License-Identifier: Apache-2.0
#include "calibration/operator_table.hpp"

#include "sim/base/enum_names.hpp"
#include "sim/base/error.hpp"
#include "sim/base/gzip.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <charconv>
#include <cmath>
#include <utility>

namespace schedlab {
namespace {

std::vector<std::string> cells_of(std::string_view line) {
  std::vector<std::string> cells(1);
  bool quoted = false;
  for (const char c : line) {
    if (c == '"') {
      quoted = !quoted;
    } else if (c == ',' && !quoted) {
      cells.emplace_back();
    } else if (c != '\r') {
      cells.back() += c;
    }
  }
  return cells;
}

/// The names that tables of others give to types.
std::string known_type(const std::string& word) {
  if (word == "bfloat16") return "bf16";
  if (word == "half" || word == "float16") return "fp16";
  if (word == "float" || word == "float32") return "fp32";
  return word;
}

}  // namespace

OperatorTable OperatorTable::read(const std::filesystem::path& path) {
  return parse(read_file_or_gzip(path), path.string());
}

OperatorTable OperatorTable::parse(std::string_view text, const std::string& file) {
  OperatorTable table;
  table.file_ = file;
  std::size_t line = 0;
  while (!text.empty()) {
    const std::string_view here = text.substr(0, text.find('\n'));
    text.remove_prefix(std::min(text.size(), here.size() + 1));
    ++line;
    if (here.empty() || here == "\r") continue;
    std::vector<std::string> cells = cells_of(here);
    if (table.columns_.empty()) {
      table.columns_ = std::move(cells);
      continue;
    }
    if (cells.size() != table.columns_.size()) {
      throw InputError({.file = file,
                        .pointer = fmt::format("line {}", line),
                        .found = fmt::format("{} cells", cells.size()),
                        .expected = fmt::format(
                            "{}: {}", table.columns_.size(), fmt::join(table.columns_, ", ")),
                        .hint = {}});
    }
    table.cells_.push_back(std::move(cells));
    table.lines_.push_back(line);
  }
  if (table.cells_.empty()) {
    throw InputError({.file = file,
                      .pointer = {},
                      .found = "no rows",
                      .expected = "a line of column names and rows of measured operators",
                      .hint = {}});
  }
  return table;
}

std::optional<std::size_t> OperatorTable::index_of(std::string_view column) const {
  const auto found = std::find(columns_.begin(), columns_.end(), column);
  if (found == columns_.end()) return std::nullopt;
  return static_cast<std::size_t>(found - columns_.begin());
}

void OperatorTable::reject(std::size_t row,
                           std::string_view column,
                           std::string found,
                           std::string expected) const {
  throw InputError({.file = file_,
                    .pointer = fmt::format("line {}, column {}", lines_.at(row), column),
                    .found = std::move(found),
                    .expected = std::move(expected),
                    .hint = {}});
}

const std::string& OperatorTable::text(std::size_t row, std::string_view column) const {
  const auto index = index_of(column);
  if (!index) {
    reject(row, column, "no such column", fmt::format("one of {}", fmt::join(columns_, ", ")));
  }
  return cells_.at(row)[*index];
}

double OperatorTable::number(std::size_t row, std::string_view column) const {
  const std::string& cell = text(row, column);
  double value = 0;
  const auto [end, error] = std::from_chars(cell.data(), cell.data() + cell.size(), value);
  if (error != std::errc{} || end != cell.data() + cell.size() || !std::isfinite(value)) {
    reject(row, column, fmt::format("\"{}\"", cell), "a number");
  }
  return value;
}

std::int64_t OperatorTable::whole(std::size_t row, std::string_view column) const {
  constexpr double most = 9007199254740992.0;  // 2^53
  const double value = number(row, column);
  if (value < 0 || value > most || value != std::floor(value)) {
    reject(row, column, fmt::format("{}", value), "a whole number from 0");
  }
  return static_cast<std::int64_t>(value);
}

double OperatorTable::microseconds(std::size_t row) const {
  constexpr std::array<std::pair<std::string_view, double>, 4> columns{
      {{"us", 1.0}, {"microseconds", 1.0}, {"time_us", 1.0}, {"latency", 1e3}}};
  for (const auto& [column, factor] : columns) {
    if (!has(column)) continue;
    const double value = number(row, column) * factor;
    if (value < 1e-6 || value > 1e12) {
      reject(row, column, fmt::format("{}", value), "a time above zero");
    }
    return value;
  }
  reject(row, "us", "no column with the time", "us, microseconds, time_us or latency (ms)");
}

std::string OperatorTable::kind(std::size_t row) const {
  if (has("kind")) return text(row, "kind");
  if (has("m") && has("n") && has("k")) return std::string{to_string(TaskKind::gemm)};
  reject(row, "kind", "no such column", "the kind of operator, for instance gemm");
}

DataType OperatorTable::type(std::size_t row) const {
  for (const char* column : {"type", "data_type"}) {
    if (!has(column)) continue;
    const std::string word = known_type(text(row, column));
    const std::vector<std::string>& names = enum_names<DataType>();
    if (std::find(names.begin(), names.end(), word) == names.end()) {
      reject(row,
             column,
             fmt::format("\"{}\"", word),
             fmt::format("one of {}", fmt::join(names, ", ")));
    }
    return enum_value<DataType>(word);
  }
  return DataType::bf16;
}

}  // namespace schedlab
