// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "sim/base/interrupt.hpp"
#include "studies/scenario/result_columns.hpp"
#include "studies/spec/auto_split.hpp"

#include <cstdint>
#include <functional>

namespace schedlab {

/// After so many numbers of slices in a row that are no faster than the best the search ends.
inline constexpr int split_patience = 6;  // assumed: uneven slices make the makespan jump

/// The fastest number of slices: 1, 2, 3, ... are simulated up to the batch or until
/// `split_patience` in a row are no faster; the fewest among equals.
/// Throws InfeasibleError if no number can run, Interrupted when asked to stop.
[[nodiscard]] AutoSplit find_split(
    const std::function<ScenarioResult(std::int64_t slices)>& simulate, const StopFlag* stop);

}  // namespace schedlab
