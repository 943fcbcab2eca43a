// SPDX-License-Identifier: Apache-2.0
// PlanIndex, continued: launches of single tasks and of device graphs.
#include "sim/plan/plan_check_index.hpp"

#include <fmt/format.h>

namespace schedlab::checker {

void PlanIndex::check_graphs(FindingList& findings) {
  for (std::uint32_t g = 0; g < plan_.graphs.size(); ++g) {
    const DeviceGraph& graph = plan_.graphs[g];
    const auto wrong = [&](const std::string& text) {
      graphs_[g].malformed = true;
      findings.add(FindingKind::malformed, HostId::none(), 0, [&] {
        return fmt::format("{} {}", plan_.graph_name(g), text);
      });
    };
    if (graph.node_count() == 0) wrong("has no nodes");
    for (std::uint32_t node = 0; node < graph.node_count(); ++node) {
      if (plan_.streams.contains(graph.stream(node))) {
        if (!is_legacy(graph.stream(node))) continue;
        wrong(fmt::format("has node {} in {}, which cannot be captured",
                          node,
                          plan_.stream_name(graph.stream(node))));
        continue;
      }
      wrong(fmt::format("has node {} of stream {}, but the plan has {} streams",
                        node,
                        graph.stream(node).value(),
                        plan_.streams.size()));
    }
    const bool placed = graph_.has_ranks() && !graphs_[g].malformed;
    for (std::uint32_t row = 0; row < graph.launch_count(); ++row) {
      for (std::uint32_t node = 0; node < graph.node_count(); ++node) {
        const TaskId task = graph.task(row, node);
        if (task.value() < graph_.task_count()) {
          const DeviceId device = placed ? plan_.streams[graph.stream(node)].device : DeviceId{};
          if (!placed || device.value() == graph_.rank(task)) continue;
          wrong(fmt::format("has {} in launch {}, which belongs to rank {}, on device {}",
                            graph_.name(task),
                            row,
                            graph_.rank(task),
                            device.value()));
          continue;
        }
        wrong(fmt::format("names task {} in launch {}, but the graph has {} tasks",
                          task.value(),
                          row,
                          graph_.task_count()));
      }
    }
  }
}

std::string PlanIndex::wrong_graph(HostId host, HostCall call) const {
  const std::uint32_t id = call.graph();
  if (id >= plan_.graphs.size()) {
    return fmt::format("names graph {}, but the plan has {} graphs", id, plan_.graphs.size());
  }
  const GraphUse& use = graphs_[id];
  if (use.malformed) return fmt::format("is for {}, which is malformed", plan_.graph_name(id));
  if (call.kind() == HostCallKind::graph_load) {
    if (use.load == never) return {};
    const CallSite first = site(use.load);
    return fmt::format("loads {} again; the first is {}",
                       plan_.graph_name(id),
                       call_name(plan_, first.host, first.call));
  }
  if (!use.launches.empty() && site(use.launches.front()).host != host) {
    return fmt::format("launches {}, which {} launches too: a graph belongs to one host",
                       plan_.graph_name(id),
                       host_name(plan_, site(use.launches.front()).host));
  }
  if (use.launches.size() < plan_.graphs[id].launch_count()) return {};
  return fmt::format("launches {} once more than it has rows of tasks ({})",
                     plan_.graph_name(id),
                     plan_.graphs[id].launch_count());
}

void PlanIndex::note_graph_launch(HostId host, std::size_t call, FindingList& findings) {
  const std::uint32_t id = plan_.hosts[host].calls[call].graph();
  GraphUse& use = graphs_[id];
  const auto row = static_cast<std::uint32_t>(use.launches.size());
  use.launches.push_back(number(host, call));
  if (node_stream_.empty()) node_stream_.resize(graph_.task_count());
  const DeviceGraph& graph = plan_.graphs[id];
  for (std::uint32_t node = 0; node < graph.node_count(); ++node) {
    note_launch(host, call, graph.task(row, node), findings);
    node_stream_[graph.task(row, node)] = graph.stream(node);
  }
}

void PlanIndex::note_launch(HostId host, std::size_t call, TaskId task, FindingList& findings) {
  if (launch_[task] == never) {
    launch_[task] = number(host, call);
    return;
  }
  mark_malformed(number(host, call));
  findings.add(FindingKind::malformed, host, call, [&] {
    const CallSite first = site(launch_[task]);
    return fmt::format("{} ({}) launches {} a second time; the first is {}",
                       call_name(plan_, host, call),
                       to_string(plan_.hosts[host].calls[call].kind()),
                       graph_.name(task),
                       call_name(plan_, first.host, first.call));
  });
}

StreamId PlanIndex::stream_of(TaskId task) const {
  if (!node_stream_.empty() && node_stream_[task].valid()) return node_stream_[task];
  const CallSite at = site(launch_[task]);
  return plan_.hosts[at.host].calls[at.call].stream();
}

}  // namespace schedlab::checker
