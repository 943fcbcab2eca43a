// SPDX-License-Identifier: Apache-2.0
#include "sim/trace/lower_bounds.hpp"

#include "sim/bounds/task_kinds.hpp"
#include "sim/graph/levels.hpp"

#include <algorithm>
#include <vector>

namespace schedlab {

namespace {

__extension__ using UnitTime = __int128;

[[nodiscard]] Duration work_bound(const Problem& problem, const TaskKinds& kinds) {
  std::vector<std::int64_t> alike(kinds.examples().size(), 0);
  for (const TaskId task : problem.graph.tasks()) ++alike[kinds.of(task)];
  const BoundProblem on{.problem = problem};
  Duration bound{0};
  for (const Pool& pool : pools_of(on)) {
    if (pool.resource != BoundResource::units && pool.resource != BoundResource::throughput) {
      continue;
    }
    UnitTime work = 0;
    for (const TaskId task : kinds.examples()) {
      work += UnitTime{amount(on, pool, task)} * alike[kinds.of(task)];
    }
    const auto units = static_cast<std::int64_t>(pool.capacity);
    // Whole units: the last of them ends no earlier than the quotient, rounded up.
    const bool whole = problem.platform.sharing == SharingModel::exclusive;
    const UnitTime time = (work + (whole ? units - 1 : 0)) / units;
    bound = std::max(bound, Duration{static_cast<std::int64_t>(time)});
  }
  return bound;
}

constexpr std::array all_bounds{NamedBound{"critical_path", &LowerBounds::critical_path},
                                NamedBound{"work", &LowerBounds::work},
                                NamedBound{"latency_path", &LowerBounds::latency_path},
                                NamedBound{"host_launch", &LowerBounds::host_launch},
                                NamedBound{"subset", &LowerBounds::subset},
                                NamedBound{"memory", &LowerBounds::memory},
                                NamedBound{"network", &LowerBounds::network},
                                NamedBound{"energetic", &LowerBounds::energetic},
                                NamedBound{"host_issue", &LowerBounds::host_issue}};

}  // namespace

std::span<const NamedBound> named_bounds() {
  return all_bounds;
}

Duration LowerBounds::largest() const {
  Duration most{0};
  for (const NamedBound& bound : all_bounds) most = std::max(most, this->*bound.value);
  return most;
}

std::string_view LowerBounds::largest_name() const {
  const Duration most = largest();
  return std::ranges::find_if(all_bounds,
                              [&](const NamedBound& bound) { return this->*bound.value == most; })
      ->name;
}

LowerBounds LowerBounds::of_problem() const {
  LowerBounds kept = *this;
  kept.host_issue = Duration{0};
  return kept;
}

LowerBounds LowerBounds::of_plan(const Plan& plan) const {
  const bool holds = plan.hosts.size() <= plans.host_threads &&
                     (plan.graphs.empty() || plans.device_graphs) &&
                     (plans.programmatic || !plan.programmatic());
  if (holds) return *this;
  return {.critical_path = critical_path, .work = work, .host_issue = host_issue};
}

LowerBounds graph_lower_bounds(const Problem& problem) {
  LowerBounds bounds;
  if (problem.graph.task_count() == 0) return bounds;
  const TaskKinds kinds{problem};
  const auto of_kinds = kinds.ask([&](TaskId task) { return min_duration(problem, task); });
  IdVector<TaskId, Duration> shortest(problem.graph.task_count());
  for (const TaskId task : problem.graph.tasks()) shortest[task] = of_kinds[kinds.of(task)];
  bounds.critical_path = critical_path_length(problem.graph, shortest);
  bounds.work = work_bound(problem, kinds);
  return bounds;
}

void set_ladder(LowerBounds& bounds,
                const BoundProblem& on,
                const std::vector<BoundWitness>& ladder) {
  bounds.plans = on.plans;
  bounds.plans.host_threads = host_threads(on);
  for (const BoundWitness& witness : ladder) {
    const auto named = std::ranges::find(all_bounds, to_string(witness.kind), &NamedBound::name);
    bounds.*(named->value) = witness.bound;
  }
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
      const auto& entry = problem.costs.entry(call.task(), plan.streams[call.stream()].device);
      times = entry.launches;
      launches += times;
      total += entry.calls;
    } else if (kind == HostCallKind::graph_load || kind == HostCallKind::graph_launch) {
      total += plan.graphs[call.graph()].node_count() * graph_node_cost(costs, kind);
    }
    total += times * cost_of[static_cast<std::size_t>(kind)];
  }
  return std::max(total, front_end_time(machine, launches));
}

}  // namespace schedlab
