// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "sim/trace/trace.hpp"

#include <string>

namespace schedlab {

/// Two runs of one graph over one time axis, both from 0: for each host thread and stream a track
/// of the simulated run above one of the measured run, coloured by operation; dashed lines at both
/// makespans; beneath, how much later each task started than simulated. Of more than 48 streams
/// those with most work are drawn. Names of any content are safe.
///
/// Errors   ContractViolation if a trace names a task, stream or host without a label.
/// Cost     O(tasks * log tasks); the file has at most about 2 MB, whatever the number of tasks.
[[nodiscard]] std::string overlay_svg(const TraceDocument& simulated,
                                      const TraceDocument& measured);

}  // namespace schedlab
