// SPDX-License-Identifier: Apache-2.0
#include "workloads/traces/replay_changes.hpp"

#include "sim/base/error.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <map>
#include <optional>
#include <set>
#include <utility>

namespace schedlab {
namespace {

Duration scaled(Duration duration, double factor) {
  return Duration{std::llround(static_cast<double>(duration.count()) * factor)};
}

ChangedReplay unchanged(const ReplayModel& model) {
  return {.graph = model.graph,
          .platform = model.platform,
          .costs = model.costs,
          .plan = model.plan,
          .touched = 0};
}

std::vector<bool> chosen_tasks(const ReplayModel& model, const std::vector<OperationId>& which) {
  std::vector<bool> result(model.graph.task_count(), false);
  for (const TaskId task : model.graph.tasks()) {
    result[task.value()] =
        !model.is_pause(task) &&
        std::find(which.begin(), which.end(), model.graph.operation_id(task)) != which.end();
  }
  return result;
}

/// Scales the hosts' own work; counts the calls that changed.
void scale_sleeps(HostProgram& host, double factor, std::uint32_t& touched) {
  for (HostCall& call : host.calls) {
    if (call.kind() != HostCallKind::sleep) continue;
    const double ns = std::round(static_cast<double>(call.argument()) * factor);
    constexpr double most = 4.29e9;  // of one call
    call = HostCall::sleep_ns(static_cast<std::uint32_t>(std::min(ns, most)));
    ++touched;
  }
}

/// Which task each becomes part of: itself, another one before it, or none.
using Parts = IdVector<TaskId, TaskId>;

/// The graph of what is left, in the old order, and the new ids.
class Regrouping {
 public:
  Regrouping(const ReplayModel& model, const Parts& parts)
      : model_(model), parts_(parts), made_(parts.size()) {}

  void run(ChangedReplay& result) {
    add_tasks();
    add_edges();
    add_collectives();
    result.graph = std::move(builder_).build();
    result.costs = CostTable(result.graph, result.platform);
    rename(result.plan);
  }

 private:
  void add_tasks() {
    std::map<OperationId, OperationId> operations;
    IdVector<TaskId, Duration> sums(parts_.size(), Duration{0});
    for (const TaskId task : parts_.ids()) {
      if (parts_[task].valid()) sums[parts_[task]] += model_.costs.duration(task);
    }
    for (const TaskId task : parts_.ids()) {
      if (parts_[task] != task) continue;
      const OperationId old = model_.graph.operation_id(task);
      const auto [place, added] = operations.try_emplace(old);
      if (added) place->second = builder_.add_operation(model_.graph.operations()[old]);
      made_[task] = builder_.add_task(place->second, model_.graph.tags(task), sums[task]);
      if (model_.graph.has_ranks()) builder_.set_rank(made_[task], model_.graph.rank(task));
    }
  }

  void add_edges() {
    // What comes before a task that is left out, in terms of those that stay.
    IdVector<TaskId, std::set<TaskId>> before(parts_.size());
    for (const TaskId task : model_.graph.topological_order()) {
      std::set<TaskId> needs;
      for (const TaskId need : model_.graph.predecessors(task)) {
        if (parts_[need].valid()) {
          needs.insert(parts_[need]);
        } else {
          needs.insert(before[need].begin(), before[need].end());
        }
      }
      if (!parts_[task].valid()) {
        before[task] = std::move(needs);
        continue;
      }
      for (const TaskId need : needs) {
        if (need != parts_[task]) builder_.add_edge(made_[need], made_[parts_[task]]);
      }
    }
  }

  void add_collectives() {
    const CollectiveTable& table = model_.graph.collectives();
    for (const CollectiveId id : table.ids()) {
      const CollectiveId joined = builder_.add_collective(table.spec(id));
      for (const TaskId task : table.tasks(id)) builder_.joins(made_[task], joined);
    }
  }

  void rename(Plan& plan) const {
    for (HostProgram& host : plan.hosts) {
      for (HostCall& call : host.calls) {
        if (call.kind() == HostCallKind::launch) {
          call = HostCall::launch(call.stream(), made_[call.task()]);
        }
      }
    }
    for (DeviceGraph& graph : plan.graphs) {
      DeviceGraph renamed;
      renamed.name = graph.name;
      renamed.node_priorities = graph.node_priorities;
      for (std::uint32_t node = 0; node < graph.node_count(); ++node) {
        const auto needs = graph.needs(node);
        renamed.add_node(graph.stream(node), {needs.begin(), needs.end()});
      }
      for (std::uint32_t launch = 0; launch < graph.launch_count(); ++launch) {
        std::vector<TaskId> tasks;
        for (const TaskId task : graph.tasks(launch)) tasks.push_back(made_[task]);
        renamed.add_launch(tasks);
      }
      graph = std::move(renamed);
    }
  }

  const ReplayModel& model_;
  const Parts& parts_;
  IdVector<TaskId, TaskId> made_;
  TaskGraphBuilder builder_;
};

Parts own_parts(const ReplayModel& model) {
  Parts parts(model.graph.task_count());
  for (const TaskId task : parts.ids()) parts[task] = task;
  return parts;
}

/// Tasks that hosts launch one by one, and that no collective joins: those that can be left out.
std::vector<bool> launched_singly(const ReplayModel& model) {
  std::vector<bool> result(model.graph.task_count(), false);
  for (const HostProgram& host : model.plan.hosts) {
    for (const HostCall call : host.calls) {
      if (call.kind() != HostCallKind::launch) continue;
      result[call.task().value()] = !model.graph.collectives().of(call.task()).valid();
    }
  }
  return result;
}

/// Drops the host's own work from the last `count` calls.
void drop_work(std::vector<HostCall>& calls, std::size_t count) {
  const auto tail = calls.end() - static_cast<std::ptrdiff_t>(count);
  calls.erase(
      std::remove_if(
          tail, calls.end(), [](HostCall call) { return call.kind() == HostCallKind::sleep; }),
      calls.end());
}

bool is_launch(HostCall call) {
  return call.kind() == HostCallKind::launch || call.kind() == HostCallKind::graph_launch;
}

/// Drops the launches of tasks that are part of another one or of none, with the host's work since
/// its last launch or synchronisation.
void drop_launches(Plan& plan, const Parts& parts) {
  for (HostProgram& host : plan.hosts) {
    std::vector<HostCall> kept;
    std::size_t since = 0;
    for (const HostCall call : host.calls) {
      if (call.kind() == HostCallKind::launch && parts[call.task()] != call.task()) {
        drop_work(kept, since);
        since = 0;
        continue;
      }
      kept.push_back(call);
      since = is_launch(call) || call.kind() == HostCallKind::synchronize ? 0 : since + 1;
    }
    host.calls = std::move(kept);
  }
}

/// What launching a graph takes a host beyond launching a kernel; 0 where the trace has no graphs.
Duration more_for_graph(const ReplayModel& model, HostId host) {
  const ReplayDelays& delays = model.delays[host.value()];
  return std::max(Duration{0}, delays.graph_call - delays.launch_call);
}

/// Work of the host in front of a call.
void charge(std::vector<HostCall>& calls, std::size_t place, Duration work) {
  const std::int64_t ns = work / std::chrono::nanoseconds{1};
  if (ns == 0) return;
  calls.insert(
      calls.begin() + static_cast<std::ptrdiff_t>(place),
      HostCall::sleep_ns(static_cast<std::uint32_t>(std::min<std::int64_t>(ns, 4'000'000'000))));
}

/// The launches that are `inside` without the host's work between them; in front of each part of
/// several `more`.
std::vector<HostCall> calls_at_once(const std::vector<HostCall>& calls,
                                    const std::vector<bool>& inside,
                                    Duration more,
                                    std::uint32_t& touched) {
  std::vector<HostCall> kept;
  bool begun = false;
  std::optional<std::size_t> first;  // of a part that is not charged yet
  std::size_t since = 0;
  for (std::size_t i = 0; i < calls.size(); ++i) {
    if (inside[i] && begun) {
      drop_work(kept, since);
      ++touched;
      if (first) charge(kept, *std::exchange(first, std::nullopt), more);
    } else if (inside[i]) {
      first = kept.size();
    }
    const bool parts = is_launch(calls[i]) || calls[i].kind() == HostCallKind::synchronize;
    if (parts) begun = inside[i];
    since = parts ? 0 : since + 1;
    kept.push_back(calls[i]);
  }
  return kept;
}

}  // namespace

std::vector<OperationId> find_kernels(const TaskGraph& graph, std::string_view part) {
  std::vector<OperationId> result;
  for (const OperationId id : graph.operations().ids()) {
    const Operation& operation = graph.operations()[id];
    if (operation.kind == TaskKind::host) continue;  // a pause
    if (operation.name.find(part) != std::string::npos) result.push_back(id);
  }
  if (!result.empty()) return result;
  std::map<OperationId, Duration> totals;
  for (const TaskId task : graph.tasks()) {
    if (graph.operation(task).kind == TaskKind::host) continue;
    totals[graph.operation_id(task)] += graph.fixed_duration(task);
  }
  std::vector<std::pair<Duration, OperationId>> longest;
  longest.reserve(totals.size());
  for (const auto& [operation, total] : totals) longest.emplace_back(-total, operation);
  std::sort(longest.begin(), longest.end());
  std::string hint = "the longest are";
  constexpr std::size_t most = 3;
  constexpr std::size_t width = 60;
  for (std::size_t i = 0; i < std::min(most, longest.size()); ++i) {
    hint += fmt::format("{} \"{}\"",
                        i == 0 ? "" : ",",
                        graph.operations()[longest[i].second].name.substr(0, width));
  }
  throw InputError({.file = "--what-if",
                    .pointer = "",
                    .found = fmt::format("\"{}\"", part),
                    .expected = "a part of the name of a kernel",
                    .hint = hint});
}

ChangedReplay with_durations(const ReplayModel& model,
                             const std::function<Duration(TaskId)>& duration) {
  ChangedReplay result = unchanged(model);
  IdVector<TaskId, Duration> durations = result.costs.durations();
  for (const TaskId task : model.graph.tasks()) {
    const Duration changed = duration(task);
    result.touched += changed != durations[task] ? 1U : 0U;
    durations[task] = changed;
  }
  result.costs.set_task_durations(std::move(durations));
  return result;
}

ChangedReplay scale_kernels(const ReplayModel& model,
                            const std::vector<OperationId>& which,
                            double factor) {
  const std::vector<bool> chosen = chosen_tasks(model, which);
  return with_durations(model, [&](TaskId task) {
    const Duration duration = model.costs.duration(task);
    return chosen[task.value()] ? scaled(duration, factor) : duration;
  });
}

ChangedReplay remove_kernels(const ReplayModel& model, const std::vector<OperationId>& which) {
  const std::vector<bool> chosen = chosen_tasks(model, which);
  const std::vector<bool> single = launched_singly(model);
  ChangedReplay result = unchanged(model);
  Parts parts = own_parts(model);
  ReplayModel shorter = model;
  IdVector<TaskId, Duration> durations = model.costs.durations();
  for (const TaskId task : parts.ids()) {
    if (!chosen[task.value()] || model.graph.collectives().of(task).valid()) continue;
    ++result.touched;
    durations[task] = Duration{0};
    if (single[task.value()]) parts[task] = TaskId::none();
  }
  shorter.costs.set_task_durations(std::move(durations));
  drop_launches(result.plan, parts);
  Regrouping(shorter, parts).run(result);
  return result;
}

ChangedReplay fuse_kernels(const ReplayModel& model, const std::vector<OperationId>& which) {
  const std::vector<bool> chosen = chosen_tasks(model, which);
  const std::vector<bool> single = launched_singly(model);
  ChangedReplay result = unchanged(model);
  Parts parts = own_parts(model);
  for (const HostProgram& host : model.plan.hosts) {
    TaskId first;
    StreamId stream;
    for (const HostCall call : host.calls) {
      if (call.kind() == HostCallKind::sleep) continue;
      const bool member = call.kind() == HostCallKind::launch && chosen[call.task().value()] &&
                          single[call.task().value()];
      if (member && first.valid() && call.stream() == stream) {
        parts[call.task()] = first;
        ++result.touched;
      } else {
        first = member ? call.task() : TaskId::none();
        stream = member ? call.stream() : StreamId::none();
      }
    }
  }
  drop_launches(result.plan, parts);
  Regrouping(model, parts).run(result);
  return result;
}

ChangedReplay scale_hosts(const ReplayModel& model, double factor) {
  ChangedReplay result = unchanged(model);
  for (HostProgram& host : result.plan.hosts) scale_sleeps(host, factor, result.touched);
  return result;
}

ChangedReplay slow_rank(const ReplayModel& model, std::uint32_t rank, double factor) {
  ChangedReplay result = with_durations(model, [&](TaskId task) {
    const Duration duration = model.costs.duration(task);
    return model.origins[task].rank == rank && !model.is_pause(task) &&
                   !model.graph.collectives().of(task).valid()
               ? scaled(duration, factor)
               : duration;
  });
  scale_sleeps(result.plan.hosts[HostId{rank}], factor, result.touched);
  return result;
}

ChangedReplay launch_at_once(const ReplayModel& model, Time from, Time to) {
  ChangedReplay result = unchanged(model);
  std::set<std::pair<HostId, std::uint32_t>> within;
  for (const HostSpan& span : model.measured.hosts) {
    if (span.started >= from && span.started <= to) within.emplace(span.host, span.call);
  }
  for (const HostId host : result.plan.hosts.ids()) {
    const auto& calls = model.plan.hosts[host].calls;
    std::vector<bool> inside(calls.size(), false);
    for (std::uint32_t i = 0; i < calls.size(); ++i) {
      inside[i] = is_launch(calls[i]) && within.contains({host, i});
    }
    result.plan.hosts[host].calls =
        calls_at_once(calls, inside, more_for_graph(model, host), result.touched);
  }
  return result;
}

ChangedReplay with_mean_host(const ReplayModel& model) {
  ChangedReplay result = unchanged(model);
  for (const HostId host : result.plan.hosts.ids()) {
    std::vector<HostCall>& calls = result.plan.hosts[host].calls;
    Duration work{0};
    std::int64_t launches = 0;
    for (const HostCall call : calls) {
      if (call.kind() == HostCallKind::sleep) work += call.sleep_time();
      launches += is_launch(call) ? 1 : 0;
    }
    std::erase_if(calls, [](HostCall call) { return call.kind() == HostCallKind::sleep; });
    if (launches == 0) continue;
    HostCosts& costs = result.platform.hosts[host].costs;
    costs.launch = work / launches;
    costs.graph_launch = work / launches;
    result.touched += static_cast<std::uint32_t>(launches);
  }
  return result;
}

}  // namespace schedlab
