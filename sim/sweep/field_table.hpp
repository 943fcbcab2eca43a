// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "sim/base/fields.hpp"
#include "sim/sweep/table.hpp"

#include <vector>

namespace schedlab {

/// As the cell of a table: a yes is 1, a list its items with spaces between them. Missing: no
/// value, or a list of more than 64.
[[nodiscard]] Cell cell_of(const FieldValue& value);

/// As JSON; null where it is missing.
[[nodiscard]] schema::Json json_of(const Cell& cell);

/// A column for each field that appears in tables.
void append_columns(std::vector<Column>& columns,
                    const auto& fields,
                    ColumnRole role = ColumnRole::metric) {
  for (const Field& field : fields) {
    if ((field.notes.places & in_tables) != 0) columns.push_back({field.name, role});
  }
}

/// The cells below them.
template <class T>
void append_cells(std::vector<Cell>& cells, const Fields<T>& fields, const T& of) {
  for (const Field& field : fields) {
    if ((field.notes.places & in_tables) != 0) cells.push_back(cell_of(field.value(&of)));
  }
}

/// A row for each item, of metrics alone.
template <class T, class Items>
[[nodiscard]] Table table_of(const Fields<T>& fields, const Items& items) {
  Table table;
  append_columns(table.columns, fields);
  for (const T& item : items) append_cells(table.rows.emplace_back(), fields, item);
  return table;
}

}  // namespace schedlab
