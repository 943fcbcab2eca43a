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
  open_on_first_use(call.stream());
  if (!has_room(index)) return false;
  host.clock += costs(index).graph_launch + nodes * costs(index).graph_launch_node;
  devices_.enqueue_graph(plan, call, host.clock, arrival(call.stream(), host.clock), HostId{index});
  return true;
}

}  // namespace schedlab::engine
