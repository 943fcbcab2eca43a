// SPDX-License-Identifier: Apache-2.0
#include "profiler/activity_trace.hpp"

#include "sim/base/error.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <optional>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

namespace schedlab {
namespace {

/// When a task was on the device.
struct Extent {
  bool seen = false;
  ActivityTime started{};
  ActivityTime ended{};
};

std::string_view activity_name_of(HostCallKind kind) {
  switch (kind) {
    case HostCallKind::create_stream:
      return "cudaStreamCreate";
    case HostCallKind::destroy_stream:
      return "cudaStreamDestroy";
    case HostCallKind::record:
      return "cudaEventRecord";
    case HostCallKind::wait:
      return "cudaStreamWaitEvent";
    case HostCallKind::query:
      return "cudaStreamQuery";
    case HostCallKind::graph_load:
      return "cudaGraphInstantiate";
    case HostCallKind::graph_launch:
      return "cudaGraphLaunch";
    default:
      return {};
  }
}

/// Calls without a record: nothing of the run-time is called.
bool leaves_no_record(HostCallKind kind) {
  return kind == HostCallKind::sleep || concerns_message(kind);
}

/// What the calls of a host launch, asked in their order. A graph is launched by one host.
class Launches {
 public:
  /// WorkId{} for a call that launches nothing.
  WorkId work_of(HostCall call) {
    if (call.kind() == HostCallKind::launch) return WorkId::task(call.task());
    if (call.kind() != HostCallKind::graph_launch) return {};
    return WorkId::graph_launch(call.graph(), count_[call.graph()]++);
  }

 private:
  std::unordered_map<std::uint32_t, std::uint32_t> count_;  // by graph
};

class TraceMaker {
 public:
  TraceMaker(const ActivityLog& log, const TaskGraph& graph, const Plan& plan, Time origin)
      : log_(&log), graph_(&graph), plan_(&plan), origin_(origin), extent_(graph.task_count()) {
    for (const ExternalCorrelation& known : log.correlations) {
      work_of_[known.correlation] = known.work;
    }
  }

  ProfiledTrace make() {
    add_all(log_->kernels);
    add_all(log_->copies);
    add_all(log_->memsets);
    note_submissions();
    for (const HostId host : plan_->hosts.ids()) {
      add_tasks(host);
      add_calls(host);
    }
    Trace& trace = result_.trace;
    for (const TaskSpan& span : trace.tasks) trace.ended = std::max(trace.ended, span.ended);
    for (const HostSpan& span : trace.hosts) trace.ended = std::max(trace.ended, span.ended);
    return std::move(result_);
  }

 private:
  [[nodiscard]] Time time_of(ActivityTime time) const {
    return Time{log_->clock.to_host(time) - origin_};
  }
  [[nodiscard]] WorkId work_of(std::uint32_t correlation) const {
    const auto found = work_of_.find(correlation);
    return found == work_of_.end() ? WorkId{} : found->second;
  }

  /// The task that an activity belongs to; none() if it is not of this plan.
  [[nodiscard]] TaskId task_of(std::uint32_t correlation, const ActivityNode& node) const {
    WorkId work = work_of(correlation);
    if (work.kind() == WorkId::Kind::graph_launch && node.node != 0) {
      const auto label = log_->nodes.find(node.node);
      if (label == log_->nodes.end()) return TaskId::none();
      if (label->second.kind() == WorkId::Kind::graph_node) {
        return task_of_node(work, label->second);
      }
      work = label->second;
    }
    if (work.kind() != WorkId::Kind::task || !extent_.contains(work.task())) return TaskId::none();
    return work.task();
  }
  [[nodiscard]] TaskId task_of_node(WorkId launch, WorkId node) const {
    if (launch.graph() != node.graph() || launch.graph() >= plan_->graphs.size()) {
      return TaskId::none();
    }
    const DeviceGraph& graph = plan_->graphs[launch.graph()];
    if (launch.index() >= graph.launch_count() || node.index() >= graph.node_count()) {
      return TaskId::none();
    }
    return graph.task(launch.index(), node.index());
  }

  template <class Activity>
  void add_all(const std::vector<Activity>& activities) {
    for (const Activity& activity : activities) {
      const TaskId task = task_of(activity.correlation, activity.node);
      if (!task.valid()) {
        result_.problems.add(Severity::notice,
                             "activity_without_task",
                             fmt::format("correlation {}", activity.correlation));
        continue;
      }
      Extent& extent = extent_[task];
      extent.started = extent.seen ? std::min(extent.started, activity.started) : activity.started;
      extent.ended = extent.seen ? std::max(extent.ended, activity.ended) : activity.ended;
      extent.seen = true;
    }
  }

  void note_submissions() {
    for (const ApiActivity& call : log_->calls) {
      const WorkId work = work_of(call.correlation);
      if (work.kind() == WorkId::Kind::none) continue;
      auto& submitted = submitted_.try_emplace(work.bits(), call.ended).first->second;
      submitted = std::max(submitted, call.ended);
      thread_of_.try_emplace(work.bits(), call.thread);
    }
  }

  void add_task(TaskId task, StreamId stream, HostId host, WorkId launch) {
    const Extent& extent = extent_[task];
    if (!extent.seen) {
      throw DeviceError(
          fmt::format("task {} was launched but the profiler has no record of it: record nodes of "
                      "device graphs "
                      "(GraphDetail::nodes), and push a WorkId around every launch (it recorded {} "
                      "kernels, {} calls, {} correlations with pushed work, {} nodes of graphs)",
                      graph_->name(task),
                      log_->kernels.size(),
                      log_->calls.size(),
                      log_->correlations.size(),
                      log_->nodes.size()));
    }
    const auto submitted = submitted_.find(launch.bits());
    const Time started = time_of(extent.started);
    result_.trace.tasks.push_back(
        {.task = task,
         .stream = stream,
         .host = host,
         .device = plan_->streams[stream].device,
         // Without the calls the best that can be said: no later than its start.
         .submitted = submitted == submitted_.end() ? started : time_of(submitted->second),
         .started = started,
         .ended = time_of(extent.ended)});
  }

  void add_tasks(HostId host) {
    Launches launches;
    for (const HostCall call : plan_->hosts[host].calls) {
      const WorkId work = launches.work_of(call);
      if (work.kind() == WorkId::Kind::task) {
        add_task(call.task(), call.stream(), host, work);
      } else if (work.kind() == WorkId::Kind::graph_launch) {
        const DeviceGraph& graph = plan_->graphs[call.graph()];
        for (std::uint32_t node = 0; node < graph.node_count(); ++node) {
          add_task(graph.task(work.index(), node), graph.stream(node), host, work);
        }
      }
    }
  }

  /// The thread of the process that made the host's launches.
  [[nodiscard]] std::optional<std::uint32_t> thread_of(HostId host) const {
    Launches launches;
    for (const HostCall call : plan_->hosts[host].calls) {
      const auto found = thread_of_.find(launches.work_of(call).bits());
      if (found != thread_of_.end()) return found->second;
    }
    return std::nullopt;
  }

  /// The outermost calls of a thread: what the run-time calls of the driver is within its own.
  [[nodiscard]] std::vector<const ApiActivity*> calls_of(std::uint32_t thread) const {
    std::vector<const ApiActivity*> calls;
    for (const ApiActivity& call : log_->calls) {
      if (call.thread != thread) continue;
      if (!calls.empty() && call.ended <= calls.back()->ended) continue;
      calls.push_back(&call);
    }
    return calls;
  }

  /// `work`: what the call launches, if anything.
  [[nodiscard]] bool is(const ApiActivity& activity, HostCall call, WorkId work) const {
    if (work.kind() != WorkId::Kind::none) return work_of(activity.correlation) == work;
    if (call.kind() == HostCallKind::synchronize) return activity.name.ends_with("Synchronize");
    return activity.name.starts_with(activity_name_of(call.kind()));
  }

  void add_calls(HostId host) {
    const auto thread = thread_of(host);
    if (!thread) return;
    const std::vector<const ApiActivity*> made = calls_of(*thread);
    std::size_t next = 0;
    const auto& calls = plan_->hosts[host].calls;
    Launches launches;
    for (std::uint32_t i = 0; i < calls.size(); ++i) {
      if (leaves_no_record(calls[i].kind())) continue;
      const WorkId work = launches.work_of(calls[i]);
      std::size_t first = next;
      while (first < made.size() && !is(*made[first], calls[i], work)) ++first;
      if (first == made.size()) {
        result_.problems.add(Severity::notice,
                             fmt::format("{}_without_record", to_string(calls[i].kind())),
                             fmt::format("call {} of host {}", i, host.value()));
        continue;
      }
      next = first + 1;
      // The launches of a task with several kernels are one call of the plan.
      while (calls[i].kind() == HostCallKind::launch && next < made.size() &&
             is(*made[next], calls[i], work)) {
        ++next;
      }
      const Time started = time_of(made[first]->started);
      const Time ended = time_of(made[next - 1]->ended);
      const bool waits = calls[i].kind() == HostCallKind::synchronize;
      result_.trace.hosts.push_back({.host = host,
                                     .call = i,
                                     .what = calls[i],
                                     .started = started,
                                     .ended = ended,
                                     .blocked = waits ? ended - started : Duration{0}});
    }
  }

  const ActivityLog* log_;
  const TaskGraph* graph_;
  const Plan* plan_;
  Time origin_;
  ProfiledTrace result_;
  IdVector<TaskId, Extent> extent_;
  std::unordered_map<std::uint32_t, WorkId> work_of_;           // by correlation
  std::unordered_map<std::uint64_t, ActivityTime> submitted_;   // by WorkId
  std::unordered_map<std::uint64_t, std::uint32_t> thread_of_;  // by WorkId
};

}  // namespace

ProfiledTrace activity_trace(const ActivityLog& log,
                             const TaskGraph& graph,
                             const Plan& plan,
                             Time origin) {
  if (log.dropped_records != 0) {
    throw DeviceError(fmt::format("the profiler lost {} records: no trace can be made of the rest",
                                  log.dropped_records));
  }
  return TraceMaker{log, graph, plan, origin}.make();
}

}  // namespace schedlab
