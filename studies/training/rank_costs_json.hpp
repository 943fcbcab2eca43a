// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "real_exec/training/rank_costs.hpp"

#include <string>

namespace schedlab {

/// What rank 0 measured, for the other ranks: exact, in picoseconds.
[[nodiscard]] std::string rank_costs_to_json(const RankCosts& costs);
[[nodiscard]] RankCosts rank_costs_from_json(const std::string& text);

}  // namespace schedlab
