// SPDX-License-Identifier: Apache-2.0
#include "workloads/traces/own_trace.hpp"

#include <map>
#include <unordered_map>
#include <utility>

namespace schedlab {
namespace {

CallKind kind_of(const HostCall& call) {
  switch (call.kind()) {
    case HostCallKind::launch:
      return CallKind::launch_kernel;
    case HostCallKind::graph_launch:
      return CallKind::launch_graph;
    case HostCallKind::graph_load:
      return CallKind::capture;
    case HostCallKind::record:
      return CallKind::record_event;
    case HostCallKind::wait:
      return CallKind::wait_event;
    case HostCallKind::query:
      return CallKind::query;
    case HostCallKind::synchronize:
      return call.stream().valid()  ? CallKind::synchronize_stream
             : call.event().valid() ? CallKind::synchronize_event
                                    : CallKind::synchronize_device;
    default:
      return CallKind::other;
  }
}

std::int64_t number_of(StreamId stream) {
  return stream.valid() ? std::int64_t{stream.value()} : -1;
}

class OwnTrace {
 public:
  OwnTrace(const TraceDocument& document, ImportedTrace& imported)
      : document_(&document), imported_(&imported) {}

  void convert() {
    for (const std::string& host : document_->hosts) {
      imported_->threads.push_back({.process = 0, .thread = next_thread_++, .name = host});
    }
    for (const DeviceId device : document_->devices.ids()) {
      ImportedDevice described;
      described.id = device.value();
      described.name = document_->devices[device];
      imported_->devices.push_back(described);
    }
    for (const HostSpan& span : document_->trace.hosts) add_call(span);
    for (const TaskSpan& span : document_->trace.tasks) add_task(span);
    for (const EventFlow& flow : document_->trace.flows) add_wait(flow);
  }

 private:
  void add_call(const HostSpan& span) {
    const std::uint64_t correlation = imported_->calls.size() + 1;
    const HostCall& call = span.what;
    CallRow row{.name = imported_->texts.add(to_string(call.kind())),
                .kind = kind_of(call),
                .thread = HostThreadId{span.host.value()},
                .started = span.started,
                .ended = span.ended,
                .correlation = correlation,
                .external_id = -1,
                .stream = number_of(call.stream()),
                .event = 0};
    if (row.kind == CallKind::record_event || row.kind == CallKind::wait_event) {
      row.event = std::uint64_t{call.event().value()} + 1;
    }
    if (row.kind == CallKind::record_event) {
      records_[{call.event(), call.stream()}] = correlation;
    }
    if (row.kind == CallKind::launch_kernel) launch_of_[call.task()] = correlation;
    if (row.kind == CallKind::launch_graph) {
      graphs_[{span.host, call.stream()}].emplace(span.ended, correlation);
    }
    imported_->calls.push_back(row);
  }

  /// Nodes of a graph say only who launched them, into which stream, and when.
  [[nodiscard]] std::uint64_t launch_of(const TaskSpan& span) const {
    const auto own = launch_of_.find(span.task);
    if (own != launch_of_.end()) return own->second;
    const auto graphs = graphs_.find({span.host, span.stream});
    if (graphs == graphs_.end()) return 0;
    const auto after = graphs->second.upper_bound(span.submitted);
    return after == graphs->second.begin() ? 0 : std::prev(after)->second;
  }

  void add_task(const TaskSpan& span) {
    const TaskLabel& label = document_->tasks[span.task];
    DeviceRow row;
    row.name = imported_->texts.add(label.operation);
    row.kind = label.kind == TaskKind::copy_host_to_device ||
                       label.kind == TaskKind::copy_device_to_host ||
                       label.kind == TaskKind::copy_device_to_device
                   ? DeviceActivityKind::copy
                   : DeviceActivityKind::kernel;
    row.started = span.started;
    row.ended = span.ended;
    row.device = static_cast<std::int32_t>(span.device.value());
    row.stream = number_of(span.stream);
    row.correlation = launch_of(span);
    row.external_id = std::int64_t{span.task.value()} + 1;
    row.priority = document_->streams[span.stream].priority;
    imported_->device_rows.push_back(row);
  }

  void add_wait(const EventFlow& flow) {
    const auto record = records_.find({flow.event, flow.from});
    imported_->synchronizations.push_back(
        {.kind = SyncRowKind::stream_wait_event,
         .started = flow.recorded,
         .ended = flow.released,
         .device = 0,
         .stream = number_of(flow.to),
         .correlation = 0,
         .event = flow.event.value(),
         .wait_on_stream = number_of(flow.from),
         .record_correlation = record == records_.end() ? 0 : record->second});
  }

  const TraceDocument* document_;
  ImportedTrace* imported_;
  std::int64_t next_thread_ = 0;
  std::unordered_map<TaskId, std::uint64_t> launch_of_;
  std::map<std::pair<HostId, StreamId>, std::map<Time, std::uint64_t>> graphs_;
  std::map<std::pair<EventId, StreamId>, std::uint64_t> records_;
};

}  // namespace

ImportedTrace imported_from(const TraceDocument& document, const std::string& file) {
  ImportedTrace imported;
  imported.file = file;
  imported.metadata["title"] = document.title;
  imported.metadata["origin"] = document.origin;
  OwnTrace{document, imported}.convert();
  put_in_order(imported);
  find_problems(imported);
  return imported;
}

}  // namespace schedlab
