// SPDX-License-Identifier: Apache-2.0
#include "workloads/buckets/checkpoints.hpp"

#include "sim/base/ceil_div.hpp"
#include "sim/base/error.hpp"

#include <fmt/format.h>

#include <cmath>
#include <limits>

namespace schedlab {
SegmentedChain min_memory_segments(std::int64_t steps, Bytes state, Bytes values) {
  SCHEDLAB_EXPECTS(steps >= 1, fmt::format("a chain of {} steps", steps));
  SegmentedChain best;
  for (std::int64_t segment = 1; segment <= steps; ++segment) {
    const Bytes bytes = state * ceil_div(steps, segment) + values * segment;
    if (segment == 1 || bytes < best.bytes) best = {segment, bytes};
  }
  return best;
}

std::int64_t min_forward_steps(std::int64_t steps, std::int64_t slots) {
  SCHEDLAB_EXPECTS(steps >= 1 && slots >= 0, fmt::format("{} steps, {} slots", steps, slots));
  constexpr double most = 9.2e18;
  // C(slots + 1 + r, r) grows to at least `steps`; before is C(slots + 1 + r, r - 1).
  const auto kept = static_cast<double>(slots) + 1;
  double reach = 1;
  double before = 0;
  double repetitions = 0;
  while (reach < static_cast<double>(steps)) {
    ++repetitions;
    reach = std::round(reach * (kept + repetitions) / repetitions);
    before = std::round(reach * repetitions / (kept + 1));
  }
  const double count =
      repetitions * static_cast<double>(steps) - before + static_cast<double>(steps);
  return count < most ? static_cast<std::int64_t>(count) : std::numeric_limits<std::int64_t>::max();
}

}  // namespace schedlab
