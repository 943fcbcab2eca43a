// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "sim/graph/task_graph.hpp"
#include "sim/machine/platform.hpp"
#include "sim/plan/plan.hpp"

#include <cstdint>

namespace schedlab::test {

/// Seeded random inputs for property tests.
struct RandomGraphSpec {
  std::uint32_t tasks = 40;
  double edge_share = 0.1;    ///< of all pairs within `window`
  std::uint32_t window = 12;  ///< edges reach at most this many ids ahead
  std::uint32_t longest_us =
      50;              ///< durations are 1..longest_us microseconds, plus up to 1 us of jitter
  bool jitter = true;  ///< in picoseconds, so that no two events coincide
};
[[nodiscard]] TaskGraph random_graph(std::uint64_t seed, const RandomGraphSpec& spec = {});

/// Every task once, in id order, on random streams; every cross-stream edge has its event and wait.
/// With `extras` also queries, sleeps, synchronizations and streams created in the run.
[[nodiscard]] Plan random_plan(const TaskGraph& graph,
                               std::uint64_t seed,
                               std::uint32_t streams,
                               bool extras);

/// One stream becomes the legacy default stream of the device, about two thirds of the others
/// blocking ones.
void add_legacy_default_stream(Plan& plan, std::uint64_t seed);

/// About half of the launches, whatever is between them and the one before in their stream.
void launch_some_programmatically(Plan& plan, std::uint64_t seed);

/// Unlimited units; random call costs, latencies, gaps, connections and queue depth, each sometimes
/// 0.
[[nodiscard]] Platform random_platform(std::uint64_t seed);

}  // namespace schedlab::test
