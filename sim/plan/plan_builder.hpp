// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "sim/plan/plan.hpp"
#include "sim/plan/policy.hpp"

namespace schedlab {

/// Makes a Plan for one host thread from "this task next, on that stream": every dependency across
/// streams becomes an event recorded right after the producer and a wait right before the consumer.
/// Waits that an earlier wait of the same stream already implies are left out.
class PlanBuilder {
 public:
  explicit PlanBuilder(const Problem& problem) : problem_(problem), placed_(problem.graph.task_count()) {
    finish_.assign(problem.graph.task_count(), Time{});
  }

  /// `created`: the plan creates the stream just before its first use (and destroys it at the end);
  /// otherwise it exists from the start.
  StreamId add_stream(StreamSpec spec, bool created = false);
  /// `count` equal streams on device 0, default priority.
  void add_streams(std::uint32_t count);
  [[nodiscard]] std::size_t stream_count() const { return streams_.size(); }

  /// Tasks must be placed after all their predecessors (ContractViolation names the task otherwise).
  void place(TaskId task, StreamId stream);
  [[nodiscard]] bool placed(TaskId task) const { return placed_[task].valid(); }
  [[nodiscard]] StreamId stream_of(TaskId task) const { return placed_[task]; }

  // An estimate of times under the ideal host: what list schedulers decide by.
  /// When `task` could end on `stream`, after everything placed so far.
  [[nodiscard]] Time finish_on(TaskId task, StreamId stream) const;
  [[nodiscard]] Time ready_time(TaskId task) const;
  [[nodiscard]] Time free_at(StreamId stream) const { return free_at_[stream]; }
  /// The stream on which the task ends first; the lowest id among equals.
  [[nodiscard]] StreamId earliest_finish(TaskId task) const;

  /// The builder is used up. Throws ContractViolation if a task was not placed.
  [[nodiscard]] Plan build(std::string policy_name) &&;

 private:
  struct Placement {
    TaskId task;
    StreamId stream;
  };

  Problem problem_;
  IdVector<StreamId, StreamSpec> streams_;
  IdVector<StreamId, bool> created_;
  IdVector<StreamId, Time> free_at_;
  IdVector<TaskId, StreamId> placed_;
  IdVector<TaskId, Time> finish_;
  std::vector<Placement> order_;
};

}  // namespace schedlab
