// SPDX-License-Identifier: Apache-2.0
#include "policies/layer_by_layer.hpp"

#include "policies/wavefront.hpp"

#include <cstdint>
#include <map>
#include <utility>

namespace schedlab {

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
