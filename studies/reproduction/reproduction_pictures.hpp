// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "studies/reproduction/reproduction.hpp"

#include <optional>
#include <string>

namespace schedlab {

/// What was simulated over what is published, one row per published number.
[[nodiscard]] std::string numbers_picture(const Reproduction& reproduction);

/// The simulated values beside the published range, one row per range or tendency.
[[nodiscard]] std::string ranges_picture(const Reproduction& reproduction);

/// The samples of a row over the two numeric axes that change them most, medians over the rest;
/// nullopt where there are no two such axes.
[[nodiscard]] std::optional<std::string> sample_map(const Outcome& outcome, const Table& table);

/// The rows of a grid; nullptr if it was not run.
[[nodiscard]] const Table* grid_table(const Reproduction& reproduction, const std::string& name);

}  // namespace schedlab
