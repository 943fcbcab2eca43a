// SPDX-License-Identifier: Apache-2.0
// PlanIndex, continued: launches of single tasks, of device graphs and of kernels that start while
// others drain, and streams with a part of the units.
#include "sim/plan/check/plan_check_index.hpp"
#include "sim/plan/partitions.hpp"

#include <fmt/format.h>

#include <utility>

namespace schedlab::checker {

namespace {

bool is_kernel(TaskKind kind) {
  return kind == TaskKind::gemm || kind == TaskKind::pointwise || kind == TaskKind::convolution ||
         kind == TaskKind::reduction || kind == TaskKind::fixed;
}

/// Every node is in a stream of the plan that can be captured.
template <class IsLegacy, class Wrong>
void check_streams(const Plan& plan,
                   const DeviceGraph& graph,
                   const IsLegacy& is_legacy,
                   const Wrong& wrong) {
  for (std::uint32_t node = 0; node < graph.node_count(); ++node) {
    const StreamId stream = graph.stream(node);
    if (!plan.streams.contains(stream)) {
      wrong(fmt::format("has node {} of stream {}, but the plan has {} streams",
                        node,
                        stream.value(),
                        plan.streams.size()));
    } else if (is_legacy(stream)) {
      wrong(fmt::format(
          "has node {} in {}, which cannot be captured", node, plan.stream_name(stream)));
    }
  }
}

/// Every launch names tasks of the graph, where `placed` each on the device of its rank.
template <class Wrong>
void check_tasks(const Plan& plan,
                 const TaskGraph& tasks,
                 const DeviceGraph& graph,
                 bool placed,
                 const Wrong& wrong) {
  for (std::uint32_t row = 0; row < graph.launch_count(); ++row) {
    for (std::uint32_t node = 0; node < graph.node_count(); ++node) {
      const TaskId task = graph.task(row, node);
      if (task.value() >= tasks.task_count()) {
        wrong(fmt::format("names task {} in launch {}, but the graph has {} tasks",
                          task.value(),
                          row,
                          tasks.task_count()));
        continue;
      }
      if (!placed) continue;
      const DeviceId device = plan.streams[graph.stream(node)].device;
      if (device.value() == tasks.rank(task)) continue;
      wrong(fmt::format("has {} in launch {}, which belongs to rank {}, on device {}",
                        tasks.name(task),
                        row,
                        tasks.rank(task),
                        device.value()));
    }
  }
}

}  // namespace

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
    check_streams(
        plan_, graph, [this](StreamId stream) { return is_legacy(stream); }, wrong);
    const bool placed = graph_.has_ranks() && !graphs_[g].malformed;
    check_tasks(plan_, graph_, graph, placed, wrong);
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

void PlanIndex::check_partitions(FindingList& findings) {
  const auto wrong = [&](const std::string& text) {
    findings.add(FindingKind::malformed, HostId::none(), 0, [&] { return text; });
  };
  for (const StreamId stream : plan_.streams.ids()) {
    const std::uint32_t partition = plan_.streams[stream].partition;
    if (partition <= plan_.partitions.size()) continue;
    wrong(fmt::format(
        "{} is in partition {}, but the plan divides the units into {} besides the rest",
        plan_.stream_name(stream),
        partition,
        plan_.partitions.size()));
  }
  if (plan_.partitions.empty()) return;
  for (const Device& device : platform_.devices) {
    const std::string why = why_not_divided(platform_, device, plan_.partitions);
    if (!why.empty()) wrong(fmt::format("the plan has partitions of units: {}", why));
  }
}

/// Why no programmatic edge can be between the two tasks; empty: one can.
std::string PlanIndex::wrong_kernels(TaskId before, TaskId after, StreamId stream) const {
  const Device& device = platform_.device(plan_.streams[stream].device);
  if (!device.programmatic_gap) {
    return "is programmatic, but the device has no programmatic launches";
  }
  const Operation& first = graph_.operation(before);
  const Operation& second = graph_.operation(after);
  const bool kernels =
      is_kernel(first.kernels.empty() ? first.kind : first.kernels.back().kind) &&
      is_kernel(second.kernels.empty() ? second.kind : second.kernels.front().kind);
  if (kernels) return {};
  return fmt::format("is programmatic, but {} and {} are not both kernels",
                     graph_.name(before),
                     graph_.name(after));
}

/// A programmatic launch is right behind another one of its stream: anything between, or nothing at
/// all, and the device would wait as for any other launch.
void PlanIndex::check_programmatic(FindingList& findings) {
  for (const HostId host : plan_.hosts.ids()) {
    IdVector<StreamId, TaskId> last(plan_.streams.size());
    const auto& calls = plan_.hosts[host].calls;
    for (std::size_t i = 0; i < calls.size(); ++i) {
      const HostCall call = calls[i];
      const HostCallKind kind = call.kind();
      if (skip(host, i) || !call.stream().valid() || kind == HostCallKind::query ||
          kind == HostCallKind::synchronize) {
        continue;
      }
      const TaskId before = std::exchange(last[call.stream()], TaskId::none());
      if (kind != HostCallKind::launch) continue;
      last[call.stream()] = call.task();
      if (!call.programmatic()) continue;
      const std::string wrong =
          before.valid() ? wrong_kernels(before, call.task(), call.stream())
                         : "is programmatic, but not right behind another launch in its stream";
      if (wrong.empty()) continue;
      findings.add(FindingKind::malformed, host, i, [&] {
        return fmt::format(
            "{} (launch of {}) {}", call_name(plan_, host, i), graph_.name(call.task()), wrong);
      });
    }
  }
  for (std::uint32_t g = 0; g < plan_.graphs.size(); ++g) {
    const DeviceGraph& graph = plan_.graphs[g];
    for (std::uint32_t node = 0; node < graph.node_count() && !graphs_[g].malformed; ++node) {
      if (!graph.programmatic(node)) continue;
      for (std::uint32_t row = 0; row < graph.launch_count(); ++row) {
        const std::string wrong = wrong_kernels(
            graph.task(row, graph.needs(node)[0]), graph.task(row, node), graph.stream(node));
        if (wrong.empty()) continue;
        findings.add(FindingKind::malformed, HostId::none(), 0, [&] {
          return fmt::format("node {} of {} {}", node, plan_.graph_name(g), wrong);
        });
        break;
      }
    }
  }
}

}  // namespace schedlab::checker
