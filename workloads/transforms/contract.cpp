// SPDX-License-Identifier: Apache-2.0
#include "workloads/transforms/contract.hpp"

#include "sim/base/error.hpp"
#include "sim/graph/components.hpp"
#include "workloads/transforms/copy_graph.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <limits>
#include <map>
#include <unordered_map>
#include <utility>
#include <vector>

namespace schedlab {
namespace {

constexpr std::uint32_t no_class = std::numeric_limits<std::uint32_t>::max();

Operation merge(const TaskGraph& graph, const std::vector<TaskId>& members, std::string name) {
  Operation merged{.name = std::move(name), .kernels = {}};
  std::uint32_t most_urgent = no_class;
  for (const TaskId task : members) {
    const Operation& operation = graph.operation(task);
    merged.kernels.insert(merged.kernels.end(), operation.kernels.begin(), operation.kernels.end());
    merged.fixed_duration += graph.fixed_duration(task);
    const auto rank = static_cast<std::uint32_t>(operation.task_class);
    if (rank > 0) most_urgent = std::min(most_urgent, rank);
  }
  if (most_urgent != no_class) merged.task_class = static_cast<TaskClass>(most_urgent);
  const TaskKind first = graph.operation(members.front()).kind;
  const bool alike = std::all_of(members.begin(), members.end(), [&](TaskId task) {
    return graph.operation(task).kind == first;
  });
  merged.kind = alike ? first : TaskKind::composite;
  return merged;
}

Tags common_tags(const TaskGraph& graph, const std::vector<TaskId>& members) {
  Tags tags = graph.tags(members.front());
  for (const TaskId task : members) {
    const Tags& other = graph.tags(task);
    if (tags.layer != other.layer) tags.layer = -1;
    if (tags.stage != other.stage) tags.stage = -1;
    if (tags.step != other.step) tags.step = -1;
    if (tags.microbatch != other.microbatch) tags.microbatch = -1;
  }
  return tags;
}

/// Members of each group, groups by first member.
std::vector<std::vector<TaskId>> gather(const IdVector<TaskId, std::uint32_t>& group_of) {
  std::unordered_map<std::uint32_t, std::size_t> index;
  std::vector<std::vector<TaskId>> groups;
  for (const TaskId task : group_of.ids()) {
    const auto [it, added] = index.try_emplace(group_of[task], groups.size());
    if (added) groups.emplace_back();
    groups[it->second].push_back(task);
  }
  return groups;
}

void check_acyclic(const TaskGraph& graph,
                   const std::vector<std::vector<TaskId>>& groups,
                   const IdVector<TaskId, TaskId>& new_id) {
  std::vector<Edge> edges;
  for (const TaskId task : graph.tasks()) {
    for (const TaskId next : graph.successors(task)) {
      if (new_id[task] != new_id[next]) {
        edges.emplace_back(new_id[task].value(), new_id[next].value());
      }
    }
  }
  const std::vector<std::uint32_t> cycle = find_cycle(groups.size(), edges);
  if (cycle.empty()) return;
  const auto name = [&](std::size_t group) { return graph.name(groups[group].front()); };
  throw InfeasibleError(fmt::format(
      "contract: the groups cannot become single tasks, they would wait for each other: {}\n"
      "  each is named by its first task; put fewer tasks into one group",
      print_cycle(cycle, name)));
}

}  // namespace

Contract::Contract(IdVector<TaskId, std::uint32_t> group_of, std::string operation)
    : group_of_(std::move(group_of)), operation_(std::move(operation)) {}

Contract Contract::by_node(const TaskGraph& graph, std::string operation) {
  std::map<std::pair<std::int32_t, std::int32_t>, std::uint32_t> nodes;
  IdVector<TaskId, std::uint32_t> group_of(graph.task_count());
  std::uint32_t next = 0;
  for (const TaskId task : graph.tasks()) {
    const Tags& tags = graph.tags(task);
    if (tags.layer < 0 || tags.step < 0) {
      group_of[task] = next++;
      continue;
    }
    const auto [it, added] = nodes.try_emplace({tags.layer, tags.step}, next);
    if (added) ++next;
    group_of[task] = it->second;
  }
  return {std::move(group_of), std::move(operation)};
}

TaskGraph Contract::apply(const TaskGraph& graph) const {
  SCHEDLAB_EXPECTS(
      group_of_.size() == graph.task_count(),
      fmt::format("groups of {} tasks, graph of {}", group_of_.size(), graph.task_count()));
  const auto groups = gather(group_of_);
  TaskGraphBuilder builder;
  builder.reserve(groups.size(), graph.edge_count());
  IdVector<TaskId, TaskId> new_id(graph.task_count());
  std::vector<Operation> operations;
  const auto add_operation = [&](Operation operation) {
    const auto known = std::find(operations.begin(), operations.end(), operation);
    if (known != operations.end()) {
      return OperationId{static_cast<std::uint32_t>(known - operations.begin())};
    }
    operations.push_back(operation);
    return builder.add_operation(std::move(operation));
  };

  for (const auto& members : groups) {
    TaskId task;
    const TaskId first = members.front();
    if (members.size() > 1) {
      Operation merged = merge(graph, members, operation_);
      const Duration duration = merged.fixed_duration;
      // Durations that differ from task to task must not make an operation each.
      if (graph.has_task_durations()) merged.fixed_duration = Duration{0};
      task = builder.add_task(add_operation(std::move(merged)), common_tags(graph, members));
      if (graph.has_task_durations()) builder.set_duration(task, duration);
    } else {
      const OperationId operation = add_operation(graph.operation(first));
      const std::string name = detail::name_to_keep(graph, first);
      task = name.empty() ? builder.add_task(operation, graph.tags(first))
                          : builder.add_task(operation, graph.tags(first), name);
      if (graph.has_task_durations()) builder.set_duration(task, graph.fixed_duration(first));
    }
    for (const TaskId member : members) new_id[member] = task;
  }
  check_acyclic(graph, groups, new_id);
  detail::copy_edges_and_tensors(graph, new_id, builder);
  return std::move(builder).build();
}

}  // namespace schedlab
