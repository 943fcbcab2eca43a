// SPDX-License-Identifier: Apache-2.0
#include "sim/trace/lower_bounds.hpp"

#include "sim/graph/levels.hpp"

#include <algorithm>
#include <vector>

namespace schedlab {

namespace {

/// Unit-time in unit-picoseconds: beyond 64 bits for a day on a large device.
__extension__ using UnitTime = unsigned __int128;

/// Of a task as it runs: parts of collectives of one operation have its longest in the cost table.
[[nodiscard]] Duration duration_of(const Problem& problem, TaskId task, DeviceId device) {
  const Duration duration = problem.costs.duration(task, device);
  const CollectiveId collective = problem.graph.collectives().of(task);
  if (!collective.valid() || !problem.costs.task_durations().empty()) return duration;
  return std::min(duration, problem.costs.duration(collective));
}

[[nodiscard]] IdVector<TaskId, Duration> shortest_durations(const Problem& problem) {
  IdVector<TaskId, Duration> shortest = problem.costs.durations(DeviceId{0});
  const bool collectives = !problem.graph.collectives().empty();
  for (const DeviceId device : problem.platform.devices.ids()) {
    if (device == DeviceId{0} && !collectives) continue;
    for (const TaskId task : problem.graph.tasks()) {
      shortest[task] = std::min(shortest[task], duration_of(problem, task, device));
    }
  }
  return shortest;
}

/// The least unit-time the task needs in `unit_class`, 0 if some device can run it elsewhere.
[[nodiscard]] UnitTime least_unit_time(const Problem& problem,
                                       TaskId task,
                                       UnitClassId unit_class) {
  UnitTime least = ~UnitTime{0};
  for (const DeviceId device : problem.platform.devices.ids()) {
    const CostTable::Entry& entry = problem.costs.entry(task, device);
    if (entry.unit_class != unit_class) return 0;
    const auto duration = static_cast<std::uint64_t>(duration_of(problem, task, device).count());
    if (problem.platform.sharing == SharingModel::exclusive) {
      least = std::min(least, UnitTime{entry.units} * duration);
    } else {
      // A partly filled wave leaves its units to others; rounded down, so that it stays a bound.
      const double units =
          entry.mean_share * problem.platform.devices[device].unit_classes[unit_class].count;
      least = std::min(least, static_cast<UnitTime>(units * static_cast<double>(duration)));
    }
  }
  return least;
}

[[nodiscard]] Duration work_bound(const Problem& problem) {
  std::size_t classes = 0;
  for (const Device& device : problem.platform.devices) {
    classes = std::max(classes, device.unit_classes.size());
  }
  Duration bound{0};
  for (const UnitClassId unit_class : IdRange<UnitClassId>{classes}) {
    std::uint64_t units = 0;
    bool limited = true;
    for (const DeviceId kind : problem.platform.devices.ids()) {
      const Device& device = problem.platform.devices[kind];
      if (!device.unit_classes.contains(unit_class)) continue;
      // All devices beyond the list are like the last of it.
      const bool last = kind.value() + 1 == problem.platform.devices.size();
      const std::size_t equal = last ? problem.platform.device_count() - kind.value() : 1;
      units += std::uint64_t{device.unit_classes[unit_class].count} * equal;
      limited = limited && device.unit_classes[unit_class].count > 0;
    }
    if (!limited || units == 0) continue;
    UnitTime work = 0;
    for (const TaskId task : problem.graph.tasks()) {
      work += least_unit_time(problem, task, unit_class);
    }
    // Whole units: the last of them ends no earlier than the quotient, rounded up.
    const bool whole = problem.platform.sharing == SharingModel::exclusive;
    const UnitTime time = (work + (whole ? units - 1 : 0)) / units;
    bound = std::max(bound, Duration{static_cast<std::int64_t>(time)});
  }
  return bound;
}

}  // namespace

std::string_view LowerBounds::largest_name() const {
  const Duration most = largest();
  if (critical_path == most) return "critical_path";
  return work == most ? "work" : "host_issue";
}

LowerBounds graph_lower_bounds(const Problem& problem) {
  LowerBounds bounds;
  if (problem.graph.task_count() == 0) return bounds;
  bounds.critical_path = critical_path_length(problem.graph, shortest_durations(problem));
  bounds.work = work_bound(problem);
  return bounds;
}

std::array<Duration, host_call_kind_count> call_costs(const Host& host) {
  const HostCosts& costs = host.costs;
  std::array<Duration, host_call_kind_count> cost_of{};
  const auto set = [&cost_of](HostCallKind kind, Duration cost) {
    cost_of[static_cast<std::size_t>(kind)] = cost;
  };
  set(HostCallKind::create_stream, costs.create_stream);
  set(HostCallKind::destroy_stream, costs.destroy_stream);
  set(HostCallKind::launch, host.operator_cost());
  set(HostCallKind::record, costs.record);
  set(HostCallKind::wait, costs.wait);
  set(HostCallKind::query, costs.query);
  set(HostCallKind::synchronize, costs.synchronize);
  set(HostCallKind::send, costs.send);
  set(HostCallKind::receive, costs.receive);
  set(HostCallKind::graph_load, costs.graph_load);
  set(HostCallKind::graph_launch, costs.graph_launch);
  set(HostCallKind::isend, costs.send);
  set(HostCallKind::irecv, costs.receive);
  return cost_of;
}

Duration front_end_time(const Host& host, std::int64_t launches) {
  return host.front_end_thread ? launches * host.costs.preparation() : Duration{0};
}

Duration graph_node_cost(const HostCosts& costs, HostCallKind kind) {
  if (kind == HostCallKind::graph_load) return costs.graph_load_node;
  return kind == HostCallKind::graph_launch ? costs.graph_launch_node : Duration{0};
}

Duration host_issue_time(const Problem& problem, const Plan& plan, HostId host) {
  const Host& machine = problem.platform.host(host);
  const HostCosts& costs = machine.costs;
  const auto cost_of = call_costs(machine);
  Duration total{0};
  std::int64_t launches = 0;
  for (const HostCall call : plan.hosts[host].calls) {
    const HostCallKind kind = call.kind();
    std::int64_t times = 1;
    if (kind == HostCallKind::launch) {
      times = problem.costs.entry(call.task(), plan.streams[call.stream()].device).launches;
      launches += times;
    } else if (kind == HostCallKind::graph_load || kind == HostCallKind::graph_launch) {
      total += plan.graphs[call.graph()].node_count() * graph_node_cost(costs, kind);
    }
    total += times * cost_of[static_cast<std::size_t>(kind)];
  }
  return std::max(total, front_end_time(machine, launches));
}

}  // namespace schedlab
