// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "sim/base/rng.hpp"
#include "sim/graph/task_graph.hpp"
#include "sim/machine/cost_model.hpp"
#include "sim/machine/platform.hpp"
#include "sim/plan/policy.hpp"

#include <cstdint>
#include <utility>
#include <vector>

namespace schedlab::testing {

/// A graph with what a policy needs besides: the ideal platform with two priority levels, and
/// durations.
struct Scene {
  TaskGraph graph;
  Platform platform;
  CostTable costs;

  /// Every task lasts `duration`.
  Scene(TaskGraph g, Duration duration) : Scene(std::move(g)) {
    costs.set_task_durations(IdVector<TaskId, Duration>(graph.task_count(), duration));
  }
  /// Seeded durations of 1 to 20 microseconds, all different with high probability.
  Scene(TaskGraph g, Rng rng) : Scene(std::move(g)) {
    IdVector<TaskId, Duration> durations(graph.task_count(), Duration{0});
    for (Duration& d : durations) {
      d = Duration{static_cast<std::int64_t>(1'000'000 + rng.below(19'000'000))};
    }
    costs.set_task_durations(std::move(durations));
  }
  /// The durations that the graph itself has.
  explicit Scene(TaskGraph g)
      : graph(std::move(g)), platform(ideal_platform(2)), costs(graph, platform) {}

  [[nodiscard]] Problem problem() const { return {graph, platform, costs}; }
};

/// A task of each duration, and edges (from, to) by their numbers.
[[nodiscard]] inline TaskGraph graph_of(
    const std::vector<Duration>& durations,
    const std::vector<std::pair<std::uint32_t, std::uint32_t>>& edges) {
  TaskGraphBuilder builder;
  const OperationId operation = builder.add_operation({.name = "task"});
  for (const Duration d : durations) builder.set_duration(builder.add_task(operation), d);
  for (const auto& [from, to] : edges) builder.add_edge(TaskId{from}, TaskId{to});
  return std::move(builder).build();
}

/// Edges from lower to higher ids, each with the given probability; no tags, no classes.
[[nodiscard]] inline TaskGraph random_dag(std::uint64_t seed,
                                          std::uint32_t tasks,
                                          double edge_probability) {
  Rng rng{seed};
  TaskGraphBuilder builder;
  const OperationId operation = builder.add_operation({.name = "task"});
  for (std::uint32_t i = 0; i < tasks; ++i) builder.add_task(operation);
  for (std::uint32_t to = 1; to < tasks; ++to) {
    for (std::uint32_t from = 0; from < to; ++from) {
      if (rng.uniform() < edge_probability) builder.add_edge(TaskId{from}, TaskId{to});
    }
  }
  return std::move(builder).build();
}

/// The gradient grid of theory: node (l, t) after (l + 1, t) and (l, t + 1), tags layer and step.
[[nodiscard]] inline TaskGraph gradient_grid(std::uint32_t layers, std::uint32_t steps) {
  TaskGraphBuilder builder;
  const OperationId operation = builder.add_operation(
      {.name = "node", .task_class = TaskClass::critical_matmul, .kernels = {}});
  const auto id = [&](std::uint32_t l, std::uint32_t t) {  // from (layers-1, steps-1) down
    return TaskId{(steps - 1 - t) * layers + (layers - 1 - l)};
  };
  for (std::uint32_t t = steps; t-- > 0;) {
    for (std::uint32_t l = layers; l-- > 0;) {
      builder.add_task(
          operation, {.layer = static_cast<std::int16_t>(l), .step = static_cast<std::int32_t>(t)});
      if (l + 1 < layers) builder.add_edge(id(l + 1, t), id(l, t));
      if (t + 1 < steps) builder.add_edge(id(l, t + 1), id(l, t));
    }
  }
  return std::move(builder).build();
}

}  // namespace schedlab::testing
