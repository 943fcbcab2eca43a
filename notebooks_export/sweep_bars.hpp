// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "notebooks_export/sweep_plot.hpp"
#include "notebooks_export/sweep_view.hpp"

#include <vector>

namespace schedlab {

/// Bars of each policy's speed-up over the baseline, each by its shortest run: geometric mean over
/// all cases, and the range. A panel per machine where there are 2 to 12 of them.
[[nodiscard]] SweepPlot speed_up_bars(const SweepView& view);

/// Bars for each axis whose values are words (accumulation, variant, priorities, machine): what
/// each of its up to 40 values makes of the makespan. Only runs that agree in everything else are
/// compared: the geometric mean of their makespan over that with the first value, and the range. A
/// panel per policy.
[[nodiscard]] std::vector<SweepPlot> value_bars(const SweepView& view);

}  // namespace schedlab
