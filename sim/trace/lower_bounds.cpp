// SPDX-License-Identifier: Apache-2.0
#include "sim/trace/lower_bounds.hpp"

#include "sim/graph/levels.hpp"
#include "sim/machine/residency.hpp"

#include <algorithm>
#include <cmath>
#include <utility>
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

/// What is used up: a unit has one of each at a time.
enum class Resource : std::uint8_t {
  room,        ///< for blocks; under `exclusive` the unit itself
  throughput,  ///< under `fluid` and `blocks`
};

/// Where units are shared block by block, kernels reside side by side: what the blocks of a kernel
/// alone take, in unit-picoseconds,
///   blocks * their room or throughput * the time of a block at full rate.
/// Beside others a block takes longer, and never less of either.
[[nodiscard]] double taken_by_blocks(const CostTable::Entry& entry,
                                     const Device& device,
                                     Duration duration,
                                     Resource resource) {
  constexpr double rate_rounding = 1.0 - 1e-7;  // of the rates of waves
  const Estimate& estimate = entry.estimate;
  const std::uint32_t units = device.unit_classes[entry.unit_class].count;
  const Residency residency = schedlab::residency(estimate, device.sm_limits);
  if (resource == Resource::room && residency.residents == std::max(1U, estimate.blocks_per_unit)) {
    return entry.mean_share * units * static_cast<double>(duration.count());
  }
  const std::uint32_t blocks = estimate.blocks != 0 ? estimate.blocks : std::max(1U, entry.units);
  const double block_time = static_cast<double>(duration.count()) * unit_throughput /
                            static_cast<double>(waves_alone(residency, blocks, units).whole);
  const double of_a_unit = resource == Resource::room
                               ? 1.0 / residency.residents
                               : static_cast<double>(residency.throughput) / unit_throughput;
  return of_a_unit * blocks * block_time * rate_rounding;
}

/// The least of the resource that the task needs in `unit_class`, 0 if some device can run it
/// elsewhere.
[[nodiscard]] UnitTime min_unit_time(const Problem& problem,
                                     TaskId task,
                                     UnitClassId unit_class,
                                     Resource resource) {
  UnitTime least = ~UnitTime{0};
  for (const DeviceId device : problem.platform.devices.ids()) {
    const CostTable::Entry& entry = problem.costs.entry(task, device);
    if (entry.unit_class != unit_class) return 0;
    const Duration duration = duration_of(problem, task, device);
    const Device& owner = problem.platform.devices[device];
    // Rounded down, so that it stays a bound.
    const UnitTime needed =
        problem.platform.sharing == SharingModel::exclusive
            ? UnitTime{entry.units} * static_cast<std::uint64_t>(duration.count())
            : static_cast<UnitTime>(taken_by_blocks(entry, owner, duration, resource));
    least = std::min(least, needed);
  }
  return least;
}

/// What limits the runs of a machine. Under `blocks` room is several resources, and none counts.
[[nodiscard]] std::vector<Resource> resources_of(SharingModel sharing) {
  switch (sharing) {
    case SharingModel::exclusive:
      return {Resource::room};
    case SharingModel::fluid:
      return {Resource::room, Resource::throughput};
    case SharingModel::blocks:
      return {Resource::throughput};
  }
  return {};
}

/// Does every task last as long as its operation?
[[nodiscard]] bool last_as_operations(const Problem& problem) {
  if (!problem.graph.collectives().empty()) return false;
  const auto tasks = problem.graph.tasks();
  const auto kinds = problem.platform.devices.ids();
  return std::all_of(kinds.begin(), kinds.end(), [&](DeviceId device) {
    return std::all_of(tasks.begin(), tasks.end(), [&](TaskId task) {
      return problem.costs.duration(task, device) ==
             problem.costs.entry(task, device).estimate.duration;
    });
  });
}

/// Tasks that differ in what they need, each with how many are like it: one per operation where
/// tasks of one operation last equally long, else all.
[[nodiscard]] std::vector<std::pair<TaskId, std::uint64_t>> different_tasks(
    const Problem& problem) {
  const TaskGraph& graph = problem.graph;
  std::vector<std::pair<TaskId, std::uint64_t>> different;
  if (!last_as_operations(problem)) {
    for (const TaskId task : graph.tasks()) different.emplace_back(task, 1);
    return different;
  }
  different.resize(graph.operations().size(), {TaskId::none(), 0});
  for (const TaskId task : graph.tasks()) {
    auto& [first, count] = different[graph.operation_id(task).value()];
    if (count++ == 0) first = task;
  }
  std::erase_if(different, [](const auto& one) { return one.second == 0; });
  return different;
}

[[nodiscard]] Duration work_bound(const Problem& problem) {
  const auto tasks = different_tasks(problem);
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
    for (const Resource resource : resources_of(problem.platform.sharing)) {
      UnitTime needed = 0;
      for (const auto& [task, count] : tasks) {
        needed += count * min_unit_time(problem, task, unit_class, resource);
      }
      work = std::max(work, needed);
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
