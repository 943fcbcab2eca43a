// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "real_exec/ranks/rank_link.hpp"
#include "sim/base/units.hpp"

namespace schedlab {

/// What a message between ranks 0 and 1 takes: latency + bytes / bandwidth.
struct LinkSpeed {
  Duration latency{0};
  Bandwidth bandwidth{};  ///< 0: there is no second rank
};

/// Sends one byte, and a MiB, to and fro between ranks 0 and 1, and takes the least of some tries.
/// Called by all ranks; known at rank 0.
[[nodiscard]] LinkSpeed measure_link(RankLink& link);

}  // namespace schedlab
