// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "notebooks_export/chart_heat.hpp"
#include "notebooks_export/sweep_plot.hpp"
#include "notebooks_export/sweep_view.hpp"

#include <map>
#include <string>
#include <vector>

namespace schedlab {

/// Which map is drawn of a sweep; what is empty is chosen.
struct HeatMapOptions {
  std::string policy{};  ///< first one that is not `over`
  std::string over{};    ///< the view's baseline
  std::string metric{"makespan_us"};
  std::string x{};                    ///< a numeric axis; the one with the most values
  std::string y{};                    ///< another
  std::vector<std::string> panels{};  ///< axes with a map for each combination; as many as fit
  std::map<std::string, std::string> at{};  ///< axes of which only one value is shown
};

/// metric of `policy` over that of `over` (each by its shortest run) over two axes, small multiples
/// over others. Cells that stand for several cases hold their median (the lower of the middle two);
/// the subtitle names the axes that were summed up so.
/// Throws InputError naming the option for unknown policies, axes, values and metrics, and
/// InfeasibleError for a sweep without two numeric axes or two policies.
[[nodiscard]] HeatFigure heat_map(const SweepView& view, const HeatMapOptions& options = {});

/// Maps of up to four policies over the baseline, for sweeps with two numeric axes and more.
[[nodiscard]] std::vector<SweepPlot> heat_maps(const SweepView& view);

}  // namespace schedlab
