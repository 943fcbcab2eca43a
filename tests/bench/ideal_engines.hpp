// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "tests/bench/lstm_scene.hpp"

#include <cstdint>
#include <vector>

namespace schedlab::bench {

/// What an engine found; `started` in picoseconds, one per task.
struct BareRun {
  std::int64_t makespan = 0;
  std::uint64_t done = 0;
};

// Engines without features: no host, no events, no trace but the starts, no errors. What the work
// itself costs on this machine; the yardsticks of the real engines. `started` must have one entry
// per task and is overwritten.

/// Streams in order: one pass in topological order, no event queue.
[[nodiscard]] BareRun ideal_sweep(const BareGraph& graph, std::vector<std::int64_t>& started);
/// Streams in order: a queue of completions (four children a node, one 8-byte key an event).
[[nodiscard]] BareRun ideal_in_order(const BareGraph& graph, std::vector<std::int64_t>& started);
/// Streams start whatever became ready first: the same queue.
[[nodiscard]] BareRun ideal_fifo(const BareGraph& graph, std::vector<std::int64_t>& started);
/// Kernels share the device: capacity by priority (cell, hidden, first weights, second weights),
/// within one in proportion to demand. One virtual clock per priority, in floating point; at most
/// 64 streams. Not the rule of any GPU, but the least that sharing can cost.
[[nodiscard]] BareRun ideal_sharing(const BareGraph& graph, std::vector<std::int64_t>& started);
/// As ideal_fifo, as a textbook writes it: std::priority_queue, std::deque, a vector per task. The
/// time for making the vectors is included.
[[nodiscard]] BareRun textbook_fifo(const BareGraph& graph, std::vector<std::int64_t>& started);

}  // namespace schedlab::bench
