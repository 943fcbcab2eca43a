// SPDX-License-Identifier: Apache-2.0
#include "sim/trace/document.hpp"

#include "sim/base/error.hpp"

#include <fmt/format.h>

#include <utility>

namespace schedlab {

namespace {

[[nodiscard]] bool holds_no_units(TaskKind kind) {
  return kind == TaskKind::host || kind == TaskKind::copy_host_to_device ||
         kind == TaskKind::copy_device_to_host || kind == TaskKind::copy_device_to_device;
}

/// Of the device's limited classes those that run what holds compute units: not copy engines, nor
/// management cores that only drive messages. A class that nothing runs on counts: it stands idle.
[[nodiscard]] bool computes(const Device& device, UnitClassId unit_class) {
  bool runs_something = false;
  for (std::size_t kind = 0; kind < task_kind_count; ++kind) {
    if (device.unit_class_of[kind] != unit_class) continue;
    const auto task_kind = static_cast<TaskKind>(kind);
    if (task_kind != TaskKind::collective && !holds_no_units(task_kind)) return true;
    runs_something = true;
  }
  return !runs_something;
}

void expect_known_ids(const Problem& problem, const Plan& plan, const Trace& trace) {
  for (const TaskSpan& span : trace.tasks) {
    SCHEDLAB_EXPECTS(span.task.value() < problem.graph.task_count(),
                     fmt::format("task {} of {}", span.task.value(), problem.graph.task_count()));
    SCHEDLAB_EXPECTS(plan.streams.contains(span.stream), problem.graph.name(span.task));
    SCHEDLAB_EXPECTS(problem.platform.has_device(span.device), problem.graph.name(span.task));
    SCHEDLAB_EXPECTS(plan.hosts.contains(span.host), problem.graph.name(span.task));
  }
}

}  // namespace

double unit_share(const Problem& problem, OperationId operation, DeviceId device) {
  if (holds_no_units(problem.graph.operations()[operation].kind)) return 0.0;
  const CostTable::Entry& entry = problem.costs.entry(operation, device);
  if (entry.units == 0) return entry.estimate.share;
  const Device& owner = problem.platform.device(device);
  const auto& classes = owner.unit_classes;
  if (!computes(owner, entry.unit_class)) return 0.0;
  double units = 0;
  for (const UnitClassId id : classes.ids()) {
    if (computes(owner, id)) units += classes[id].count;
  }
  return entry.mean_share * classes[entry.unit_class].count / units;
}

double unit_share(const Problem& problem, const TaskSpan& span) {
  const double share = unit_share(problem, problem.graph.operation_id(span.task), span.device);
  const bool shared = shares_units(problem.platform.sharing) &&
                      problem.costs.entry(span.task, span.device).units > 0;
  const Duration alone = problem.costs.duration(span.task, span.device);
  if (!shared || span.duration() <= alone) return share;
  return share * static_cast<double>(alone.count()) / static_cast<double>(span.duration().count());
}

TraceDocument make_document(
    const Problem& problem, const Plan& plan, Trace trace, std::string title, std::string origin) {
  expect_known_ids(problem, plan, trace);
  TraceDocument document;
  document.title = std::move(title);
  document.origin = std::move(origin);
  document.policy = plan.policy;
  document.machine = problem.platform.name;

  document.tasks.reserve(problem.graph.task_count());
  for (const TaskId task : problem.graph.tasks()) {
    const Operation& operation = problem.graph.operation(task);
    document.tasks.push_back(
        {.name = problem.graph.name(task),
         .operation = operation.name,
         .kind = operation.kind,
         .critical = problem.graph.critical(task),
         .share = unit_share(problem, problem.graph.operation_id(task), DeviceId{0})});
  }
  for (const TaskSpan& span : trace.tasks) {
    document.tasks[span.task].share = unit_share(problem, span);
  }

  document.streams = plan.streams;
  for (const StreamId stream : document.streams.ids()) {
    document.streams[stream].name = plan.stream_name(stream);
    document.streams[stream].sync =
        StreamSync::non_blocking;            // a trace has times: its name says it
    document.streams[stream].partition = 0;  // likewise
  }
  document.unit_parts = unit_parts(problem.platform, plan);
  for (const DeviceId device : problem.platform.device_ids()) {
    document.devices.push_back(problem.platform.device_name(device));
  }
  for (const HostProgram& host : plan.hosts) {
    document.hosts.push_back(host.name.empty() ? fmt::format("host {}", document.hosts.size())
                                               : host.name);
  }
  document.trace = std::move(trace);
  return document;
}

std::string track_name(const TraceDocument& document, StreamId stream) {
  const std::string& name = document.streams[stream].name;
  std::string track = name.empty() ? fmt::format("stream {}", stream.value()) : name;
  if (document.unit_parts.contains(stream)) {
    track += fmt::format(" [{}]", document.unit_parts[stream].text());
  }
  return track;
}

}  // namespace schedlab
