// SPDX-License-Identifier: Apache-2.0
#include "studies/reproduction/engine_rows.hpp"

#include "studies/reproduction/engine_study.hpp"

#include <cmath>

namespace schedlab {
namespace {

Cell word_or_nothing(const std::string& word) {
  return word.empty() ? Cell{} : Cell{word};
}

}  // namespace

const std::vector<Column>& engine_columns() {
  static const std::vector<Column> columns{{"quantity", ColumnRole::axis},
                                           {"network", ColumnRole::axis},
                                           {"class", ColumnRole::axis},
                                           {"processor", ColumnRole::axis},
                                           {"fitted_on", ColumnRole::axis},
                                           {"operator_share", ColumnRole::axis},
                                           {"split", ColumnRole::axis},
                                           {"policy", ColumnRole::axis},
                                           {"scheduling_us", ColumnRole::axis},
                                           {"value", ColumnRole::metric},
                                           {"published", ColumnRole::metric},
                                           {"error_percent", ColumnRole::metric}};
  return columns;
}

void add_row(Table& table, const EngineRow& row) {
  Cell published;
  Cell error;
  if (row.published) {
    published = *row.published;
    error = 100 * std::abs(row.value / *row.published - 1);
  }
  table.rows.push_back({row.quantity,
                        word_or_nothing(row.network),
                        word_or_nothing(row.operator_class),
                        word_or_nothing(row.processor),
                        word_or_nothing(row.fitted_on),
                        row.operator_share ? Cell{*row.operator_share} : Cell{},
                        row.split ? Cell{*row.split} : Cell{},
                        word_or_nothing(row.policy),
                        row.scheduling_us ? Cell{*row.scheduling_us} : Cell{},
                        row.value,
                        published,
                        error});
}

}  // namespace schedlab
