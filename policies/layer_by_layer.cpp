// SPDX-License-Identifier: Apache-2.0
#include "policies/policy_info.hpp"
#include "policies/wavefront.hpp"
#include "sim/plan/placing_policy.hpp"

#include <cstdint>
#include <map>
#include <utility>

namespace schedlab {
namespace {

/// Everything on one stream, each layer's operation over all its tasks before the next one: of what
/// is ready, the task whose operation in its layer comes first in the graph. A layer's recurrent
/// chain runs through all steps, then its batched rest, then the next layer: weights are read while
/// they lie in the cache, where `single_stream` changes layers at every step. Cost: O(tasks log
/// tasks + edges). Ties: lower task id first.
/// Source: the order in which libraries run stacked layers without a wavefront (the first steps of
/// Appleyard, Kocisky, Blunsom, arXiv 1604.01946).
class LayerByLayer final : public PlacingPolicy {
 public:
  [[nodiscard]] std::string_view name() const override { return "layer_by_layer"; }
  [[nodiscard]] Granularity granularity() const override { return Granularity::fine; }
  [[nodiscard]] PlanBuilder place(const Problem& problem) const override;
  [[nodiscard]] bool places_by_graph() const override { return true; }
};

PlanBuilder LayerByLayer::place(const Problem& problem) const {
  const TaskGraph& graph = problem.graph;
  // By operation and layer: the place in the graph of the first such task.
  std::map<std::pair<OperationId, std::int64_t>, std::int64_t> places;
  std::int64_t place = 0;
  const auto group = [&](TaskId task) {
    return std::pair{graph.operation_id(task), std::int64_t{graph.tags(task).layer}};
  };
  for (const TaskId task : graph.topological_order()) places.try_emplace(group(task), place++);
  PlanBuilder builder{problem};
  const StreamId stream =
      builder.add_stream({.device = DeviceId{0}, .priority = 0, .name = "stream"});
  for (const TaskId task : order_by_key(graph, [&](TaskId one) { return places.at(group(one)); })) {
    builder.place(task, stream);
  }
  return builder;
}

}  // namespace

PolicyInfo layer_by_layer_info() {
  return {.name = "layer_by_layer",
          .summary =
              "One stream; each layer's operation over all its tasks before the next, so "
              "that weights stay in the cache.",
          .source = "Appleyard, Kocisky, Blunsom, arXiv 1604.01946, before the wavefront",
          .options = {},
          .make = [](const Options&) { return std::make_unique<LayerByLayer>(); },
          .plans_by_durations = true};
}

}  // namespace schedlab
