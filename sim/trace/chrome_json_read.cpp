// SPDX-License-Identifier: Apache-2.0
#include "sim/base/error.hpp"
#include "sim/trace/chrome_json.hpp"

#include <fmt/format.h>
#include <simdjson.h>

#include <algorithm>
#include <cstdint>
#include <limits>
#include <optional>

namespace schedlab {

namespace {

namespace json = simdjson::ondemand;

constexpr std::string_view our_trace = "a trace written by schedlab";
constexpr double max_share =
    1000.0;  // assumed: beyond any estimate, and sums of shares stay within 64 bits

/// simdjson speaks to those who call it, not to those who wrote the file.
std::string in_words(simdjson::error_code error) {
  switch (error) {
    case simdjson::NO_SUCH_FIELD:
      return "no field that is needed";
    case simdjson::EMPTY:
      return "an empty file";
    case simdjson::INCORRECT_TYPE:
    case simdjson::NUMBER_OUT_OF_RANGE:
    case simdjson::NUMBER_ERROR:
      return "a value of another kind";
    default:
      return "something that is no JSON, or ends early";
  }
}

class Reader {
 public:
  Reader(std::string_view text, const std::string& file) : file_(file), padded_(text) {}

  [[nodiscard]] TraceDocument read() {
    try {
      json::document root = parser_.iterate(padded_);
      where_ = "";
      read_document_facts(root["otherData"].get_object());
      for (auto event : root["traceEvents"].get_array()) {
        read_event(event.get_object());
        ++event_;
      }
    } catch (const simdjson::simdjson_error& error) {
      fail(in_words(error.error()), std::string{our_trace});
    }
    expect_all_labels();
    expect_times();
    return std::move(document_);
  }

 private:
  [[noreturn]] void fail(std::string found, std::string expected) const {
    const std::string pointer =
        in_events_ ? fmt::format("/traceEvents/{}{}", event_, where_) : std::string{where_};
    throw InputError({.file = file_,
                      .pointer = pointer,
                      .found = std::move(found),
                      .expected = std::move(expected),
                      .hint = "only files named trace.json from simulate or execute can be read"});
  }

  [[nodiscard]] static std::string text(simdjson::simdjson_result<json::value> value) {
    return std::string{std::string_view{value.get_string()}};
  }

  /// An index below `size`.
  template <class Id>
  [[nodiscard]] Id id(simdjson::simdjson_result<json::value> value,
                      std::size_t size,
                      std::string_view what) {
    const std::uint64_t index = value.get_uint64();
    if (index >= size) fail(fmt::format("{} {}", what, index), fmt::format("less than {}", size));
    return Id{static_cast<std::uint32_t>(index)};
  }

  [[nodiscard]] static Time time(simdjson::simdjson_result<json::value> value) {
    return Time{Duration{std::int64_t{value.get_int64()}}};
  }

  void read_document_facts(json::object facts) {
    where_ = "/otherData/schedlab";
    if (text(facts["schedlab"]) != "trace") fail("another kind of file", std::string{our_trace});
    where_ = "/otherData/version";
    if (const std::int64_t version = facts["version"].get_int64(); version != 1) {
      fail(fmt::format("version {}", version), "version 1");
    }
    where_ = "/otherData";
    document_.title = text(facts["title"]);
    document_.origin = text(facts["origin"]);
    document_.policy = text(facts["policy"]);
    document_.machine = text(facts["machine"]);
    document_.trace.ended = time(facts["ended_ps"]);
    const std::uint64_t tasks = facts["tasks"].get_uint64();
    // Every task takes more than ten bytes somewhere in the file.
    if (tasks > padded_.size() / 10) {
      fail(fmt::format("{} tasks", tasks), "no more than fit in the file");
    }
    document_.tasks.resize(tasks);
    has_label_.resize(tasks, 0);
    for (auto name : facts["devices"].get_array()) document_.devices.push_back(text(name));
    for (auto name : facts["hosts"].get_array()) document_.hosts.push_back(text(name));
    for (auto stream : facts["streams"].get_array()) read_stream(stream.get_object());
    for (auto entry : facts["not_run"].get_array()) {
      json::object label = entry.get_object();
      const auto task = id<TaskId>(label["task"], document_.tasks.size(), "task");
      std::string name = text(label["name"]);
      const std::string kind = text(label["cat"]);
      read_label(task, std::move(name), kind, label);
    }
  }

  void read_stream(json::object stream) {
    StreamSpec spec;
    spec.device = id<DeviceId>(stream["device"], document_.devices.size(), "device");
    const std::int64_t priority = stream["priority"].get_int64();
    if (priority < std::numeric_limits<int>::min() || priority > std::numeric_limits<int>::max()) {
      fail(fmt::format("priority {}", priority), "a 32-bit integer");
    }
    spec.priority = static_cast<int>(priority);
    spec.name = text(stream["name"]);
    document_.streams.push_back(std::move(spec));
    if (auto units = stream["units"]; units.error() == simdjson::SUCCESS) {
      const auto count = [this](simdjson::simdjson_result<json::value> value) {
        const std::uint64_t given = value.get_uint64();
        if (given > std::numeric_limits<std::uint32_t>::max()) {
          fail(fmt::format("{} units", given), "a 32-bit number");
        }
        return static_cast<std::uint32_t>(given);
      };
      const std::uint32_t part = count(units);
      document_.unit_parts.push_back({part, count(stream["device_units"])});
    }
    if (!document_.unit_parts.empty() && document_.unit_parts.size() != document_.streams.size()) {
      fail("streams with units and streams without", "units of all streams, or of none");
    }
  }

  /// The fields that tasks have whether they ran or not, in the order in which they are written.
  void read_label(TaskId task, std::string name, const std::string& kind, json::object& fields) {
    TaskLabel& label = document_.tasks[task];
    if (has_label_[task] != 0) fail(fmt::format("task {} twice", task.value()), "once");
    has_label_[task] = 1;
    const auto& kinds = enum_names<TaskKind>();
    if (std::find(kinds.begin(), kinds.end(), kind) == kinds.end()) {
      fail(fmt::format("kind \"{}\"", kind), fmt::format("one of {}", fmt::join(kinds, ", ")));
    }
    label.name = std::move(name);
    label.kind = enum_value<TaskKind>(kind);
    label.operation = text(fields["operation"]);
    label.critical = fields["critical"].get_bool();
    label.share = fields["share"].get_double();
    // A measured task that was faster than its estimate has more than 1.
    if (!(label.share >= 0.0 && label.share <= max_share)) {
      fail(fmt::format("share {}", label.share), fmt::format("0 to {}", max_share));
    }
  }

  void read_event(json::object event) {
    in_events_ = true;
    where_ = "/ph";
    const std::string_view phase = event["ph"].get_string();
    if (phase == "X") {
      where_ = "/name";
      std::string name = text(event["name"]);
      where_ = "/cat";
      const std::string category = text(event["cat"]);
      if (category != "host_call") {
        json::object fields = event["args"].get_object();
        read_task(std::move(name), category, fields);
        return;
      }
      where_ = "/args";
      json::object fields = event["args"].get_object();
      read_call(fields);
    } else if (phase == "s") {
      where_ = "/args";
      json::object fields = event["args"].get_object();
      read_flow(fields);
    } else if (phase == "b") {
      where_ = "/args";
      json::object fields = event["args"].get_object();
      read_message(fields);
    }
    // Metadata, counters and the heads of arrows say nothing new.
  }

  void read_task(std::string name, const std::string& kind, json::object& fields) {
    where_ = "/args";
    TaskSpan span;
    span.task = id<TaskId>(fields["task"], document_.tasks.size(), "task");
    read_label(span.task, std::move(name), kind, fields);
    span.host = id<HostId>(fields["host"], document_.hosts.size(), "host");
    span.stream = id<StreamId>(fields["stream"], document_.streams.size(), "stream");
    span.device = id<DeviceId>(fields["device"], document_.devices.size(), "device");
    span.submitted = time(fields["submitted_ps"]);
    span.started = time(fields["started_ps"]);
    span.ended = time(fields["ended_ps"]);
    expect_order(span.started, span.ended);
    document_.trace.tasks.push_back(span);
  }

  void read_call(json::object& fields) {
    HostSpan span;
    span.host = id<HostId>(fields["host"], document_.hosts.size(), "host");
    span.call = id<StreamId>(fields["call"], HostCall::none, "call").value();
    const std::string kind = text(fields["kind"]);
    StreamId stream;
    if (auto value = fields["stream"]; value.error() == simdjson::SUCCESS) {
      stream = id<StreamId>(value, document_.streams.size(), "stream");
    }
    std::uint32_t argument = HostCall::none;
    if (auto value = fields["argument"]; value.error() == simdjson::SUCCESS) {
      argument = id<StreamId>(value, HostCall::none, "argument").value();
    }
    span.what = host_call(kind, stream, argument);
    expect_arguments(span.what);
    span.started = time(fields["started_ps"]);
    span.ended = time(fields["ended_ps"]);
    span.blocked = time(fields["blocked_ps"]).time_since_epoch();
    expect_order(span.started, span.ended);
    if (span.blocked < Duration{0} || span.blocked > span.ended - span.started) {
      fail(fmt::format("blocked_ps {}", span.blocked.count()), "0 to the length of the call");
    }
    document_.trace.hosts.push_back(span);
  }

  [[nodiscard]] HostCall host_call(const std::string& word,
                                   StreamId stream,
                                   std::uint32_t argument) const {
    const std::optional<HostCallKind> kind = enum_from<HostCallKind>(word);
    if (!kind) fail(fmt::format("call \"{}\"", word), "a kind of host call");
    switch (*kind) {
      case HostCallKind::create_stream:
        return HostCall::create_stream(stream);
      case HostCallKind::destroy_stream:
        return HostCall::destroy_stream(stream);
      case HostCallKind::launch:
        return HostCall::launch(stream, TaskId{argument});
      case HostCallKind::record:
        return HostCall::record(stream, EventId{argument});
      case HostCallKind::wait:
        return HostCall::wait(stream, EventId{argument});
      case HostCallKind::query:
        return argument == HostCall::none ? HostCall::query(stream)
                                          : HostCall::answered_query(stream, argument == 1);
      case HostCallKind::sleep:
        return HostCall::sleep_ns(argument);
      case HostCallKind::synchronize:
        if (stream.valid()) return HostCall::synchronize_stream(stream);
        return HostCall::synchronize_event(EventId{argument});  // no event: everything
      case HostCallKind::graph_load:
        return HostCall::graph_load(argument);
      case HostCallKind::graph_launch:
        return HostCall::graph_launch(stream, argument);
      case HostCallKind::send:
        return HostCall::send(argument);
      case HostCallKind::receive:
        return HostCall::receive(argument);
      case HostCallKind::isend:
        return HostCall::isend(argument);
      case HostCallKind::irecv:
        return HostCall::irecv(argument);
      case HostCallKind::wait_message:
        return HostCall::wait_message(argument);
    }
    return {};
  }

  void expect_order(Time started, Time ended) const {
    if (started < Time{}) fail("a start before the run", "started_ps >= 0");
    if (ended < started) fail("an end before the start", "started_ps <= ended_ps");
  }

  /// That a call says what it is about.
  void expect_arguments(HostCall call) const {
    const HostCallKind kind = call.kind();
    const bool into_stream = kind == HostCallKind::create_stream ||
                             kind == HostCallKind::destroy_stream || kind == HostCallKind::launch ||
                             kind == HostCallKind::record || kind == HostCallKind::wait ||
                             kind == HostCallKind::query || kind == HostCallKind::graph_launch;
    if (into_stream && !call.stream().valid()) {
      fail(fmt::format("a {} without a stream", to_string(kind)), "a stream");
    }
    const bool of_something = kind == HostCallKind::launch || kind == HostCallKind::record ||
                              kind == HostCallKind::wait || kind == HostCallKind::graph_load ||
                              kind == HostCallKind::graph_launch || concerns_message(kind);
    if (of_something && call.argument() == HostCall::none) {
      fail(fmt::format("a {} without an argument", to_string(kind)), "an argument");
    }
    if (kind == HostCallKind::launch && call.task().value() >= document_.tasks.size()) {
      fail(fmt::format("a launch of task {}", call.task().value()),
           fmt::format("less than {}", document_.tasks.size()));
    }
  }

  void read_flow(json::object& fields) {
    EventFlow flow;
    flow.event = id<EventId>(fields["event"], HostCall::none, "event");
    flow.from = id<StreamId>(fields["from"], document_.streams.size(), "stream");
    flow.to = id<StreamId>(fields["to"], document_.streams.size(), "stream");
    flow.recorded = time(fields["recorded_ps"]);
    flow.released = time(fields["released_ps"]);
    document_.trace.flows.push_back(flow);
  }

  void read_message(json::object& fields) {
    MessageSpan span;
    span.message = id<StreamId>(fields["message"], HostCall::none, "message").value();
    span.from = id<HostId>(fields["from"], document_.hosts.size(), "host");
    span.to = id<HostId>(fields["to"], document_.hosts.size(), "host");
    span.bytes = Bytes{std::int64_t{fields["bytes"].get_int64()}};
    span.left = time(fields["left_ps"]);
    span.arrived = time(fields["arrived_ps"]);
    if (span.arrived < span.left) fail("an arrival before it left", "left_ps <= arrived_ps");
    document_.trace.messages.push_back(span);
  }

  void expect_all_labels() {
    in_events_ = false;
    where_ = "/otherData/tasks";
    for (const TaskId task : has_label_.ids()) {
      if (has_label_[task] == 0) {
        fail(fmt::format("task {} nowhere", task.value()), "every task in traceEvents or not_run");
      }
    }
  }

  /// That the run lasts as long as what it holds.
  void expect_times() {
    in_events_ = false;
    where_ = "/otherData/ended_ps";
    const Trace& trace = document_.trace;
    Time last{};
    for (const TaskSpan& span : trace.tasks) last = std::max(last, span.ended);
    for (const HostSpan& call : trace.hosts) last = std::max(last, call.ended);
    if (trace.ended < last) {
      fail(fmt::format("{}", trace.ended.time_since_epoch().count()),
           fmt::format("at least {}, the end of the last event", last.time_since_epoch().count()));
    }
  }

  const std::string& file_;
  simdjson::padded_string padded_;
  json::parser parser_;
  TraceDocument document_;
  IdVector<TaskId, std::uint8_t> has_label_;
  std::string_view where_;
  std::size_t event_ = 0;
  bool in_events_ = false;
};

}  // namespace

TraceDocument read_chrome_json(std::string_view text, const std::string& file) {
  return Reader{text, file}.read();
}

}  // namespace schedlab
