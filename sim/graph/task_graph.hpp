// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "sim/base/ids.hpp"
#include "sim/base/units.hpp"
#include "sim/graph/collective.hpp"
#include "sim/graph/task.hpp"
#include "sim/graph/tensor.hpp"

#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace schedlab {

class TaskGraphBuilder;

/// Immutable DAG of tasks and tensors. Tasks are numbered from 0; edges are dependencies: the
/// successor may start only after the predecessor has completed. Compressed rows in both
/// directions, about 35 bytes a task plus tensors. Made by TaskGraphBuilder.
class TaskGraph {
 public:
  TaskGraph() = default;

  [[nodiscard]] std::size_t task_count() const { return operation_of_.size(); }
  [[nodiscard]] std::size_t edge_count() const { return successors_.size(); }
  [[nodiscard]] IdRange<TaskId> tasks() const { return operation_of_.ids(); }
  /// Sorted by id, without duplicates.
  [[nodiscard]] std::span<const TaskId> successors(TaskId task) const {
    return row(successors_, successor_offset_, task);
  }
  [[nodiscard]] std::span<const TaskId> predecessors(TaskId task) const {
    return row(predecessors_, predecessor_offset_, task);
  }

  [[nodiscard]] OperationId operation_id(TaskId task) const { return operation_of_[task]; }
  [[nodiscard]] const Operation& operation(TaskId task) const {
    return operations_[operation_of_[task]];
  }
  [[nodiscard]] const IdVector<OperationId, Operation>& operations() const { return operations_; }
  [[nodiscard]] const Tags& tags(TaskId task) const { return tags_[task]; }
  [[nodiscard]] bool critical(TaskId task) const { return is_critical(operation(task).task_class); }

  /// Explicit name if one was given, else made from operation and tags: "cell(3,9)".
  [[nodiscard]] std::string name(TaskId task) const;
  /// Linear search; none() if no task has this name.
  [[nodiscard]] TaskId find(std::string_view name) const;
  [[nodiscard]] bool has_explicit_names() const { return !name_offset_.empty(); }

  /// Duration of this one task where the graph itself knows it (STG files, measured graphs);
  /// otherwise the operation's fixed_duration.
  [[nodiscard]] Duration fixed_duration(TaskId task) const {
    return fixed_durations_.empty() ? operation(task).fixed_duration : fixed_durations_[task];
  }
  [[nodiscard]] bool has_task_durations() const { return !fixed_durations_.empty(); }

  [[nodiscard]] const TensorTable& tensors() const { return tensors_; }
  [[nodiscard]] const CollectiveTable& collectives() const { return collectives_; }

  /// The rank that must run the task (on device `rank`); 0 where the graph says nothing of ranks.
  [[nodiscard]] std::uint32_t rank(TaskId task) const {
    return rank_of_.empty() ? 0 : rank_of_[task];
  }
  [[nodiscard]] bool has_ranks() const { return !rank_of_.empty(); }
  /// One more than the highest rank.
  [[nodiscard]] std::uint32_t rank_count() const { return rank_count_; }

  /// True when every edge goes from a lower to a higher id, so that id order is a topological
  /// order.
  [[nodiscard]] bool topologically_numbered() const { return topologically_numbered_; }
  /// A topological order: id order if topologically_numbered(), else breadth-first (Kahn).
  [[nodiscard]] std::vector<TaskId> topological_order() const;

  /// Bytes of memory held by this object.
  [[nodiscard]] std::size_t memory_bytes() const;

 private:
  friend class TaskGraphBuilder;

  [[nodiscard]] static std::span<const TaskId> row(const std::vector<TaskId>& items,
                                                   const std::vector<std::uint32_t>& offset,
                                                   TaskId task) {
    return {items.data() + offset[task.value()], items.data() + offset[task.value() + 1]};
  }

  IdVector<OperationId, Operation> operations_;
  IdVector<TaskId, OperationId> operation_of_;
  IdVector<TaskId, Tags> tags_;
  IdVector<TaskId, Duration> fixed_durations_;  // empty: none
  std::vector<std::uint32_t> successor_offset_{0};
  std::vector<TaskId> successors_;
  std::vector<std::uint32_t> predecessor_offset_{0};
  std::vector<TaskId> predecessors_;
  std::string name_pool_;
  std::vector<std::uint32_t> name_offset_;  // empty: no explicit names
  TensorTable tensors_;
  CollectiveTable collectives_;
  IdVector<TaskId, std::uint32_t> rank_of_;  // empty: all 0
  std::uint32_t rank_count_ = 1;
  bool topologically_numbered_ = true;
};

/// Collects tasks, edges and tensors in any order, then checks and freezes them.
class TaskGraphBuilder {
 public:
  OperationId add_operation(Operation operation);
  TaskId add_task(OperationId operation, Tags tags = {});
  /// The task gets an explicit name. Names should be unique; build() does not check it.
  TaskId add_task(OperationId operation, Tags tags, std::string_view name);
  /// As add_task and set_duration, for many. Always inlined and without push_back of a whole Tags:
  /// passing one that was just made of its parts costs more than all the rest, as the processor
  /// cannot forward small stores to one large load.
  [[gnu::always_inline]] TaskId add_task(OperationId operation, Tags tags, Duration duration) {
    auto& durations = graph_.fixed_durations_;
    if (!graph_.operations_.contains(operation) || duration < Duration{0} ||
        durations.size() != task_count()) {
      return add_first_timed_task(operation, tags, duration);
    }
    durations.push_back(duration);
    Tags& stored = graph_.tags_.raw().emplace_back();
    stored.layer = tags.layer;
    stored.stage = tags.stage;
    stored.step = tags.step;
    stored.microbatch = tags.microbatch;
    return graph_.operation_of_.push_back(operation);
  }
  /// Overrides the duration of one task.
  void set_duration(TaskId task, Duration duration);
  /// `to` may start only after `from` has completed. Duplicates are merged by build(). Fastest when
  /// all edges into one task come together and tasks in the order of their numbers, as in a file.
  void add_edge(TaskId from, TaskId to) {
    auto& offset = graph_.predecessor_offset_;
    if (!edges_.empty() || to.value() + std::size_t{1} < offset.size() ||
        to.value() > task_count()) {
      add_edge_out_of_order(from, to);
      return;
    }
    while (offset.size() <= to.value()) {
      offset.push_back(static_cast<std::uint32_t>(graph_.predecessors_.size()));
    }
    graph_.predecessors_.push_back(from);
  }

  TensorId add_tensor(TensorInfo info);
  void writes(TaskId task, TensorId tensor) { writes_.emplace_back(task, tensor); }
  /// Also makes the task depend on every writer of the tensor (known at build time) but itself.
  /// For a tensor with `accumulate`, a task that both reads and writes counts as a writer only.
  void reads(TaskId task, TensorId tensor) { reads_.emplace_back(task, tensor); }

  /// The task must run on this rank's device. Ranks of tasks that are never set are 0.
  void set_rank(TaskId task, std::uint32_t rank);
  CollectiveId add_collective(CollectiveSpec spec);
  /// The task is `collective`'s part on its rank.
  void joins(TaskId task, CollectiveId collective) { joins_.emplace_back(collective, task); }

  void reserve(std::size_t tasks, std::size_t edges);
  [[nodiscard]] std::size_t task_count() const { return graph_.operation_of_.size(); }

  /// Throws InputError naming the tasks of a cycle, ContractViolation if a tensor without
  /// `accumulate` has several writers, or if a collective is not one task of kind `collective` on
  /// each of its ranks. Cost O(tasks + edges + tensor uses).
  [[nodiscard]] TaskGraph build() &&;

 private:
  TaskId add_first_timed_task(OperationId operation, Tags tags, Duration duration);
  void add_edge_out_of_order(TaskId from, TaskId to);
  void derive_edges_from_tensors();
  void build_collectives();
  void finish_predecessors();
  void sort_edges_into_rows();
  void check_rows();
  void transpose_rows();
  void check_acyclic() const;

  TaskGraph graph_;
  /// All edges once one came out of order; until then they are rows of predecessors.
  std::vector<std::pair<TaskId, TaskId>> edges_;
  std::vector<std::pair<TaskId, TensorId>> writes_;
  std::vector<std::pair<TaskId, TensorId>> reads_;
  std::vector<std::pair<CollectiveId, TaskId>> joins_;
};

}  // namespace schedlab
