// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "studies/reproduction/reproduction.hpp"

#include <string>

namespace schedlab {

/// reproduction.json: system, what ran, every row with its spread, error, status, cause and the
/// effect of each open axis.
[[nodiscard]] std::string reproduction_json(const Reproduction& reproduction);
/// JSON Schema (draft 7) of it.
[[nodiscard]] std::string reproduction_schema();

/// One row per published point.
[[nodiscard]] Table reproduction_table(const Reproduction& reproduction);
/// reproduction.csv: that table.
[[nodiscard]] std::string reproduction_csv(const Reproduction& reproduction);

/// The rows for a terminal of about 120 columns.
[[nodiscard]] std::string reproduction_text(const Reproduction& reproduction);

/// report.html: one file without scripts and references; everything from files is escaped.
[[nodiscard]] std::string reproduction_html(const Reproduction& reproduction,
                                            const std::string& program);

/// "layers = 4, batch = 16"; empty for no conditions.
[[nodiscard]] std::string conditions_text(const RunSelector& at);

}  // namespace schedlab
