// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "sim/sweep/table.hpp"
#include "studies/explanation/imported_input.hpp"

#include <string>

namespace schedlab {

/// For the terminal.
[[nodiscard]] std::string import_text(const ImportedInput& input);
/// import.json; `schedlab schema import` describes it.
[[nodiscard]] std::string import_json(const ImportedInput& input);
[[nodiscard]] std::string import_schema();
/// One line per activity of the devices of all ranks, by rank and start.
[[nodiscard]] Table activity_table(const ImportedInput& input);

}  // namespace schedlab
