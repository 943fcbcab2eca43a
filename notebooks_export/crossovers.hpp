// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "notebooks_export/sweep_view.hpp"

#include <cstddef>
#include <string>
#include <vector>

namespace schedlab {

/// Between two neighbouring values of a numeric axis, all else equal, the faster of two policies
/// becomes the slower.
struct Crossover {
  std::size_t axis = 0;    ///< column of the table
  std::string rest;        ///< "machine = v100, layers = 4": where the other axes stand
  std::size_t policy = 0;  ///< slower below, faster above: index in SweepView::policies()
  std::size_t other = 0;   ///< than this one
  double last = 0;         ///< largest value below at which one was faster
  double first = 0;        ///< smallest value above
};

/// How often two policies were compared along an axis, and how often that turns.
struct Crossovers {
  std::vector<Crossover> found;  ///< by axis, in the order of the cases
  std::size_t lines = 0;         ///< pairs of policies along an axis, at two values and more
  std::size_t turning = 0;       ///< of these: with a crossover
};

/// Crossovers of every two policies, each by its shortest run of a case, along numeric axes of the
/// cases. Equal makespans decide nothing. Cost   O(cases * policies^2) for each axis.
[[nodiscard]] Crossovers crossovers(const SweepView& view);

}  // namespace schedlab
