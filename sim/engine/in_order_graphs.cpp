// SPDX-License-Identifier: Apache-2.0
// InOrderSweep, continued: graphs launched with one call.
#include "sim/base/error.hpp"
#include "sim/engine/in_order.hpp"
#include "sim/engine/in_order_run.hpp"

#include <fmt/format.h>

#include <algorithm>

namespace schedlab {

void InOrderSweep::load_graph(Run& run, HostCall call) {
  SCHEDLAB_EXPECTS(call.graph() < run.plan.graphs.size(),
                   fmt::format("graph {} of the plan's {}", call.graph(), run.plan.graphs.size()));
  const std::int64_t nodes = run.plan.graphs[call.graph()].node_count();
  run.clock += run.costs.graph_load + nodes * run.costs.graph_load_node;
}

void InOrderSweep::launch_graph(Run& run, HostCall call) {
  SCHEDLAB_EXPECTS(call.graph() < run.plan.graphs.size(),
                   fmt::format("graph {} of the plan's {}", call.graph(), run.plan.graphs.size()));
  const DeviceGraph& graph = run.plan.graphs[call.graph()];
  GraphState& state = graphs_[call.graph()];
  const std::uint32_t row = state.launches++;
  SCHEDLAB_EXPECTS(row < graph.launch_count(),
                   fmt::format("{} is launched {} times and has tasks for {} launches",
                               run.plan.graph_name(call.graph()),
                               row + 1,
                               graph.launch_count()));
  Stream& stream = usable(run, call.stream());
  wait_for_slot(run, call.stream(), stream);
  run.clock += run.costs.graph_launch + graph.node_count() * run.costs.graph_launch_node;
  Time start = std::max(
      {run.clock + stream.launch_latency, stream.free_from, stream.last_item, state.completed});
  if (run.shared_connections) {
    Time& connection = connections_[stream.connection];
    start = std::max(start, connection);
    connection = start;
  }
  state.completed = run_nodes(run, graph, row, start);
  note_end(run, call.stream(), stream, state.completed);
}

/// Places the nodes from `start` on; when the last has completed.
Time InOrderSweep::run_nodes(Run& run, const DeviceGraph& graph, std::uint32_t row, Time start) {
  node_ends_.resize(graph.node_count());
  Time last = start;
  for (std::uint32_t node = 0; node < graph.node_count(); ++node) {
    const TaskId task = graph.task(row, node);
    SCHEDLAB_EXPECTS(task.value() < run.problem.costs.task_count(),
                     fmt::format("launch of task {}", task.value()));
    const DeviceId device = run.plan.streams[graph.stream(node)].device;
    const Duration gap = gap_before(graph, node, run.problem.platform.device(device));
    Time ready = start;
    for (const std::uint32_t need : graph.needs(node)) {
      ready = std::max(ready, node_ends_[need] + gap);
    }
    node_ends_[node] = ready + run.problem.costs.duration(task, device);
    last = std::max(last, node_ends_[node]);
    run.spans.next() = {.task = task,
                        .stream = graph.stream(node),
                        .host = HostId{0},
                        .device = device,
                        .submitted = run.clock,
                        .started = ready,
                        .ended = node_ends_[node]};
  }
  return last;
}

}  // namespace schedlab
