// SPDX-License-Identifier: Apache-2.0
#include "sim/trace/wait_causes.hpp"

#include <algorithm>

namespace schedlab {

namespace {

[[nodiscard]] bool copies_for_host(TaskKind kind) {
  return kind == TaskKind::copy_host_to_device || kind == TaskKind::copy_device_to_host;
}

}  // namespace

WaitCauses::WaitCauses(const Problem& problem,
                       const Plan& plan,
                       const Trace& trace,
                       const ReleaseIndex& index)
    : problem_(problem),
      plan_(plan),
      trace_(trace),
      index_(index),
      graph_node_(trace.tasks.size(), false),
      ordered_after_(trace.tasks.size()),
      connection_free_(trace.tasks.size()),
      ready_(trace.tasks.size()),
      present_(problem.platform.device_count()) {
  mark_graph_nodes();
  follow_graph_order();
  follow_connections();
  for (std::uint32_t i = 0; i < trace.tasks.size(); ++i) {
    const TaskSpan& span = trace.tasks[i];
    ready_[i] = until_ready(i, Time{}, nullptr);
    present_[span.device.value()].push_back({ready_[i], span.ended, i, {}});
  }
  for (auto& device : present_) {
    std::stable_sort(device.begin(), device.end(), [](const Presence& a, const Presence& b) {
      return a.ready < b.ready;
    });
    Time latest{};
    for (Presence& one : device) one.ended_so_far = latest = std::max(latest, one.ended);
  }
}

void WaitCauses::mark_graph_nodes() {
  for (const DeviceGraph& graph : plan_.graphs) {
    for (std::uint32_t launch = 0; launch < graph.launch_count(); ++launch) {
      for (const TaskId task : graph.tasks(launch)) {
        const std::uint32_t span = index_.span_of(task);
        if (span != ReleaseIndex::none) graph_node_[span] = true;
      }
    }
  }
}

void WaitCauses::follow_graph_order() {
  if (plan_.graphs.empty()) return;
  std::vector<std::uint32_t> launched(plan_.graphs.size(), 0);
  std::vector<Time> graph_end(plan_.graphs.size());
  for (const HostProgram& host : plan_.hosts) {
    std::vector<Time> stream_end(plan_.streams.size());
    const auto ran = [&](TaskId task, Time after) {
      const std::uint32_t span = index_.span_of(task);
      if (span == ReleaseIndex::none) return after;
      ordered_after_[span] = after;
      return trace_.tasks[span].ended;
    };
    for (const HostCall call : host.calls) {
      if (call.kind() == HostCallKind::launch) {
        Time& end = stream_end[call.stream().value()];
        end = std::max(end, ran(call.task(), end));
      } else if (call.kind() == HostCallKind::graph_launch) {
        const DeviceGraph& graph = plan_.graphs[call.graph()];
        Time& end = stream_end[call.stream().value()];
        const Time after = std::max(end, graph_end[call.graph()]);
        for (const TaskId task : graph.tasks(launched[call.graph()]++)) {
          end = std::max(end, ran(task, after));
        }
        graph_end[call.graph()] = end;
      }
    }
  }
}

/// A connection hands its calls on in the order of the host's calls: a task has left it when it has
/// started, a record when the work before it in its stream has ended, a wait when it is released.
void WaitCauses::follow_connections() {
  if (plan_.hosts.size() != 1) return;
  std::vector<std::uint32_t> opened(problem_.platform.device_count(), 0);
  std::vector<std::uint32_t> connection_of(plan_.streams.size(), ReleaseIndex::none);
  std::vector<std::vector<Time>> free(problem_.platform.device_count());
  std::vector<Time> stream_end(plan_.streams.size());
  std::vector<std::size_t> next_flow(plan_.streams.size(), 0);
  for (const HostCall call : plan_.hosts[HostId{0}].calls) {
    if (!call.stream().valid()) continue;
    const std::size_t stream = call.stream().value();
    const DeviceId device = plan_.streams[call.stream()].device;
    const std::uint32_t connections = problem_.platform.device(device).connections;
    if (connections == 0) continue;
    if (connection_of[stream] == ReleaseIndex::none) {
      connection_of[stream] = opened[device.value()]++ % connections;
      free[device.value()].resize(connections);
    }
    Time& passed = free[device.value()][connection_of[stream]];
    if (call.kind() == HostCallKind::launch) {
      const std::uint32_t span = index_.span_of(call.task());
      if (span == ReleaseIndex::none) continue;
      connection_free_[span] = passed;
      passed = std::max(passed, trace_.tasks[span].started);
      stream_end[stream] = trace_.tasks[span].ended;
    } else if (call.kind() == HostCallKind::record) {
      passed = std::max(passed, stream_end[stream]);
    } else if (call.kind() == HostCallKind::wait && stream < index_.stream_count()) {
      const auto& flows = index_.flows_to(call.stream());
      std::size_t& next = next_flow[stream];
      if (next < flows.size() && flows[next]->event == call.event()) {
        passed = std::max(passed, flows[next++]->released);
      }
    }
  }
}

Time WaitCauses::end_of_needs(std::uint32_t index) const {
  Time end = ordered_after_[index];
  index_.for_each_need(index,
                       [&](std::uint32_t by) { end = std::max(end, trace_.tasks[by].ended); });
  return end;
}

Time WaitCauses::end_of_latency(std::uint32_t index) const {
  const TaskSpan& span = trace_.tasks[index];
  const Device& device = problem_.platform.device(span.device);
  Time end = std::min(span.submitted, span.started) + device.launch_latency;
  if (graph_node_[index]) {
    const Time needs = end_of_needs(index);
    return needs == Time{} ? end : std::max(end, needs + device.graph_node_gap);
  }
  const std::uint32_t before = index_.previous(index);
  if (before != ReleaseIndex::none) {
    end = std::max(end, trace_.tasks[before].ended + device.stream_gap);
  }
  index_.for_each_need(index, [&](std::uint32_t by) {
    const TaskSpan& need = trace_.tasks[by];
    const Duration delay = need.stream == span.stream ? device.stream_gap : device.event_latency;
    end = std::max(end, need.ended + delay);
  });
  return end;
}

Time WaitCauses::until_ready(std::uint32_t index, Time from, std::vector<Part>* out) const {
  const TaskSpan& span = trace_.tasks[index];
  Time at = from;
  const auto wait_until = [&](Time until, WaitCause cause) {
    until = std::min(until, span.started);
    if (until <= at) return;
    if (out != nullptr) out->push_back({cause, at, until});
    at = until;
  };
  wait_until(end_of_needs(index), WaitCause::dependency);
  wait_until(span.submitted, WaitCause::host);
  wait_until(end_of_latency(index), WaitCause::latency);
  wait_until(connection_free_[index], WaitCause::connection);
  return at;
}

std::vector<WaitCauses::Part> WaitCauses::parts(std::uint32_t span, Time from) const {
  std::vector<Part> all;
  const Time ready = until_ready(span, from, &all);
  if (ready < trace_.tasks[span].started) wait_for_units(span, ready, all);
  return all;
}

/// Everybody of the device who is there in [ready, start of the span) and wants what it wants.
std::vector<std::uint32_t> WaitCauses::beside(std::uint32_t index, Time ready) const {
  const TaskSpan& span = trace_.tasks[index];
  const auto& device = present_[span.device.value()];
  auto one =
      std::lower_bound(device.begin(), device.end(), span.started, [](const Presence& p, Time t) {
        return p.ready < t;
      });
  std::vector<std::uint32_t> present;
  while (one != device.begin()) {
    --one;
    if (one->ended_so_far <= ready) break;
    if (one->ended > ready && one->span != index && compete(index, one->span)) {
      present.push_back(one->span);
    }
  }
  return present;
}

WaitCause WaitCauses::cause_at(std::uint32_t index,
                               Time ready,
                               Time at,
                               const std::vector<std::uint32_t>& present) const {
  const bool copy =
      copies_for_host(problem_.graph.operation(trace_.tasks[index].task).kind);  // of one engine
  bool busy = false;
  for (const std::uint32_t by : present) {
    const TaskSpan& other = trace_.tasks[by];
    if (at >= other.ended || at < ready_[by]) continue;
    const bool runs = at >= other.started;
    const bool overtakes = !runs || other.started >= ready;
    if (!copy && level(by) < level(index) && overtakes) return WaitCause::priority;
    busy = busy || runs;
  }
  if (!busy) return WaitCause::other;
  return copy ? WaitCause::copy_engine : WaitCause::resource;
}

void WaitCauses::wait_for_units(std::uint32_t index, Time ready, std::vector<Part>& out) const {
  const Time started = trace_.tasks[index].started;
  const std::vector<std::uint32_t> present = beside(index, ready);
  // Causes change only where somebody comes, starts or goes.
  std::vector<Time> changes{ready, started};
  for (const std::uint32_t by : present) {
    for (const Time time : {ready_[by], trace_.tasks[by].started, trace_.tasks[by].ended}) {
      if (ready < time && time < started) changes.push_back(time);
    }
  }
  std::sort(changes.begin(), changes.end());
  changes.erase(std::unique(changes.begin(), changes.end()), changes.end());
  for (std::size_t i = 0; i + 1 < changes.size(); ++i) {
    const WaitCause cause = cause_at(index, ready, changes[i], present);
    if (!out.empty() && out.back().cause == cause && out.back().end == changes[i]) {
      out.back().end = changes[i + 1];
    } else {
      out.push_back({cause, changes[i], changes[i + 1]});
    }
  }
}

/// Tasks of different unit classes run side by side, unless the device bounds how many run at all.
bool WaitCauses::compete(std::uint32_t a, std::uint32_t b) const {
  const Device& device = problem_.platform.device(trace_.tasks[a].device);
  const auto class_of = [&](std::uint32_t span) {
    const TaskKind kind = problem_.graph.operation(trace_.tasks[span].task).kind;
    return device.unit_class_of[static_cast<std::size_t>(kind)];
  };
  const UnitClassId first = class_of(a);
  const UnitClassId second = class_of(b);
  return !first.valid() || !second.valid() || first == second || device.resident_kernels != 0;
}

std::uint32_t WaitCauses::level(std::uint32_t index) const {
  const TaskSpan& span = trace_.tasks[index];
  return problem_.platform.device(span.device).level_of(plan_.streams[span.stream].priority);
}

}  // namespace schedlab
