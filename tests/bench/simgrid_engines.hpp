// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "tests/bench/ideal_engines.hpp"

#include <cstdint>

namespace schedlab::bench {

/// How SimGrid is used; in both, graph and streams are ours and only what runs is known to SimGrid.
/// (Its own task graphs take quadratic time in release 3.32, so they are no fair yardstick.)
enum class SimGridMode : std::uint8_t {
  timers,      ///< bare timers: SimGrid as an event queue, no model of any resource
  activities,  ///< an Exec made when its task starts, on a host per stream; cpu/optim:TI, the
               ///< fastest
};

struct SimGridRun {
  BareRun run;
  double seconds = 0;  ///< of processor time, start of the engine excluded
};

[[nodiscard]] bool simgrid_is_there();

/// Streams in order, as ideal_in_order. Runs in a process of its own, because SimGrid has one
/// engine per process. Throws std::runtime_error if that fails.
[[nodiscard]] SimGridRun simgrid_in_order(const BareGraph& graph, SimGridMode mode);

}  // namespace schedlab::bench
