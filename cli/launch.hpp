// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "sim/machine/platform.hpp"

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace schedlab {

/// How the host brings tasks to the device.
enum class LaunchMode : std::uint8_t {
  eager,             ///< call by call, one thread
  eager_two_thread,  ///< call by call; the front end prepares on a thread of its own
  graph_mode,        ///< not simulated yet
  graph_launch,      ///< the eager plan captured into device graphs that exist already
  sink,              ///< not simulated yet
};

/// All words a spec may use, in the order of LaunchMode.
[[nodiscard]] const std::vector<std::string>& launch_words();

/// Throws InfeasibleError for a launch mode this version does not simulate, naming those it does.
[[nodiscard]] LaunchMode launch_mode(std::string_view word);

/// What the mode changes about the machine: only the host, and only with eager_two_thread.
void apply_launch_mode(LaunchMode mode, Platform& platform);

/// What the default stream of a program is, for specs: "per_thread" (all streams are independent)
/// or "legacy" (see use_legacy_default_stream()).
[[nodiscard]] const std::vector<std::string>& default_stream_words();

}  // namespace schedlab
