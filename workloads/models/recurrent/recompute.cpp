// SPDX-License-Identifier: Apache-2.0
#include "workloads/models/recurrent/recompute.hpp"

#include "sim/base/ceil_div.hpp"
#include "sim/base/error.hpp"
#include "workloads/buckets/checkpoints.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <limits>
#include <map>
#include <utility>

namespace schedlab {
namespace {

/// Runs intervals of equal steps backward. Splits where the closed form says that the sum of both
/// halves is least.
class Reversal {
 public:
  explicit Reversal(std::vector<ChainAction>& actions) : actions_(actions) {}

  /// Steps [first, last) with the state before `first` in memory and `free` slots.
  void run(std::int64_t first, std::int64_t last, std::int64_t free) {
    while (last > first) {
      const std::int64_t steps = last - first;
      if (free == 0 || steps == 1) {
        // Without a further state every step is reached from `first`.
        advance(first, last);
        actions_.push_back({.forward = false, .step = --last});
        continue;
      }
      const std::int64_t split = first + split_of(steps, free);
      advance(first, split);
      run(split, last, free - 1);
      last = split;
    }
  }

 private:
  void advance(std::int64_t first, std::int64_t last) {
    for (std::int64_t step = first; step < last; ++step) {
      actions_.push_back({.forward = true, .step = step});
    }
  }

  [[nodiscard]] std::int64_t split_of(std::int64_t steps, std::int64_t free) {
    const auto [found, fresh] = splits_.try_emplace({steps, free}, 1);
    if (!fresh) return found->second;
    std::int64_t least = std::numeric_limits<std::int64_t>::max();
    for (std::int64_t at = 1; at < steps; ++at) {
      const std::int64_t cost =
          at + min_forward_steps(steps - at, free - 1) + min_forward_steps(at, free);
      if (cost >= least) continue;
      least = cost;
      found->second = at;
    }
    return found->second;
  }

  std::vector<ChainAction>& actions_;
  std::map<std::pair<std::int64_t, std::int64_t>, std::int64_t> splits_;
};

}  // namespace

std::int64_t checkpoint_segment(RecurrentCell cell, std::int64_t steps) {
  const RecurrentCellShape& shape = cell_shape(cell);
  const std::int64_t state = shape.cell_state ? 2 : 1;
  // The reset state and the candidate of a GRU whose reset gate comes first.
  const std::int64_t values = shape.saved_gates + 2 * shape.candidate_gates;
  return min_memory_segments(steps, Bytes{state}, Bytes{state + values}).segment;
}

std::int64_t default_checkpoints(RecurrentCell cell, std::int64_t steps) {
  return ceil_div(steps, checkpoint_segment(cell, steps)) - 1;
}

std::vector<ChainAction> segmented_actions(std::int64_t steps, std::int64_t segment) {
  SCHEDLAB_EXPECTS(steps >= 1 && segment >= 1,
                   fmt::format("{} steps in segments of {}", steps, segment));
  std::vector<ChainAction> actions;
  for (std::int64_t first = (steps - 1) / segment * segment; first >= 0; first -= segment) {
    const std::int64_t last = std::min(first + segment, steps);
    for (std::int64_t step = first; step < last && last < steps; ++step) {
      actions.push_back({.forward = true, .step = step});
    }
    for (std::int64_t step = last; step-- > first;) {
      actions.push_back({.forward = false, .step = step});
    }
  }
  return actions;
}

std::vector<ChainAction> checkpointed_actions(std::int64_t steps, std::int64_t slots) {
  SCHEDLAB_EXPECTS(steps >= 1 && slots >= 0, fmt::format("{} steps, {} slots", steps, slots));
  std::vector<ChainAction> actions;
  Reversal{actions}.run(0, steps, std::min(slots, steps - 1));
  // What comes before the first step backward is the first pass.
  actions.erase(actions.begin(), actions.begin() + steps);
  return actions;
}

}  // namespace schedlab
