// SPDX-License-Identifier: Apache-2.0
#include "workloads/transforms/critical_partition.hpp"

#include "sim/base/error.hpp"
#include "sim/graph/levels.hpp"
#include "sim/graph/matmul.hpp"
#include "workloads/transforms/copy_graph.hpp"
#include "workloads/transforms/join_groups.hpp"
#include "workloads/transforms/lanes.hpp"

#include <algorithm>
#include <map>
#include <span>
#include <string>
#include <utility>
#include <vector>

namespace schedlab {
namespace {

using Flags = IdVector<TaskId, std::uint8_t>;
using Groups = IdVector<TaskId, TaskId>;

/// One look at the graph: which tasks are to become one. Each kind of joint alone is free of
/// cycles: tasks that join what they need (or what needs them) form trees whose only way in (out)
/// is the root, and tasks that wait for the same are of one level.
class Round {
 public:
  Round(const TaskGraph& graph, const Flags& critical, double negligible, bool unrolled)
      : graph_(graph),
        critical_(critical),
        negligible_(negligible),
        unrolled_(unrolled),
        level_(levels(graph)),
        length_(graph.task_count()),
        waits_for_(graph.task_count()) {
    for (const TaskId task : graph.tasks()) {
      length_[task] = nominal_duration(graph, task);
      waits_for_[task] = last_needed(task);
      if (!waits_for_[task].empty()) waiting_[waits_for_[task]].push_back(task);
    }
  }

  /// A negligible task joins the only one it needs.
  [[nodiscard]] Groups into_needed() const {
    Groups group = alone();
    for (const TaskId task : graph_.topological_order()) {
      const TaskId needed = only_needed(task);
      if (needed.valid() && may_join(needed, task) && is_negligible(task)) {
        group[task] = group[needed];
      }
    }
    return lowest(std::move(group));
  }

  /// A negligible task joins the only one that needs it.
  [[nodiscard]] Groups into_needing() const {
    Groups group = alone();
    const std::vector<TaskId> order = graph_.topological_order();
    std::for_each(order.rbegin(), order.rend(), [&](TaskId task) {
      const auto after = graph_.successors(task);
      if (after.size() == 1 && may_join(task, after.front()) && is_negligible(task)) {
        group[task] = group[after.front()];
      }
    });
    return lowest(std::move(group));
  }

  /// A negligible task joins the shortest that waits for the same.
  [[nodiscard]] Groups beside() const {
    Groups group = alone();
    for (const auto& [needs, tasks] : waiting_) {
      for (const TaskId task : tasks) {
        if (group[task] != task || !is_negligible(task)) continue;
        const TaskId other = partner(task, tasks, group);
        if (other.valid()) group[task] = other;
      }
    }
    return lowest(std::move(group));
  }

 private:
  [[nodiscard]] Groups alone() const {
    Groups group(graph_.task_count());
    for (const TaskId task : graph_.tasks()) group[task] = task;
    return group;
  }

  /// Groups named by their lowest ids.
  [[nodiscard]] static Groups lowest(Groups group) {
    Groups name(group.size(), TaskId::none());
    for (const TaskId task : group.ids()) {
      if (!name[group[task]].valid()) name[group[task]] = task;
    }
    for (const TaskId task : group.ids()) group[task] = name[group[task]];
    return group;
  }

  [[nodiscard]] bool may_change(TaskId task) const {
    const Operation& operation = graph_.operation(task);
    const bool done_by_units =
        operation.kind == TaskKind::gemm || operation.kind == TaskKind::pointwise ||
        operation.kind == TaskKind::convolution || operation.kind == TaskKind::reduction ||
        operation.kind == TaskKind::composite || operation.kind == TaskKind::fixed;
    return done_by_units && operation.task_class != TaskClass::update &&
           operation.task_class != TaskClass::transfer;
  }

  [[nodiscard]] bool may_join(TaskId a, TaskId b) const {
    if (critical_[a] != critical_[b] || !may_change(a) || !may_change(b)) return false;
    const Tags& one = graph_.tags(a);
    const Tags& other = graph_.tags(b);
    return !unrolled_ || (one.layer == other.layer && one.step == other.step);
  }

  /// The tasks it needs that are reached last; by them it is decided when it can start.
  [[nodiscard]] std::vector<TaskId> last_needed(TaskId task) const {
    const auto before = graph_.predecessors(task);
    std::vector<TaskId> last;
    std::uint32_t highest = 0;
    for (const TaskId other : before) {
      // Tasks that add into one buffer follow each other by order alone.
      if (graph_.operation_id(other) == graph_.operation_id(task)) continue;
      if (last.empty() || level_[other] > highest) {
        highest = level_[other];
        last.clear();
      }
      if (level_[other] == highest) last.push_back(other);
    }
    return last;
  }

  /// none() if it needs several that do not need each other.
  [[nodiscard]] TaskId only_needed(TaskId task) const {
    const auto before = graph_.predecessors(task);
    if (before.empty()) return TaskId::none();
    const TaskId last = *std::max_element(
        before.begin(), before.end(), [&](TaskId a, TaskId b) { return level_[a] < level_[b]; });
    const auto earlier = graph_.predecessors(last);
    const bool only = std::all_of(before.begin(), before.end(), [&](TaskId other) {
      return other == last || std::binary_search(earlier.begin(), earlier.end(), other);
    });
    return only ? last : TaskId::none();
  }

  [[nodiscard]] bool is_negligible(TaskId task) const {
    Duration longest{0};
    const auto look_at = [&](std::span<const TaskId> tasks) {
      for (const TaskId other : tasks) longest = std::max(longest, length_[other]);
    };
    look_at(graph_.predecessors(task));
    look_at(graph_.successors(task));
    if (!waits_for_[task].empty()) look_at(waiting_.at(waits_for_[task]));
    return static_cast<double>(length_[task].count()) <=
           negligible_ * static_cast<double>(longest.count());
  }

  [[nodiscard]] bool leads_to_the_same(TaskId a, TaskId b) const {
    const auto one = graph_.successors(a);
    const auto other = graph_.successors(b);
    return std::equal(one.begin(), one.end(), other.begin(), other.end());
  }

  [[nodiscard]] TaskId partner(TaskId task,
                               const std::vector<TaskId>& tasks,
                               const Groups& group) const {
    const auto distance = [&](TaskId other) {
      return other < task ? task.value() - other.value() : other.value() - task.value();
    };
    TaskId best;
    for (const TaskId other : tasks) {
      if (other == task || group[other] != other || level_[other] != level_[task] ||
          !may_join(task, other)) {
        continue;
      }
      if (critical_[task] != 0 && !leads_to_the_same(task, other)) continue;
      if (!best.valid() ||
          std::pair{length_[other], distance(other)} < std::pair{length_[best], distance(best)}) {
        best = other;
      }
    }
    return best;
  }

  const TaskGraph& graph_;
  const Flags& critical_;
  double negligible_;
  bool unrolled_;
  IdVector<TaskId, std::uint32_t> level_;
  IdVector<TaskId, Duration> length_;
  IdVector<TaskId, std::vector<TaskId>> waits_for_;
  std::map<std::vector<TaskId>, std::vector<TaskId>> waiting_;
};

bool is_unrolled(const TaskGraph& graph) {
  return std::any_of(graph.tasks().begin(), graph.tasks().end(), [&](TaskId task) {
    return graph.tags(task).layer >= 0 && graph.tags(task).step > 0;
  });
}

TaskClass class_of(const Operation& operation, bool critical) {
  const TaskClass given = operation.task_class;
  // What a kernel computes stays, as cost models go by it; of what is declared critical but may be
  // put off nothing else is known.
  if (given != TaskClass::unclassified && !is_critical(given)) return given;
  if (!critical) {
    return is_critical(given) ? TaskClass::unclassified : TaskClass::weight_gradient;
  }
  if (is_critical(given)) return given;
  const bool product = operation.kind == TaskKind::gemm ||
                       operation.kind == TaskKind::convolution || is_matmul(operation);
  return product ? TaskClass::critical_matmul : TaskClass::critical_pointwise;
}

/// The graph with classes that say what is critical, and lanes as layers.
TaskGraph classified(const TaskGraph& graph, const Flags& critical, bool unrolled) {
  const IdVector<TaskId, std::int16_t> lane =
      unrolled ? IdVector<TaskId, std::int16_t>{} : detail::lanes(graph, critical);
  TaskGraphBuilder builder;
  builder.reserve(graph.task_count(), graph.edge_count());
  detail::OperationSet operations{builder};
  IdVector<TaskId, TaskId> new_id;
  for (const TaskId task : graph.tasks()) {
    Operation operation = graph.operation(task);
    operation.task_class = class_of(operation, critical[task] != 0);
    const OperationId id = operations.add(operation);
    if (unrolled) {
      new_id.push_back(detail::copy_task(graph, task, id, builder));
      continue;
    }
    Tags tags = graph.tags(task);
    tags.layer = lane[task];
    new_id.push_back(builder.add_task(id, tags, graph.name(task)));
    if (graph.has_task_durations()) builder.set_duration(new_id[task], graph.fixed_duration(task));
  }
  detail::copy_edges_and_tensors(graph, new_id, builder);
  return std::move(builder).build();
}

}  // namespace

TaskGraph CriticalPartition::apply(const TaskGraph& graph) const {
  if (graph.has_ranks() || !graph.collectives().empty()) {
    throw InfeasibleError(
        "critical_partition: the graph has ranks or collectives\n  partition the graph of one "
        "rank");
  }
  const bool unrolled = is_unrolled(graph);
  Flags critical = critical_tasks(graph);
  TaskGraph now;
  const auto join = [&](const TaskGraph& from, const Groups& group) {
    detail::JoinedGraph joined = detail::join_groups(from, group);
    const bool changed = joined.graph.task_count() < from.task_count();
    Flags flags(joined.graph.task_count(), 0);
    for (const TaskId task : from.tasks()) flags[joined.new_id[task]] = critical[task];
    critical = std::move(flags);
    now = std::move(joined.graph);
    return changed;
  };
  using Joint = Groups (Round::*)() const;
  join(graph, Round{graph, critical, negligible_, unrolled}.into_needed());
  for (bool changed = true; changed;) {
    changed = false;
    for (const Joint joint : {&Round::into_needing, &Round::beside, &Round::into_needed}) {
      const TaskGraph from = std::move(now);
      if (join(from, (Round{from, critical, negligible_, unrolled}.*joint)())) changed = true;
    }
  }
  return classified(now, critical, unrolled);
}

}  // namespace schedlab
