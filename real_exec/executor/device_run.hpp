// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "profiler/cpu_clock.hpp"
#include "real_exec/executor/call_source.hpp"
#include "real_exec/executor/device_executor.hpp"
#include "real_exec/executor/unfinished_tasks.hpp"

#include <cstdint>
#include <optional>
#include <string_view>
#include <vector>

namespace schedlab::detail {

/// Throws InfeasibleError, which begins with `executor`, if the stream is on another device than
/// the first.
void expect_first_device(std::string_view executor, StreamId id, const StreamSpec& spec);

/// Throws DeviceError, naming the first node that differs, if what a device holds is not the graph
/// that it was given.
void expect_graph_as_planned(const TaskGraph& tasks,
                             const GraphRow& row,
                             const std::vector<LoadedNode>& nodes);

/// One run of a plan or a policy on a backend.
class DeviceRun {
 public:
  DeviceRun(DeviceBackend& backend, const DeviceExecutorOptions& options, const TaskGraph& graph)
      : backend_(backend),
        options_(options),
        graph_(graph),
        unfinished_(graph, !backend.properties().is_host) {}

  /// `plan`: streams that exist from the start, graphs and events; the calls come from `calls`.
  /// Fills out.trace but for its tasks, also if it throws.
  void execute(const Plan& plan, const CallSource& calls, Execution& out);
  /// Start and end of the tasks, with TaskTiming::events.
  [[nodiscard]] const std::vector<TaskTime>& times() const { return times_; }

 private:
  void prepare(const Plan& plan);
  void load_graphs(const Plan& plan);
  void make_calls(const CallSource& calls, Execution& out);
  void make_call(const OnlineStep& step, const CallSource& calls, HostSpan& span);
  void create_stream(StreamId stream, const StreamSpec& spec);
  void launch(StreamId stream, TaskId task, bool programmatic);
  void launch_graph(StreamId stream, std::uint32_t graph);
  [[nodiscard]] bool query(StreamId stream);
  void synchronize(HostCall call);
  void compute_until(Time until) const;
  /// What to throw for an error of a call that may be that of a task launched before.
  [[noreturn]] void fail(const DeviceError& error) const;

  DeviceBackend& backend_;
  const DeviceExecutorOptions& options_;
  const TaskGraph& graph_;
  UnfinishedTasks unfinished_;
  CpuClock clock_;
  std::optional<bool> last_query_;
  bool all_awaited_ = false;  // the last call waited for everything
  const std::vector<DeviceGraph>* graphs_ = nullptr;
  std::vector<std::uint32_t> rows_;  // of each graph, launched
  std::vector<TaskTime> times_;
};

}  // namespace schedlab::detail
