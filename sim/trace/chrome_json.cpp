// SPDX-License-Identifier: Apache-2.0
#include "sim/trace/chrome_json.hpp"

#include "sim/base/error.hpp"
#include "sim/trace/document.hpp"
#include "sim/trace/text_buffer.hpp"
#include "sim/trace/utilization.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cstdint>
#include <vector>

namespace schedlab {

namespace {

constexpr std::size_t piece_bytes = std::size_t{1} << 20U;
/// More counter points than this are replaced by the means of as many slices: no screen shows more.
constexpr std::size_t max_counter_points = 4000;
constexpr std::uint32_t host_process = 1;

[[nodiscard]] std::int64_t picoseconds(Time time) {
  return time.time_since_epoch().count();
}
[[nodiscard]] std::uint32_t process_of(DeviceId device) {
  return host_process + 1 + device.value();
}
/// Thread 0 of a process is special in some viewers.
template <class Id>
[[nodiscard]] std::uint32_t thread_of(Id id) {
  return id.value() + 1;
}

class Writer {
 public:
  Writer(const TraceDocument& document, const TextSink& sink, std::span<const DeviceMemory> memory)
      : document_(document), sink_(sink), memory_(memory) {
    out_.reserve(piece_bytes + 4096);
  }

  void write() {
    out_ << "{\"displayTimeUnit\":\"ns\",\"otherData\":";
    write_document_facts();
    out_ << ",\"traceEvents\":[";
    write_tracks();
    for (const TaskSpan& span : document_.trace.tasks) write_task(span);
    for (const HostSpan& call : document_.trace.hosts) write_call(call);
    write_flows();
    write_messages();
    write_counters();
    for (std::uint32_t i = 0; i < memory_.size(); ++i) write_memory(DeviceId{i}, memory_[i]);
    out_ << "\n]}\n";
    sink_(out_.text());
  }

 private:
  /// Starts an event; the text written so far leaves in large pieces.
  void next_event() {
    if (out_.size() >= piece_bytes) {
      sink_(out_.text());
      out_.clear();
    }
    out_ << (first_event_ ? "\n" : ",\n");
    first_event_ = false;
  }

  template <class Items, class Write>
  void list(const Items& items, const Write& write) {
    out_ << '[';
    bool first = true;
    for (const auto& item : items) {
      if (!first) out_ << ',';
      first = false;
      write(item);
    }
    out_ << ']';
  }

  void write_document_facts() {
    const auto name = [this](const std::string& text) { out_.json_string(text); };
    out_ << "{\"schedlab\":\"trace\",\"version\":1,\"title\":";
    name(document_.title);
    out_ << ",\"origin\":";
    name(document_.origin);
    out_ << ",\"policy\":";
    name(document_.policy);
    out_ << ",\"machine\":";
    name(document_.machine);
    out_ << ",\"ended_ps\":" << picoseconds(document_.trace.ended)
         << ",\"tasks\":" << document_.tasks.size() << ",\"devices\":";
    list(document_.devices, name);
    out_ << ",\"hosts\":";
    list(document_.hosts, name);
    out_ << ",\"streams\":";
    list(document_.streams.ids(), [this](StreamId id) {
      const StreamSpec& stream = document_.streams[id];
      out_ << "{\"device\":" << stream.device.value() << ",\"priority\":" << stream.priority
           << ",\"name\":";
      out_.json_string(stream.name);
      if (document_.unit_parts.contains(id)) {
        const UnitPart& part = document_.unit_parts[id];
        out_ << ",\"units\":" << part.units << ",\"device_units\":" << part.whole;
      }
      out_ << '}';
    });
    out_ << ",\"not_run\":";
    list(tasks_not_run(), [this](TaskId task) {
      out_ << "{\"task\":" << task.value() << ',';
      write_label(document_.tasks[task]);
      out_ << '}';
    });
    out_ << '}';
  }

  [[nodiscard]] std::vector<TaskId> tasks_not_run() const {
    IdVector<TaskId, std::uint8_t> ran(document_.tasks.size(), 0);
    for (const TaskSpan& span : document_.trace.tasks) {
      SCHEDLAB_EXPECTS(ran.contains(span.task), fmt::format("task {}", span.task.value()));
      ran[span.task] = 1;
    }
    std::vector<TaskId> missing;
    for (const TaskId task : ran.ids()) {
      if (ran[task] == 0) missing.push_back(task);
    }
    return missing;
  }

  void write_label(const TaskLabel& label) {
    out_ << "\"name\":";
    out_.json_string(label.name) << ",\"cat\":\"" << to_string(label.kind) << "\",\"operation\":";
    out_.json_string(label.operation)
        << ",\"critical\":" << (label.critical ? "true" : "false") << ",\"share\":" << label.share;
  }

  void metadata(std::string_view what, std::uint32_t process, std::uint32_t thread) {
    next_event();
    out_ << "{\"ph\":\"M\",\"name\":\"" << what << "\",\"pid\":" << process << ",\"tid\":" << thread
         << ",\"args\":{";
  }
  void track(std::string_view unit,
             std::uint32_t process,
             std::uint32_t thread,
             std::string_view name,
             std::uint32_t order) {
    metadata(fmt::format("{}_name", unit), process, thread);
    out_ << "\"name\":";
    out_.json_string(name) << "}}";
    metadata(fmt::format("{}_sort_index", unit), process, thread);
    out_ << "\"sort_index\":" << order << "}}";
  }

  void write_tracks() {
    track("process", host_process, 0, "host", 0);
    for (const HostId host : document_.hosts.ids()) {
      track("thread", host_process, thread_of(host), document_.hosts[host], host.value());
    }
    for (const DeviceId device : document_.devices.ids()) {
      track("process", process_of(device), 0, document_.devices[device], device.value() + 1);
    }
    for (const StreamId stream : document_.streams.ids()) {
      const StreamSpec& spec = document_.streams[stream];
      std::string name = track_name(document_, stream);
      if (spec.priority != 0) name += fmt::format(" (priority {})", spec.priority);
      track("thread", process_of(spec.device), thread_of(stream), name, stream.value());
    }
  }

  void write_times(Time from, Time to) {
    out_ << ",\"ts\":";
    out_.microseconds(picoseconds(from)) << ",\"dur\":";
    out_.microseconds(picoseconds(to) - picoseconds(from));
  }

  /// Shortest digits take long to find, and tasks of an operation have the same share.
  [[nodiscard]] std::string_view share_text(double share) {
    if (share != share_ || share_text_.size() == 0) {
      share_ = share;
      share_text_.clear();
      share_text_ << share;
    }
    return share_text_.text();
  }

  void write_task(const TaskSpan& span) {
    SCHEDLAB_EXPECTS(document_.streams.contains(span.stream), document_.tasks[span.task].name);
    SCHEDLAB_EXPECTS(document_.devices.contains(span.device), document_.tasks[span.task].name);
    SCHEDLAB_EXPECTS(document_.hosts.contains(span.host), document_.tasks[span.task].name);
    const TaskLabel& label = document_.tasks[span.task];
    next_event();
    out_ << "{\"ph\":\"X\",\"pid\":" << process_of(span.device)
         << ",\"tid\":" << thread_of(span.stream);
    write_times(span.started, span.ended);
    out_ << ",\"name\":";
    out_.json_string(label.name) << ",\"cat\":\"" << to_string(label.kind)
                                 << "\",\"args\":{\"task\":" << span.task.value()
                                 << ",\"operation\":";
    out_.json_string(label.operation)
        << ",\"critical\":" << (label.critical ? "true" : "false")
        << ",\"share\":" << share_text(label.share) << ",\"host\":" << span.host.value()
        << ",\"stream\":" << span.stream.value() << ",\"device\":" << span.device.value()
        << ",\"submitted_ps\":" << picoseconds(span.submitted)
        << ",\"started_ps\":" << picoseconds(span.started)
        << ",\"ended_ps\":" << picoseconds(span.ended) << "}}";
  }

  void write_call(const HostSpan& call) {
    SCHEDLAB_EXPECTS(document_.hosts.contains(call.host), fmt::format("call {}", call.call));
    const std::string_view kind = to_string(call.what.kind());
    next_event();
    out_ << "{\"ph\":\"X\",\"pid\":" << host_process << ",\"tid\":" << thread_of(call.host);
    write_times(call.started, call.ended);
    out_ << ",\"name\":";
    if (call.what.kind() == HostCallKind::launch && document_.tasks.contains(call.what.task())) {
      out_.json_string(document_.tasks[call.what.task()].name);
    } else {
      out_ << '"' << kind << '"';
    }
    out_ << ",\"cat\":\"host_call\",\"args\":{\"host\":" << call.host.value()
         << ",\"call\":" << call.call << ",\"kind\":\"" << kind << '"';
    if (call.what.stream().valid()) out_ << ",\"stream\":" << call.what.stream().value();
    if (call.what.argument() != HostCall::none) out_ << ",\"argument\":" << call.what.argument();
    out_ << ",\"started_ps\":" << picoseconds(call.started)
         << ",\"ended_ps\":" << picoseconds(call.ended)
         << ",\"blocked_ps\":" << call.blocked.count() << "}}";
  }

  /// An arrow needs a slice at each end: from the last task that ended before the record to the
  /// first that started after the release.
  void write_flows() {
    if (document_.trace.flows.empty()) return;
    IdVector<StreamId, std::vector<const TaskSpan*>> spans(document_.streams.size());
    for (const TaskSpan& span : document_.trace.tasks) spans[span.stream].push_back(&span);
    for (auto& list : spans) {
      std::stable_sort(list.begin(), list.end(), [](const TaskSpan* a, const TaskSpan* b) {
        return a->started < b->started;
      });
    }
    std::uint32_t id = 0;
    for (const EventFlow& flow : document_.trace.flows) {
      SCHEDLAB_EXPECTS(spans.contains(flow.from) && spans.contains(flow.to),
                       fmt::format("event {}", flow.event.value()));
      write_flow(flow, id++, spans[flow.from], spans[flow.to]);
    }
  }

  void write_flow(const EventFlow& flow,
                  std::uint32_t id,
                  const std::vector<const TaskSpan*>& sources,
                  const std::vector<const TaskSpan*>& targets) {
    const auto after = std::upper_bound(
        sources.begin(), sources.end(), flow.recorded, [](Time time, const TaskSpan* span) {
          return time < span->ended;
        });
    std::int64_t from = picoseconds(flow.recorded);
    if (after != sources.begin()) {
      // A slice does not contain its own end, and viewers count in nanoseconds.
      const TaskSpan& source = **(after - 1);
      from = std::max(picoseconds(source.started), picoseconds(source.ended) - 1000);
    }
    const auto target = std::lower_bound(
        targets.begin(), targets.end(), flow.released, [](const TaskSpan* span, Time time) {
          return span->started < time;
        });
    const std::int64_t to =
        picoseconds(target == targets.end() ? flow.released : (*target)->started);

    next_event();
    out_ << "{\"ph\":\"s\",\"id\":" << id << ",\"name\":\"event\",\"cat\":\"event\",\"pid\":"
         << process_of(document_.streams[flow.from].device) << ",\"tid\":" << thread_of(flow.from)
         << ",\"ts\":";
    out_.microseconds(from) << ",\"args\":{\"event\":" << flow.event.value()
                            << ",\"from\":" << flow.from.value() << ",\"to\":" << flow.to.value()
                            << ",\"recorded_ps\":" << picoseconds(flow.recorded)
                            << ",\"released_ps\":" << picoseconds(flow.released) << "}}";
    next_event();
    out_ << "{\"ph\":\"f\",\"bp\":\"e\",\"id\":" << id
         << ",\"name\":\"event\",\"cat\":\"event\",\"pid\":"
         << process_of(document_.streams[flow.to].device) << ",\"tid\":" << thread_of(flow.to)
         << ",\"ts\":";
    out_.microseconds(to) << '}';
  }

  /// As asynchronous spans, which may overlap on one track: that of the sending host.
  void write_messages() {
    if (document_.trace.messages.empty()) return;
    const auto network = host_process + 1 + static_cast<std::uint32_t>(document_.devices.size());
    track("process", network, 0, "network", network);
    std::uint32_t id = 0;
    for (const MessageSpan& span : document_.trace.messages) {
      SCHEDLAB_EXPECTS(document_.hosts.contains(span.from) && document_.hosts.contains(span.to),
                       fmt::format("message {}", span.message));
      const auto half = [&](char phase, Time at) {
        next_event();
        out_ << "{\"ph\":\"" << phase << "\",\"id\":" << id << ",\"cat\":\"message\",\"name\":";
        out_.json_string(
            fmt::format("{} to {}", document_.hosts[span.from], document_.hosts[span.to]))
            << ",\"pid\":" << network << ",\"tid\":" << thread_of(span.from) << ",\"ts\":";
        out_.microseconds(picoseconds(at));
      };
      half('b', span.left);
      out_ << ",\"args\":{\"message\":" << span.message << ",\"from\":" << span.from.value()
           << ",\"to\":" << span.to.value() << ",\"bytes\":" << span.bytes.count()
           << ",\"left_ps\":" << picoseconds(span.left)
           << ",\"arrived_ps\":" << picoseconds(span.arrived) << "}}";
      half('e', span.arrived);
      out_ << '}';
      ++id;
    }
  }

  void write_counter(double picosecond, double utilization, double running) {
    const auto at = static_cast<std::int64_t>(picosecond);
    const std::uint32_t process = host_process + 1;
    next_event();
    out_ << "{\"ph\":\"C\",\"name\":\"utilization\",\"pid\":" << process << ",\"ts\":";
    out_.microseconds(at) << ",\"args\":{\"percent\":";
    out_.rounded(100 * utilization, 3) << "}}";
    next_event();
    out_ << "{\"ph\":\"C\",\"name\":\"running tasks\",\"pid\":" << process << ",\"ts\":";
    out_.microseconds(at) << ",\"args\":{\"tasks\":";
    out_.rounded(running, 3) << "}}";
  }

  void write_counters() {
    const std::vector<UtilizationPoint> points = utilization_over_time(document_);
    if (points.size() <= max_counter_points) {
      for (const UtilizationPoint& point : points) {
        write_counter(static_cast<double>(picoseconds(point.at)), point.utilization, point.running);
      }
      return;
    }
    const std::vector<UtilizationSlice> slices = utilization_in_slices(points, max_counter_points);
    const double width = static_cast<double>(picoseconds(document_.trace.ended)) /
                         static_cast<double>(max_counter_points);
    for (std::size_t i = 0; i < slices.size(); ++i) {
      write_counter(static_cast<double>(i) * width, slices[i].utilization, slices[i].running);
    }
  }

  void write_memory_counter(DeviceId device, double picosecond, Bytes held) {
    next_event();
    out_ << "{\"ph\":\"C\",\"name\":\"memory\",\"pid\":" << process_of(device) << ",\"ts\":";
    out_.microseconds(static_cast<std::int64_t>(picosecond))
        << ",\"args\":{\"bytes\":" << held.count() << "}}";
  }

  void write_memory(DeviceId device, const DeviceMemory& memory) {
    if (memory.curve.size() <= max_counter_points) {
      for (const MemoryPoint& point : memory.curve) {
        write_memory_counter(device, static_cast<double>(picoseconds(point.at)), point.held);
      }
      return;
    }
    const auto slices = memory_in_slices(memory.curve, document_.trace.ended, max_counter_points);
    const double width = static_cast<double>(picoseconds(document_.trace.ended)) /
                         static_cast<double>(max_counter_points);
    for (std::size_t i = 0; i < slices.size(); ++i) {
      write_memory_counter(device, static_cast<double>(i) * width, slices[i]);
    }
  }

  const TraceDocument& document_;
  const TextSink& sink_;
  std::span<const DeviceMemory> memory_;
  TextBuffer out_;
  double share_ = 0;
  TextBuffer share_text_;
  bool first_event_ = true;
};

}  // namespace

void write_chrome_json(const TraceDocument& document,
                       const TextSink& sink,
                       std::span<const DeviceMemory> memory) {
  Writer{document, sink, memory}.write();
}

std::string chrome_json(const TraceDocument& document, std::span<const DeviceMemory> memory) {
  std::string text;
  write_chrome_json(
      document, [&text](std::string_view piece) { text.append(piece); }, memory);
  return text;
}

}  // namespace schedlab
