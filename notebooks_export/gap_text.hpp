// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "notebooks_export/sweep_plot.hpp"
#include "notebooks_export/sweep_view.hpp"

#include <optional>
#include <string>

namespace schedlab {

/// Shortest makespan of a case over its certified bound; nullopt without one.
[[nodiscard]] std::optional<double> best_gap(const SweepView& view, const SweepCase& one);
/// The largest of all cases; nullopt if no case has one.
[[nodiscard]] std::optional<double> largest_best_gap(const SweepView& view);

/// Who wins how often, how much any schedule could still win, and how much of the makespan (mean
/// over cases) the order does not decide but units, bandwidth, latencies and launches do: the bound
/// of the case less its critical path. Without bounds only who wins; empty if none does
/// either.
[[nodiscard]] std::string gap_text(const SweepView& view);

/// By how much the shortest run of a case beats the best of the other policies, and the baseline's,
/// over all cases. Empty of one policy.
[[nodiscard]] std::string winning_gain_text(const SweepView& view);

/// Bars of each policy's makespan over the bound of the case, each by its shortest run; nullopt
/// without bounds.
[[nodiscard]] std::optional<SweepPlot> gap_bars(const SweepView& view);

}  // namespace schedlab
