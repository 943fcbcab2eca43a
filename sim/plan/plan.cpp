// SPDX-License-Identifier: Apache-2.0
#include "sim/plan/plan.hpp"

#include "sim/base/error.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <set>

namespace schedlab {
namespace {

/// "call 7 (wait) of host \"rank 0\"".
std::string place(const Plan& plan, HostId host, std::size_t call, HostCallKind kind) {
  return fmt::format(
      "call {} ({}) of host {} \"{}\"", call, to_string(kind), host.value(), plan.hosts[host].name);
}

bool needs_stream(HostCallKind kind) {
  switch (kind) {
    case HostCallKind::create_stream:
    case HostCallKind::destroy_stream:
    case HostCallKind::launch:
    case HostCallKind::record:
    case HostCallKind::wait:
    case HostCallKind::query:
    case HostCallKind::graph_launch:
      return true;
    default:
      return false;
  }
}

bool names_event(HostCall call) {
  return call.kind() == HostCallKind::record || call.kind() == HostCallKind::wait ||
         (call.kind() == HostCallKind::synchronize && !call.stream().valid() &&
          call.argument() != HostCall::none);
}

void expect_valid_call(const Plan& plan, HostId host, std::size_t index, HostCall call) {
  const HostCallKind kind = call.kind();
  const auto where = [&] { return place(plan, host, index, kind); };
  if (needs_stream(kind) || call.stream().valid()) {
    SCHEDLAB_EXPECTS(plan.streams.contains(call.stream()),
                     where() + fmt::format(" names a stream that does not exist; the plan has {}",
                                           plan.streams.size()));
  }
  if (names_event(call)) {
    SCHEDLAB_EXPECTS(call.argument() < plan.event_count,
                     where() + fmt::format(" names event {}; the plan has {} events",
                                           call.argument(),
                                           plan.event_count));
  }
  if (concerns_message(kind)) {
    SCHEDLAB_EXPECTS(call.message() < plan.messages.size(),
                     where() + fmt::format(" names message {}; the plan has {} messages",
                                           call.message(),
                                           plan.messages.size()));
    const bool sends = kind == HostCallKind::send || kind == HostCallKind::isend;
    SCHEDLAB_EXPECTS(
        !sends || plan.messages[call.message()].one_sided != OneSided::get,
        where() + fmt::format(" concerns message {}, which its receiver gets", call.message()));
  }
  if (kind == HostCallKind::create_stream || kind == HostCallKind::destroy_stream) {
    SCHEDLAB_EXPECTS(plan.streams[call.stream()].sync != StreamSync::legacy_default,
                     where() + " concerns a legacy default stream, which is always there");
  }
  const bool names_graph = kind == HostCallKind::graph_load || kind == HostCallKind::graph_launch;
  SCHEDLAB_EXPECTS(
      !names_graph || call.graph() < plan.graphs.size(),
      where() +
          fmt::format(" names graph {}; the plan has {} graphs", call.graph(), plan.graphs.size()));
}

void expect_valid_streams(const Plan& plan) {
  std::set<DeviceId> with_legacy;
  for (const StreamId stream : plan.streams.ids()) {
    const StreamSpec& spec = plan.streams[stream];
    if (spec.sync != StreamSync::legacy_default) continue;
    SCHEDLAB_EXPECTS(
        spec.priority == 0,
        fmt::format("stream {} is a legacy default stream of priority {}; it is always 0",
                    stream.value(),
                    spec.priority));
    SCHEDLAB_EXPECTS(with_legacy.insert(spec.device).second,
                     fmt::format("stream {} is a second legacy default stream of device {}",
                                 stream.value(),
                                 spec.device.value()));
  }
}

void expect_valid_graphs(const Plan& plan) {
  for (std::uint32_t g = 0; g < plan.graphs.size(); ++g) {
    const DeviceGraph& graph = plan.graphs[g];
    SCHEDLAB_EXPECTS(graph.node_count() > 0, plan.graph_name(g) + " has no nodes");
    for (std::uint32_t node = 0; node < graph.node_count(); ++node) {
      SCHEDLAB_EXPECTS(plan.streams.contains(graph.stream(node)),
                       fmt::format("node {} of {} names a stream that does not exist; the plan has "
                                   "{}",
                                   node,
                                   plan.graph_name(g),
                                   plan.streams.size()));
      SCHEDLAB_EXPECTS(plan.streams[graph.stream(node)].sync != StreamSync::legacy_default,
                       fmt::format("node {} of {} is in a legacy default stream, which cannot be "
                                   "captured",
                                   node,
                                   plan.graph_name(g)));
    }
  }
}

/// Marks what the calls launch, one task after another.
class LaunchCount {
 public:
  LaunchCount(const Plan& plan, std::size_t task_count)
      : plan_(plan), launched_(task_count, false), launches_(plan.graphs.size()) {}

  void add(HostId host, std::size_t index, HostCall call) {
    if (call.kind() == HostCallKind::launch) add_task(host, index, call.kind(), call.argument());
    if (call.kind() == HostCallKind::graph_launch) add_graph(host, index, call.graph());
  }
  void expect_complete() const {
    for (std::uint32_t g = 0; g < plan_.graphs.size(); ++g) {
      const DeviceGraph& graph = plan_.graphs[g];
      SCHEDLAB_EXPECTS(launches_[g].count == graph.launch_count(),
                       fmt::format("{} is launched {} times and has tasks for {} launches",
                                   plan_.graph_name(g),
                                   launches_[g].count,
                                   graph.launch_count()));
    }
    const auto missing = std::find(launched_.begin(), launched_.end(), false);
    SCHEDLAB_EXPECTS(
        missing == launched_.end(),
        fmt::format(
            "task {} is never launched by plan \"{}\"", missing - launched_.begin(), plan_.policy));
  }

 private:
  struct GraphLaunches {
    HostId host;
    std::uint32_t count = 0;
  };

  void add_task(HostId host, std::size_t index, HostCallKind kind, std::uint32_t task) {
    SCHEDLAB_EXPECTS(
        task < launched_.size(),
        place(plan_, host, index, kind) +
            fmt::format(" names task {}; the graph has {} tasks", task, launched_.size()));
    SCHEDLAB_EXPECTS(
        !launched_[task],
        place(plan_, host, index, kind) + fmt::format(" launches task {} a second time", task));
    launched_[task] = true;
  }
  void add_graph(HostId host, std::size_t index, std::uint32_t id) {
    const DeviceGraph& graph = plan_.graphs[id];
    GraphLaunches& launches = launches_[id];
    const auto where = [&] { return place(plan_, host, index, HostCallKind::graph_launch); };
    SCHEDLAB_EXPECTS(!launches.host.valid() || launches.host == host,
                     where() + fmt::format(" launches {}, which host {} launches too",
                                           plan_.graph_name(id),
                                           launches.host.value()));
    SCHEDLAB_EXPECTS(launches.count < graph.launch_count(),
                     where() + fmt::format(" launches {} once more than it has rows of tasks ({})",
                                           plan_.graph_name(id),
                                           graph.launch_count()));
    for (const TaskId task : graph.tasks(launches.count)) {
      add_task(host, index, HostCallKind::graph_launch, task.value());
    }
    launches.host = host;
    ++launches.count;
  }

  const Plan& plan_;
  std::vector<bool> launched_;
  std::vector<GraphLaunches> launches_;
};

}  // namespace

std::size_t Plan::call_count() const {
  std::size_t count = 0;
  for (const HostProgram& host : hosts) count += host.calls.size();
  return count;
}

std::size_t Plan::count(HostCallKind kind) const {
  std::size_t count = 0;
  for (const HostProgram& host : hosts) {
    count += static_cast<std::size_t>(std::count_if(
        host.calls.begin(), host.calls.end(), [kind](HostCall c) { return c.kind() == kind; }));
  }
  return count;
}

std::string Plan::stream_name(StreamId stream) const {
  if (!stream.valid()) return "no stream";
  if (!streams.contains(stream)) return fmt::format("stream {}", stream.value());
  const StreamSpec& spec = streams[stream];
  if (spec.sync == StreamSync::legacy_default) {
    return spec.name.empty() ? "legacy default" : spec.name + " (legacy default)";
  }
  return spec.name.empty() ? fmt::format("stream {}", stream.value()) : spec.name;
}

std::string Plan::graph_name(std::uint32_t graph) const {
  if (graph < graphs.size() && !graphs[graph].name.empty()) return graphs[graph].name;
  return fmt::format("graph {}", graph);
}

std::size_t Plan::task_count() const {
  std::size_t tasks = count(HostCallKind::launch);
  for (const DeviceGraph& graph : graphs) {
    tasks += std::size_t{graph.launch_count()} * graph.node_count();
  }
  return tasks;
}

bool Plan::programmatic() const {
  return std::any_of(
             graphs.begin(), graphs.end(), [](const DeviceGraph& g) { return g.programmatic(); }) ||
         std::any_of(hosts.begin(), hosts.end(), [](const HostProgram& host) {
           return std::any_of(host.calls.begin(), host.calls.end(), [](HostCall call) {
             return call.programmatic();
           });
         });
}

std::size_t Plan::memory_bytes() const {
  std::size_t bytes = sizeof(Plan) + policy.capacity();
  bytes += streams.raw().capacity() * sizeof(StreamSpec);
  for (const StreamSpec& stream : streams) bytes += stream.name.capacity();
  bytes += messages.capacity() * sizeof(MessageSpec);
  for (const DeviceGraph& graph : graphs) bytes += graph.memory_bytes();
  bytes += hosts.raw().capacity() * sizeof(HostProgram);
  for (const HostProgram& host : hosts) {
    bytes += host.name.capacity() + host.calls.capacity() * sizeof(HostCall);
  }
  return bytes;
}

IdVector<StreamId, std::vector<HostCall>> stream_view(const Plan& plan) {
  IdVector<StreamId, std::vector<HostCall>> view(plan.streams.size());
  for (const HostProgram& host : plan.hosts) {
    for (const HostCall call : host.calls) {
      if (call.stream().valid() && view.contains(call.stream())) {
        view[call.stream()].push_back(call);
      }
    }
  }
  return view;
}

void expect_well_formed(const Plan& plan, std::size_t task_count) {
  expect_valid_streams(plan);
  expect_valid_graphs(plan);
  LaunchCount launched{plan, task_count};
  for (const HostId host : plan.hosts.ids()) {
    const std::vector<HostCall>& calls = plan.hosts[host].calls;
    for (std::size_t i = 0; i < calls.size(); ++i) {
      expect_valid_call(plan, host, i, calls[i]);
      launched.add(host, i, calls[i]);
    }
  }
  launched.expect_complete();
}

}  // namespace schedlab
