// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "notebooks_export/sweep_view.hpp"

#include <string>
#include <string_view>
#include <vector>

namespace schedlab {

/// One picture of a sweep.
struct SweepPlot {
  std::string file_name;  ///< without folder and extension: "speed_up", "makespan_over_layers"
  std::string title;
  std::string svg;
};

/// A name without letters that file systems refuse: all but letters, digits and _ become _.
[[nodiscard]] std::string plot_file_name(std::string_view what);

/// The pictures that suit a sweep:
///   - bars of the mean speed-up of each policy over the baseline, a panel per machine;
///   - bars of the makespan of each policy over the certified bound of the case, and a map of it
///     case by case (see gap_map());
///   - for each numeric axis, makespan and speed-up along it, a line per policy (its best variant),
///     a panel per combination of the other axes; of other numeric axes that would need too many
///     panels the largest value is shown, and the subtitle says so;
///   - for each numeric axis of a sweep with samples, what the scatter costs (mean makespan over
///     that without), and of runs with collectives how long ranks wait in them for the last;
///   - for each numeric knob of the policies, the makespan along it, a line per case;
///   - for each axis and knob of words, bars of the makespan by its values (see value_bars());
///   - with two numeric axes, maps of makespans relative to the baseline's (see heat_maps()).
/// More than eight lines are divided over several panels. No pictures for an empty table.
[[nodiscard]] std::vector<SweepPlot> sweep_plots(const SweepView& view);

}  // namespace schedlab
