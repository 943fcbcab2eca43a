// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "hw_models/machine_spec.hpp"
#include "studies/scenario/scenario.hpp"

#include <optional>
#include <string>

namespace schedlab {

/// A run whose makespan depends on a host by name: how long it takes where an operator costs that
/// host the least and the most that is published.
struct HostRange {
  std::string host;
  double operator_us = 0;  ///< as simulated, launch included
  double min_us = 0;
  double max_us = 0;
  Duration shortest{0};
  Duration longest{0};
};

/// Simulates the plan of the run at both ends. nullopt: the machine has no host by name, nothing is
/// published of it, or the makespans differ by less than 1 %.
[[nodiscard]] std::optional<HostRange> host_range(const FullRun& run);
[[nodiscard]] std::string to_text(const HostRange& range);

/// What to say of a run on that machine whose host works for `host_busy_share` of the time: that a
/// host by name decides, and how well its cost is known; empty where there is nothing to say.
[[nodiscard]] std::string host_note(const MachineSpec& machine, double host_busy_share);

}  // namespace schedlab
