// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "sim/plan/accumulations.hpp"
#include "sim/plan/plan.hpp"
#include "sim/plan/policy.hpp"

#include <cstdint>
#include <span>
#include <string>
#include <utility>
#include <vector>

namespace schedlab {

/// Where tasks are placed and in which order: all that a PlanBuilder's plan follows from, besides
/// the graph.
struct Placement {
  IdVector<StreamId, StreamSpec> streams;
  IdVector<StreamId, bool> created;      ///< by the plan; false: it exists from the start
  IdVector<TaskId, StreamId> stream_of;  ///< none(): not placed
  std::vector<TaskId> order;
  /// Needs beyond the graph's edges: (position of the consumer in order, producer), by position.
  std::vector<std::pair<std::uint32_t, TaskId>> extra;

  [[nodiscard]] std::size_t memory_bytes() const;
  friend bool operator==(const Placement&, const Placement&) = default;
};

/// Makes a Plan for one host thread from "this task next, on that stream": every dependency across
/// streams becomes an event recorded right after the producer and a wait right before the consumer.
/// Waits that earlier waits already imply are left out, and an event is recorded only if somebody
/// waits for it. Tasks that add into one tensor are kept apart in the order of their placement.
class PlanBuilder {
 public:
  explicit PlanBuilder(const Problem& problem);

  /// `created`: the plan creates the stream just before its first use (and destroys it at the end);
  /// otherwise it exists from the start.
  StreamId add_stream(StreamSpec spec, bool created = false);
  /// `count` equal streams on device 0, default priority.
  void add_streams(std::uint32_t count);
  [[nodiscard]] std::size_t stream_count() const { return placement_.streams.size(); }

  /// Tasks must be placed after all their predecessors (ContractViolation names the task
  /// otherwise). `also_after`: further placed tasks to wait for, which the graph does not ask for
  /// (a join).
  void place(TaskId task, StreamId stream, std::span<const TaskId> also_after = {});
  /// On its earliest_finish().
  void place_on_earliest_finish(TaskId task);
  [[nodiscard]] bool placed(TaskId task) const { return placement_.stream_of[task].valid(); }
  [[nodiscard]] StreamId stream_of(TaskId task) const { return placement_.stream_of[task]; }
  /// The placement of everything placed so far.
  [[nodiscard]] const Placement& placement() const { return placement_; }
  /// The last task of each stream that has any: what a join waits for.
  [[nodiscard]] std::vector<TaskId> last_tasks() const;

  // An estimate of times under the ideal host: what list schedulers decide by.
  /// When `task` could end on `stream`, after everything placed so far.
  [[nodiscard]] Time finish_on(TaskId task, StreamId stream) const;
  /// When everything `task` has to wait for has ended.
  [[nodiscard]] Time ready_time(TaskId task) const;
  [[nodiscard]] Time free_at(StreamId stream) const { return free_at_[stream]; }
  /// The stream on which the task ends first; the lowest id among equals.
  [[nodiscard]] StreamId earliest_finish(TaskId task) const;
  /// The stream that is free first; the lowest id among equals.
  [[nodiscard]] StreamId earliest_free() const;

  /// The builder is used up. Throws ContractViolation if a task was not placed.
  /// Cost O((tasks + edges) log(edges of a task) + events * streams).
  [[nodiscard]] Plan build(std::string policy_name) &&;

 private:
  using Waits = std::vector<std::pair<TaskId, TaskId>>;  // (consumer, producer), by placement

  template <class Visitor>
  void for_each_need(std::size_t position, std::size_t& extra, Visitor visit) const;
  [[nodiscard]] Waits needed_waits() const;

  void expect_placeable(TaskId task) const;
  [[nodiscard]] StreamId earliest_finish(TaskId task, Time ready) const;
  void place_ready(TaskId task, StreamId stream, Time ready);

  Problem problem_;
  Placement placement_;
  Accumulations accumulations_;
  IdVector<TensorId, TaskId> last_writer_;  // of shared accumulate tensors; empty if there are none
  bool one_device_ = true;                  // all streams are on one
  IdVector<StreamId, Time> free_at_;
  IdVector<StreamId, TaskId> last_on_;
  IdVector<TaskId, Time> finish_;
};

}  // namespace schedlab
