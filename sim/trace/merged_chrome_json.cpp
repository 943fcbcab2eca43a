// SPDX-License-Identifier: Apache-2.0
#include "sim/trace/merged_chrome_json.hpp"

#include "sim/base/error.hpp"
#include "sim/trace/text_buffer.hpp"

#include <fmt/format.h>

#include <cstdint>
#include <string_view>

namespace schedlab {

namespace {

constexpr std::size_t sink_bytes = std::size_t{1} << 20U;
constexpr std::uint32_t first_stream_track = 1000;  // behind the host threads

class MergedWriter {
 public:
  explicit MergedWriter(const TextSink& sink) : sink_(sink) {}

  void begin(const TraceDocument& simulated, const TraceDocument& measured) {
    out_
        << "{\"displayTimeUnit\":\"ns\",\"otherData\":{\"schedlab\":\"merged_trace\",\"version\":1,"
           "\"title\":";
    out_.json_string(simulated.title) << ",\"makespan_us\":{\"first\":";
    out_.microseconds(simulated.trace.makespan().count()) << ",\"second\":";
    out_.microseconds(measured.trace.makespan().count()) << "}},\"traceEvents\":[";
  }

  /// `reference`: spans of the other run by task; empty for the first.
  void add(const TraceDocument& document,
           std::uint32_t process,
           const IdVector<TaskId, const TaskSpan*>& reference) {
    add_tracks(document, process);
    for (const TaskSpan& span : document.trace.tasks) {
      SCHEDLAB_EXPECTS(document.tasks.contains(span.task),
                       fmt::format("task {}", span.task.value()));
      SCHEDLAB_EXPECTS(document.streams.contains(span.stream), document.tasks[span.task].name);
      const TaskLabel& label = document.tasks[span.task];
      slice(process, first_stream_track + span.stream.value(), span.started, span.ended);
      out_ << ",\"name\":";
      out_.json_string(label.name)
          << ",\"cat\":\"" << to_string(label.kind) << "\",\"args\":{\"task\":" << span.task.value()
          << ",\"operation\":";
      out_.json_string(label.operation) << ",\"submitted_us\":";
      out_.microseconds(span.submitted.time_since_epoch().count());
      const TaskSpan* other = reference.contains(span.task) ? reference[span.task] : nullptr;
      if (other != nullptr) {
        out_ << ",\"started_later_us\":";
        out_.microseconds((span.started - other->started).count()) << ",\"took_longer_us\":";
        out_.microseconds((span.duration() - other->duration()).count());
      }
      out_ << "}}";
    }
    for (const HostSpan& call : document.trace.hosts) add_call(document, process, call);
  }

  void end() {
    out_ << "\n]}\n";
    sink_(out_.text());
    out_.clear();
  }

 private:
  void event() {
    if (out_.size() >= sink_bytes) {
      sink_(out_.text());
      out_.clear();
    }
    out_ << (first_ ? "\n" : ",\n");
    first_ = false;
  }

  void name(std::string_view what,
            std::uint32_t process,
            std::uint32_t thread,
            std::string_view text) {
    event();
    out_ << "{\"ph\":\"M\",\"name\":\"" << what << "_name\",\"pid\":" << process
         << ",\"tid\":" << thread << ",\"args\":{\"name\":";
    out_.json_string(text) << "}}";
    event();
    out_ << "{\"ph\":\"M\",\"name\":\"" << what << "_sort_index\",\"pid\":" << process
         << ",\"tid\":" << thread
         << ",\"args\":{\"sort_index\":" << (what == "process" ? process : thread) << "}}";
  }

  void add_tracks(const TraceDocument& document, std::uint32_t process) {
    name("process", process, 0, document.origin);
    for (const HostId host : document.hosts.ids()) {
      name("thread", process, host.value() + 1, document.hosts[host]);
    }
    for (const StreamId stream : document.streams.ids()) {
      const StreamSpec& spec = document.streams[stream];
      std::string text = spec.name.empty() ? fmt::format("stream {}", stream.value()) : spec.name;
      if (document.devices.size() > 1 && document.devices.contains(spec.device)) {
        text = fmt::format("{} {}", document.devices[spec.device], text);
      }
      if (spec.priority != 0) text += fmt::format(" (priority {})", spec.priority);
      name("thread", process, first_stream_track + stream.value(), text);
    }
  }

  void slice(std::uint32_t process, std::uint32_t thread, Time from, Time to) {
    event();
    out_ << "{\"ph\":\"X\",\"pid\":" << process << ",\"tid\":" << thread << ",\"ts\":";
    out_.microseconds(from.time_since_epoch().count()) << ",\"dur\":";
    out_.microseconds((to - from).count());
  }

  void add_call(const TraceDocument& document, std::uint32_t process, const HostSpan& call) {
    SCHEDLAB_EXPECTS(document.hosts.contains(call.host), fmt::format("call {}", call.call));
    slice(process, call.host.value() + 1, call.started, call.ended);
    const bool names_task =
        call.what.kind() == HostCallKind::launch && document.tasks.contains(call.what.task());
    out_ << ",\"name\":";
    out_.json_string(names_task ? std::string_view{document.tasks[call.what.task()].name}
                                : to_string(call.what.kind()))
        << ",\"cat\":\"host_call\",\"args\":{\"kind\":\"" << to_string(call.what.kind())
        << "\",\"blocked_us\":";
    out_.microseconds(call.blocked.count()) << "}}";
  }

  const TextSink& sink_;
  TextBuffer out_;
  bool first_ = true;
};

}  // namespace

void write_merged_chrome_json(const TraceDocument& simulated,
                              const TraceDocument& measured,
                              const TextSink& sink) {
  MergedWriter writer(sink);
  writer.begin(simulated, measured);
  writer.add(simulated, 1, {});
  IdVector<TaskId, const TaskSpan*> reference(simulated.tasks.size(), nullptr);
  for (const TaskSpan& span : simulated.trace.tasks) reference[span.task] = &span;
  writer.add(measured, 2, reference);
  writer.end();
}

std::string merged_chrome_json(const TraceDocument& simulated, const TraceDocument& measured) {
  std::string text;
  write_merged_chrome_json(simulated, measured, [&](std::string_view piece) { text += piece; });
  return text;
}

}  // namespace schedlab
