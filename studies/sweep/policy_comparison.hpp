// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "sim/sweep/table.hpp"
#include "studies/spec/grid.hpp"
#include "studies/sweep/results_store.hpp"

#include <cstdint>
#include <string>

namespace schedlab {

inline constexpr const char* comparisons_csv = "comparisons.csv";

/// "layers=4, machine=v100": what runs that differ in their policy alone have in common; or, of a
/// policy's axes, what tells one from the others.
[[nodiscard]] std::string axes_text(const Grid& grid, std::uint64_t scenario, bool policy);

/// Every two runs of one case (they differ in their policy alone), compared sample by sample: a row
/// for each pair, in the order of the scenarios, with the probability that the first is faster.
/// Pairs of which one has no samples are left out.
[[nodiscard]] Table compare_policies(const Grid& grid, const ResultsStore& store);

}  // namespace schedlab
