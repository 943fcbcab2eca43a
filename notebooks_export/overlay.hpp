// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "sim/trace/trace.hpp"

#include <cstddef>
#include <string>

namespace schedlab {

struct OverlayOptions {
  double width = 1200;            ///< of the picture, in pixels
  bool host_track = true;         ///< what the host threads did, where a trace has it
  std::size_t most_streams = 48;  ///< beyond it those with most work are drawn
};

/// Two runs of one graph over one time axis, both from 0: for each host thread and stream a track
/// of the simulated run above one of the measured run, coloured by operation; dashed lines at both
/// makespans; beneath, how much later each task started than simulated. Names of any content are
/// safe.
///
/// Errors   ContractViolation if a trace names a task, stream or host without a label.
/// Cost     O(tasks * log tasks); the file has at most about 2 MB, whatever the number of tasks.
[[nodiscard]] std::string overlay_svg(const TraceDocument& simulated,
                                      const TraceDocument& measured,
                                      const OverlayOptions& options = {});

}  // namespace schedlab
