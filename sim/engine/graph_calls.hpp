// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "sim/engine/event_engine.hpp"

#include <fmt/format.h>

/// \file
/// Members of EventEngine: loading and launching of graphs.
namespace schedlab::engine {

/// Loading takes effect at once: the time it costs is all that it does.
template <class Source, class Sharing>
bool EventEngine<Source, Sharing>::graph_call(std::uint32_t index) {
  HostThread& host = scratch_.hosts[index];
  const HostCall call = host.call;
  const Plan& plan = source_.plan();
  SCHEDLAB_EXPECTS(call.graph() < plan.graphs.size(),
                   fmt::format("graph {} of the plan's {}", call.graph(), plan.graphs.size()));
  const std::int64_t nodes = plan.graphs[call.graph()].node_count();
  if (call.kind() == HostCallKind::graph_load) {
    host.clock += costs(index).graph_load + nodes * costs(index).graph_load_node;
    return true;
  }
  if (problem_.costs.has_staging()) expect_pinned(call.graph());
  open_on_first_use(call.stream());
  if (!queue_has_slot(index)) return false;
  host.clock += costs(index).graph_launch + nodes * costs(index).graph_launch_node;
  devices_.enqueue_graph(plan, call, host.clock, arrival(call.stream(), host.clock), HostId{index});
  return true;
}

/// How a graph stages pageable memory is nowhere documented.
template <class Source, class Sharing>
void EventEngine<Source, Sharing>::expect_pinned(std::uint32_t id) const {
  const DeviceGraph& graph = source_.plan().graphs[id];
  for (std::uint32_t launch = 0; launch < graph.launch_count(); ++launch) {
    for (const TaskId task : graph.tasks(launch)) {
      const auto& entry = problem_.costs.entry(task);
      if (entry.staging_before + entry.staging_after == Duration{0}) continue;
      throw InfeasibleError(fmt::format(
          "{} copies pageable memory in {}, which is not simulated\n  use pinned memory, or launch "
          "eagerly",
          problem_.graph.name(task),
          source_.plan().graph_name(id)));
    }
  }
}

}  // namespace schedlab::engine
