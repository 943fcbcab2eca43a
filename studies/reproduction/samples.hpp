// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "sim/sweep/table.hpp"
#include "studies/reproduction/published_system.hpp"

#include <cstddef>
#include <optional>
#include <vector>

namespace schedlab {

/// One value of a measure, with where it was taken.
struct ClaimSample {
  double value = 0;
  std::vector<Cell> axes;  ///< one per axis column of the table; missing where the runs have none
  std::vector<std::size_t> rows;  ///< of the table: the runs it was worked out of
};

struct ClaimSamples {
  std::vector<ClaimSample> samples;  ///< in the order of the table
  std::vector<std::size_t> axes;     ///< columns of the table that ClaimSample::axes speak of
  std::size_t missing = 0;           ///< runs that have no result, or a plan with findings
};

/// Works a measure out of the rows of a grid, as far as they are there. Runs are compared where all
/// axes agree that both have; the knobs of one policy alone, and what the selectors name, need not.
/// In an order each place is taken by its shortest run. Cost O(rows log rows + samples).
/// Throws ContractViolation for a metric or axis the table has not (see check_claim).
[[nodiscard]] ClaimSamples collect_samples(const Table& table,
                                           const Measure& measure,
                                           const RunSelector& at);

/// Throws InputError, pointing into the system's file, if the claim names axes, values or metrics
/// that the columns do not have. `values` holds the values that occur, one set per column of axes.
void check_claim(const PublishedSystem& system,
                 const Claim& claim,
                 const std::vector<Column>& columns,
                 const std::vector<std::vector<Cell>>& values);

/// Numbers by value, whatever their type; everything else as text.
[[nodiscard]] bool same_value(const Cell& a, const Cell& b);

}  // namespace schedlab
