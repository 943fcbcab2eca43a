// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "sim/sweep/table.hpp"

#include <cstdint>
#include <optional>
#include <string>

namespace schedlab {

/// One row of a study of an acceleration engine; what does not apply is left out.
struct EngineRow {
  std::string quantity;
  std::string network{};
  std::string operator_class{};
  std::string processor{};
  std::string fitted_on{};
  std::optional<double> operator_share{};
  std::optional<std::int64_t> split{};
  std::string policy{};
  std::optional<double> scheduling_us{};
  double value = 0;
  std::optional<double> published{};  ///< of the same quantity, in the study's own times
};

/// Adds the row; `error_percent` is worked out of value and published.
void add_row(Table& table, const EngineRow& row);

}  // namespace schedlab
