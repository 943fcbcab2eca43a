// SPDX-License-Identifier: Apache-2.0
#include "python/module/tables.hpp"

#include "python/module/columns.hpp"

#include <charconv>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <utility>
#include <variant>
#include <vector>

namespace schedlab::python {
namespace {

namespace py = pybind11;

struct ColumnKinds {
  bool missing = false;
  bool whole = false;
  bool real = false;
  bool text = false;
};

ColumnKinds kinds_of(const Table& table, std::size_t column) {
  ColumnKinds kinds;
  for (const auto& row : table.rows) {
    const Cell& cell = row[column];
    kinds.missing = kinds.missing || std::holds_alternative<std::monostate>(cell);
    kinds.whole = kinds.whole || std::holds_alternative<std::int64_t>(cell);
    kinds.real = kinds.real || std::holds_alternative<double>(cell);
    kinds.text = kinds.text || std::holds_alternative<std::string>(cell);
  }
  return kinds;
}

double number(const Cell& cell) {
  if (const auto* whole = std::get_if<std::int64_t>(&cell)) return static_cast<double>(*whole);
  if (const auto* real = std::get_if<double>(&cell)) return *real;
  return std::numeric_limits<double>::quiet_NaN();
}

py::object object_of(const Cell& cell) {
  if (const auto* whole = std::get_if<std::int64_t>(&cell)) return py::int_(*whole);
  if (const auto* real = std::get_if<double>(&cell)) return py::float_(*real);
  if (const auto* text = std::get_if<std::string>(&cell)) return py::str(*text);
  return py::none();
}

py::object column_of(const Table& table, std::size_t column) {
  const ColumnKinds kinds = kinds_of(table, column);
  const std::size_t count = table.rows.size();
  if (kinds.text) {
    py::list objects;
    for (const auto& row : table.rows) objects.append(object_of(row[column]));
    return py::module_::import("numpy").attr("array")(objects, py::arg("dtype") = "O");
  }
  if (kinds.whole && !kinds.missing && !kinds.real) {
    return array_of<std::int64_t>(
        count, [&](std::size_t i) { return std::get<std::int64_t>(table.rows[i][column]); });
  }
  return array_of<double>(count, [&](std::size_t i) { return number(table.rows[i][column]); });
}

/// An unquoted field: empty, a whole number, a number, else a text.
Cell plain_cell(std::string_view text) {
  if (text.empty()) return {};
  const char* const end = text.data() + text.size();
  std::int64_t whole = 0;
  const auto as_whole = std::from_chars(text.data(), end, whole);
  if (as_whole.ec == std::errc{} && as_whole.ptr == end) return whole;
  double real = 0;
  const auto as_real = std::from_chars(text.data(), end, real);
  if (as_real.ec == std::errc{} && as_real.ptr == end) return real;
  return std::string{text};
}

/// Reads fields one after another.
class CsvReader {
 public:
  explicit CsvReader(std::string_view text) : text_(text) {}

  [[nodiscard]] bool done() const { return at_ >= text_.size(); }
  [[nodiscard]] std::vector<Cell> row() {
    std::vector<Cell> cells;
    do {
      cells.push_back(cell());
    } while (next(','));
    static_cast<void>(next('\n'));
    return cells;
  }

 private:
  bool next(char c) {
    if (done() || text_[at_] != c) return false;
    ++at_;
    return true;
  }
  Cell cell() {
    if (!next('"')) {
      const std::size_t begin = at_;
      while (!done() && text_[at_] != ',' && text_[at_] != '\n') ++at_;
      return plain_cell(text_.substr(begin, at_ - begin));
    }
    std::string quoted;
    while (!done()) {
      if (text_[at_] == '"') {
        ++at_;
        if (!next('"')) break;
        quoted += '"';
      } else {
        quoted += text_[at_++];
      }
    }
    return quoted;
  }

  std::string_view text_;
  std::size_t at_ = 0;
};

}  // namespace

py::dict table_columns(const Table& table) {
  py::dict columns;
  for (std::size_t i = 0; i < table.columns.size(); ++i) {
    columns[py::str(table.columns[i].name)] = column_of(table, i);
  }
  return columns;
}

Table table_of_csv(std::string_view text) {
  CsvReader reader(text);
  Table table;
  if (reader.done()) return table;
  for (Cell& cell : reader.row()) {
    auto* name = std::get_if<std::string>(&cell);
    table.columns.push_back({.name = name == nullptr ? std::string{} : std::move(*name)});
  }
  while (!reader.done()) {
    std::vector<Cell> row = reader.row();
    row.resize(table.columns.size());
    table.rows.push_back(std::move(row));
  }
  return table;
}

}  // namespace schedlab::python
