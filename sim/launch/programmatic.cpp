// SPDX-License-Identifier: Apache-2.0
#include "sim/launch/programmatic.hpp"

#include "sim/base/error.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <utility>
#include <vector>

namespace schedlab {
namespace {

bool takes_part(TaskKind kind, ProgrammaticLaunches kernels) {
  switch (kind) {
    case TaskKind::pointwise:
    case TaskKind::reduction:
    case TaskKind::fixed:
      return kernels != ProgrammaticLaunches::none;
    case TaskKind::gemm:
    case TaskKind::convolution:
      return kernels == ProgrammaticLaunches::all_kernels;
    default:
      return false;
  }
}

/// The device graph with programmatic edges where `can(before, after)` says so in all its rows.
template <class Can>
DeviceGraph with_edges(const DeviceGraph& graph, const Plan& plan, const Can& can) {
  DeviceGraph made;
  made.name = graph.name;
  made.node_priorities = graph.node_priorities;
  for (std::uint32_t node = 0; node < graph.node_count(); ++node) {
    const auto needs = graph.needs(node);
    const StreamId stream = graph.stream(node);
    bool programmatic = needs.size() == 1 && graph.stream(needs[0]) == stream &&
                        plan.streams[stream].sync == StreamSync::non_blocking;
    for (std::uint32_t row = 0; programmatic && row < graph.launch_count(); ++row) {
      programmatic = can(graph.task(row, needs[0]), graph.task(row, node));
    }
    made.add_node(stream, {needs.begin(), needs.end()}, programmatic);
  }
  for (std::uint32_t row = 0; row < graph.launch_count(); ++row) made.add_launch(graph.tasks(row));
  return made;
}

/// By stream: none() while several hosts use it.
IdVector<StreamId, HostId> only_host_of(const Plan& plan) {
  IdVector<StreamId, HostId> host(plan.streams.size());
  IdVector<StreamId, bool> shared(plan.streams.size(), false);
  for (const HostId id : plan.hosts.ids()) {
    for (const HostCall call : plan.hosts[id].calls) {
      const StreamId stream = call.stream();
      if (!stream.valid()) continue;
      if (host[stream].valid() && host[stream] != id) shared[stream] = true;
      host[stream] = id;
    }
  }
  for (const StreamId stream : plan.streams.ids()) {
    if (shared[stream]) host[stream] = HostId::none();
  }
  return host;
}

}  // namespace

bool launches_programmatically(const Operation& operation, ProgrammaticLaunches kernels) {
  const bool known = !operation.kernels.empty();
  return takes_part(known ? operation.kernels.front().kind : operation.kind, kernels);
}

void launch_programmatically(Plan& plan, const TaskGraph& graph, ProgrammaticLaunches kernels) {
  const auto can = [&](TaskId before, TaskId after) {
    if (before.value() >= graph.task_count() || after.value() >= graph.task_count()) return false;
    const Operation& first = graph.operation(before);
    const bool known = !first.kernels.empty();
    return takes_part(known ? first.kernels.back().kind : first.kind, kernels) &&
           launches_programmatically(graph.operation(after), kernels);
  };
  const IdVector<StreamId, HostId> only = only_host_of(plan);
  for (const HostId host : plan.hosts.ids()) {
    IdVector<StreamId, TaskId> last(plan.streams.size());  // none(): no launch is right before
    for (HostCall& call : plan.hosts[host].calls) {
      const StreamId stream = call.stream();
      if (!stream.valid() || call.kind() == HostCallKind::query ||
          call.kind() == HostCallKind::synchronize) {
        continue;
      }
      const TaskId before = std::exchange(last[stream], TaskId::none());
      if (call.kind() != HostCallKind::launch) continue;
      last[stream] = call.task();
      const bool follows = before.valid() && only[stream].valid() &&
                           plan.streams[stream].sync == StreamSync::non_blocking;
      if (follows && can(before, call.task())) call = HostCall::launch(stream, call.task(), true);
    }
  }
  for (DeviceGraph& one : plan.graphs) one = with_edges(one, plan, can);
}

void set_urgent_units(Plan& plan, std::uint32_t units) {
  int urgent = 0;
  int least = 0;
  bool any = false;
  for (const StreamSpec& stream : plan.streams) {
    urgent = any ? std::min(urgent, stream.priority) : stream.priority;
    least = any ? std::max(least, stream.priority) : stream.priority;
    any = true;
  }
  if (urgent == least) {
    throw InfeasibleError(fmt::format(
        "urgent_units sets units aside for the streams of the most urgent priority, and all {} "
        "stream{} of policy \"{}\" have priority {}\n  use a policy with priorities, as "
        "critical_first, or leave out urgent_units",
        plan.streams.size(),
        plan.streams.size() == 1 ? "" : "s",
        plan.policy,
        urgent));
  }
  plan.partitions = {units};
  for (StreamSpec& stream : plan.streams) stream.partition = stream.priority == urgent ? 1 : 0;
}

}  // namespace schedlab
