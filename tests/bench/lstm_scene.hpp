// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "sim/machine/cost_model.hpp"
#include "sim/plan/policy.hpp"

#include <cstdint>
#include <vector>

namespace schedlab::bench {

/// The graph of a scene as bare arrays: what an engine without any features needs. Tasks are
/// numbered topologically; streams run their tasks in the order of the numbers.
struct BareGraph {
  std::uint32_t streams = 0;
  std::vector<std::uint32_t> offset;  ///< of the successors, one more than tasks
  std::vector<std::uint32_t> successors;
  std::vector<std::int64_t> duration;  ///< picoseconds
  std::vector<std::uint16_t> stream;
  std::vector<std::uint8_t> predecessor_count;
  std::vector<std::uint8_t> part;  ///< cell 0, hidden_1, hidden_2, weight_1, weight_2

  [[nodiscard]] std::uint32_t task_count() const {
    return static_cast<std::uint32_t>(duration.size());
  }
};

/// Backward pass of an LSTM of 10 layers, 5 tasks a node (cell, hidden_1, hidden_2, weight_1,
/// weight_2), durations with 10 % of jitter: with fixed durations many events coincide and every
/// event-driven engine looks twice as fast.
///
/// Plan: cell and hidden_1 of layer l on stream 2l, hidden_2 on 2l + 1, the weight tasks round
/// robin over all 21 streams; an event for each task that another stream waits for.
struct LstmScene {
  static constexpr std::uint32_t layers = 10;
  static constexpr std::uint32_t stream_count = 2 * layers + 1;

  /// Rounded to whole steps: 50 tasks each. Without `all_machines` only `ideal` has costs.
  explicit LstmScene(std::uint32_t tasks, bool all_machines = true);

  TaskGraph graph;
  Platform ideal;   ///< unlimited units, free host
  CostTable costs;  ///< on `ideal`
  Platform units;   ///< 64 units held whole, 3 priorities, host costs, latencies, launch queue
  CostTable unit_costs;
  Platform fluid;         ///< the same with units and memory bandwidth shared by running kernels
  CostTable fluid_costs;  ///< on `fluid`: the bandwidth suffices for all
  CostTable short_costs;  ///< on `fluid`: kernels that fill the units want twice the bandwidth
  Platform v100;          ///< fluid
  CostTable v100_costs;   ///< what tiled_gemm says of batch 64 and hidden size 1024
  Plan plan;

  [[nodiscard]] Problem problem() const { return {graph, ideal, costs}; }
  [[nodiscard]] Problem unit_problem() const { return {graph, units, unit_costs}; }
  [[nodiscard]] Problem fluid_problem() const { return {graph, fluid, fluid_costs}; }
  [[nodiscard]] Problem short_problem() const { return {graph, fluid, short_costs}; }
  [[nodiscard]] Problem v100_problem() const { return {graph, v100, v100_costs}; }
  [[nodiscard]] BareGraph bare() const;
};

}  // namespace schedlab::bench
