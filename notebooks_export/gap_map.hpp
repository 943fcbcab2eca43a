// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "notebooks_export/sweep_plot.hpp"
#include "notebooks_export/sweep_view.hpp"

#include <optional>

namespace schedlab {

/// Map of each policy's makespan over the certified bound of the case, each by its shortest run: a
/// row per policy, a column per value of the axis that has most, a panel per combination of the
/// others, of which the first 24 are drawn. nullopt for one case, and without bounds.
[[nodiscard]] std::optional<SweepPlot> gap_map(const SweepView& view);

}  // namespace schedlab
