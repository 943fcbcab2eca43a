// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "profiler/activity.hpp"
#include "profiler/cupti_session.hpp"
#include "real_exec/executor/device_backend.hpp"
#include "real_exec/executor/execution.hpp"
#include "sim/base/diagnostics.hpp"
#include "sim/graph/task_graph.hpp"

namespace schedlab {

/// Tells a profiler for whom DeviceExecutor launches: tasks, rows of graphs, and nodes while graphs
/// are made.
class LaunchProfiler final : public LaunchObserver {
 public:
  /// `session` must outlive this.
  explicit LaunchProfiler(CuptiSession& session) : session_(&session) {}

  void before(TaskId task) override { session_->push(WorkId::task(task)); }
  void after(TaskId /*task*/) override { session_->pop(); }
  void before_node(TaskId /*task*/, std::uint32_t graph, std::uint32_t node) override {
    session_->push(WorkId::graph_node(graph, node));
  }
  void after_node(TaskId /*task*/, std::uint32_t /*graph*/, std::uint32_t /*node*/) override {
    session_->pop();
  }
  void before_graph(std::uint32_t graph, std::uint32_t row) override {
    session_->push(WorkId::graph_launch(graph, row));
  }
  void after_graph(std::uint32_t /*graph*/, std::uint32_t /*row*/) override { session_->pop(); }

 private:
  CuptiSession* session_;
};

/// How the clock of a run stands to the one that a log is mapped to.
struct RunOffset {
  Duration offset{0};  ///< to be added to times of the log
  Duration error{0};   ///< it is not further off than this
};

/// Puts the tasks' times from the log of the run, and of nothing else, into a run without task
/// times (TaskTiming::profiler). The clocks are aligned by the launches: each of the run-time's
/// calls lies within the host call of the plan that made it, so that every one of them bounds the
/// offset from both sides.
///
/// Errors  DeviceError for a task that the log does not have, and where no offset fits all calls.
RunOffset set_profiled_times(Execution& run, const TaskGraph& graph, const ActivityLog& log);

}  // namespace schedlab
