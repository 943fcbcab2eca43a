// SPDX-License-Identifier: Apache-2.0
#include "sim/base/error.hpp"
#include "sim/base/json_document.hpp"
#include "sim/plan/plan_json.hpp"
#include "sim/plan/plan_json_names.hpp"

#include <fmt/format.h>

#include <limits>

namespace schedlab {
namespace {

using nlohmann::json;

constexpr const char* of_its_graph =
    "a plan belongs to the graph that it was made for: of one run, and of one granularity";
constexpr std::uint64_t index_limit = 0xFFFFFFFEU;  // the largest number an id may have

/// Where in the document we are; the text is made only when something is wrong.
struct Call {
  std::uint32_t host = 0;
  std::size_t index = 0;
  [[nodiscard]] std::string pointer() const {
    return fmt::format("/hosts/{}/calls/{}", host, index);
  }
};

class Reader : private JsonDocument {
 public:
  Reader(std::string_view text, const TaskGraph& graph, const std::string& file)
      : JsonDocument(file), text_(text), graph_(graph), names_(graph) {}

  Plan read() {
    // Streams one by one: a million of them as JSON values would take half a gigabyte.
    bool in_streams = false;
    const json document = parse(text_, [&](int depth, json::parse_event_t event, json& value) {
      using Event = json::parse_event_t;
      if (depth == 1 && event == Event::key) {
        in_streams = value == "streams";
        if (in_streams) plan_.streams = {};  // of a key that is there twice the last one counts
      }
      const bool whole =
          event == Event::object_end || event == Event::array_end || event == Event::value;
      if (!in_streams || depth != 2 || !whole) return true;
      read_stream(value);
      return false;
    });
    expect_keys(document,
                "",
                {"schedlab",
                 "version",
                 "policy",
                 "streams",
                 "partitions",
                 "events",
                 "messages",
                 "graphs",
                 "hosts"});
    if (at(document, "", "schedlab") != "plan") {
      fail("/schedlab", shown(document["schedlab"]), "\"plan\"");
    }
    if (at(document, "", "version") != 1) fail("/version", shown(document["version"]), "1");
    plan_.policy = text_at(document, "", "policy");
    static_cast<void>(array_at(document, "", "streams"));  // there, and read
    plan_.event_count = static_cast<std::uint32_t>(number_at(document, "", "events", index_limit));
    if (document.contains("partitions")) {
      const json& partitions = array_at(document, "", "partitions");
      for (std::size_t i = 0; i < partitions.size(); ++i) {
        plan_.partitions.push_back(whole_number(partitions[i], fmt::format("/partitions/{}", i)));
      }
    }
    const json& hosts = array_at(document, "", "hosts");
    host_count_ = hosts.size();
    read_messages(array_at(document, "", "messages"));
    if (document.contains("graphs")) read_graphs(array_at(document, "", "graphs"));
    read_hosts(hosts);
    return std::move(plan_);
  }

 private:
  void read_stream(const json& stream) {
    if (plan_.streams.size() == HostCall::max_streams) {
      fail("/streams", "more streams", fmt::format("at most {}", HostCall::max_streams));
    }
    const std::string pointer = fmt::format("/streams/{}", plan_.streams.size());
    expect_keys(
        stream, pointer, {"name", "device", "priority", "legacy_default", "blocking", "partition"});
    StreamSpec spec;
    spec.name = text_at(stream, pointer, "name");
    spec.device =
        DeviceId{static_cast<std::uint32_t>(number_at(stream, pointer, "device", index_limit))};
    const json& priority = at(stream, pointer, "priority");
    constexpr std::int64_t most = std::numeric_limits<std::int32_t>::max();
    if (!priority.is_number_integer() || priority.get<std::int64_t>() > most ||
        priority.get<std::int64_t>() < -most) {
      fail(
          pointer + "/priority", shown(priority), "a whole number (0 = lowest, negative = urgent)");
    }
    spec.priority = static_cast<int>(priority.get<std::int64_t>());
    if (stream.contains("partition")) {
      spec.partition = whole_number(stream["partition"], pointer + "/partition");
    }
    read_sync(stream, pointer, spec);
    plan_.streams.push_back(std::move(spec));
  }

  /// false where it is absent.
  bool flag_at(const json& object, const std::string& pointer, const char* key) const {
    if (!object.contains(key)) return false;
    if (!object[key].is_boolean()) fail(pointer + "/" + key, shown(object[key]), "true or false");
    return object[key].get<bool>();
  }
  [[nodiscard]] std::uint32_t whole_number(const json& value, const std::string& pointer) const {
    if (!value.is_number_unsigned() || value.get<std::uint64_t>() > index_limit) {
      fail(pointer, shown(value), fmt::format("a whole number from 0 to {}", index_limit));
    }
    return static_cast<std::uint32_t>(value.get<std::uint64_t>());
  }

  void read_sync(const json& stream, const std::string& pointer, StreamSpec& spec) {
    const bool blocking = flag_at(stream, pointer, "blocking");
    if (blocking) spec.sync = StreamSync::blocking;
    if (!flag_at(stream, pointer, "legacy_default")) return;
    const std::string place = pointer + "/legacy_default";
    if (blocking) fail(place, "true", "either legacy_default or blocking, not both");
    if (spec.priority != 0) {
      fail(pointer + "/priority",
           fmt::format("{}", spec.priority),
           "0: the legacy default stream has no other priority");
    }
    for (const StreamId other : plan_.streams.ids()) {
      const bool same = plan_.streams[other].sync == StreamSync::legacy_default &&
                        plan_.streams[other].device == spec.device;
      if (!same) continue;
      fail(place,
           "true",
           fmt::format("at most one of a device; stream {} is that of device {}",
                       other.value(),
                       spec.device.value()));
    }
    spec.sync = StreamSync::legacy_default;
  }

  void read_messages(const json& messages) {
    constexpr auto max_bytes = static_cast<std::uint64_t>(std::numeric_limits<std::int64_t>::max());
    const auto host = [&](const json& message, const std::string& pointer, const char* key) {
      const std::uint64_t number = number_at(message, pointer, key, index_limit);
      if (number >= host_count_) {
        fail(pointer + "/" + key,
             fmt::format("host {}", number),
             fmt::format("a host of this plan, 0 to {}",
                         static_cast<std::int64_t>(host_count_) - 1));
      }
      return HostId{static_cast<std::uint32_t>(number)};
    };
    for (std::size_t i = 0; i < messages.size(); ++i) {
      const std::string pointer = fmt::format("/messages/{}", i);
      expect_keys(messages[i], pointer, {"from", "to", "bytes", "one_sided"});
      MessageSpec spec;
      spec.from = host(messages[i], pointer, "from");
      spec.to = host(messages[i], pointer, "to");
      spec.bytes =
          Bytes{static_cast<std::int64_t>(number_at(messages[i], pointer, "bytes", max_bytes))};
      if (messages[i].contains("one_sided")) {
        spec.one_sided = one_sided_of(messages[i]["one_sided"], pointer + "/one_sided");
      }
      plan_.messages.push_back(spec);
    }
  }

  [[nodiscard]] OneSided one_sided_of(const json& value, const std::string& pointer) const {
    if (value.is_boolean() && value.get<bool>()) return OneSided::put;  // older files
    const auto found = enum_from<OneSided>(value.is_string() ? value.get<std::string>() : "");
    if (!found || *found == OneSided::none) fail(pointer, shown(value), "\"put\" or \"get\"");
    return *found;
  }

  void read_graphs(const json& graphs) {
    for (std::size_t i = 0; i < graphs.size(); ++i) {
      const std::string pointer = fmt::format("/graphs/{}", i);
      expect_keys(graphs[i], pointer, {"name", "node_priorities", "nodes", "launches"});
      DeviceGraph graph;
      graph.name = text_at(graphs[i], pointer, "name");
      const json& priorities = at(graphs[i], pointer, "node_priorities");
      if (!priorities.is_boolean()) {
        fail(pointer + "/node_priorities", shown(priorities), "true or false");
      }
      graph.node_priorities = priorities.get<bool>();
      for (const json& node : array_at(graphs[i], pointer, "nodes")) {
        read_node(node, fmt::format("{}/nodes/{}", pointer, graph.node_count()), graph);
      }
      if (graph.node_count() == 0) fail(pointer + "/nodes", "[]", "at least one node");
      for (const json& tasks : array_at(graphs[i], pointer, "launches")) {
        read_launch(tasks, fmt::format("{}/launches/{}", pointer, graph.launch_count()), graph);
      }
      plan_.graphs.push_back(std::move(graph));
    }
  }

  void read_node(const json& node, const std::string& pointer, DeviceGraph& graph) const {
    expect_keys(node, pointer, {"stream", "needs", "programmatic"});
    const auto limited = [&](const json& value, const std::string& place, std::size_t count) {
      if (!value.is_number_unsigned() || value.get<std::uint64_t>() >= count) {
        fail(pointer + place,
             shown(value),
             fmt::format("a whole number from 0 to {}", static_cast<std::int64_t>(count) - 1));
      }
      return static_cast<std::uint32_t>(value.get<std::uint64_t>());
    };
    const StreamId on{limited(at(node, pointer, "stream"), "/stream", plan_.streams.size())};
    std::vector<std::uint32_t> needs;
    for (const json& need : array_at(node, pointer, "needs")) {
      if (graph.node_count() == 0) {
        fail(pointer + "/needs", shown(need), "no needs: it is the first node");
      }
      needs.push_back(limited(need, fmt::format("/needs/{}", needs.size()), graph.node_count()));
    }
    const bool programmatic = node.contains("programmatic") && node["programmatic"] == true;
    if (node.contains("programmatic") && !programmatic) {
      fail(pointer + "/programmatic", shown(node["programmatic"]), "true, or no such key");
    }
    if (programmatic && needs.size() != 1) {
      fail(pointer + "/programmatic",
           "true",
           fmt::format("exactly one need for it, not {}", needs.size()));
    }
    graph.add_node(on, std::move(needs), programmatic);
  }

  void read_launch(const json& tasks, const std::string& pointer, DeviceGraph& graph) const {
    if (!tasks.is_array() || tasks.size() != graph.node_count()) {
      fail(pointer, shown(tasks), fmt::format("{} tasks, one per node", graph.node_count()));
    }
    std::vector<TaskId> row;
    row.reserve(tasks.size());
    for (const json& value : tasks) {
      row.push_back(task(value, [&] { return fmt::format("{}/{}", pointer, row.size()); }));
    }
    graph.add_launch(row);
  }

  void read_hosts(const json& hosts) {
    plan_.hosts.clear();
    for (std::uint32_t h = 0; h < hosts.size(); ++h) {
      const std::string pointer = fmt::format("/hosts/{}", h);
      expect_keys(hosts[h], pointer, {"name", "calls"});
      HostProgram program;
      program.name = text_at(hosts[h], pointer, "name");
      const json& calls = array_at(hosts[h], pointer, "calls");
      program.calls.reserve(calls.size());
      for (std::size_t i = 0; i < calls.size(); ++i) {
        program.calls.push_back(read_call(calls[i], {h, i}));
      }
      plan_.hosts.push_back(std::move(program));
    }
  }

  [[nodiscard]] HostCall read_call(const json& call, Call where) const {
    if (!call.is_array() || call.empty() || !call[0].is_string()) {
      fail(where.pointer(),
           shown(call),
           "an array that starts with a call, as [\"launch\", 0, \"cell(3,9)\"]");
    }
    const auto& word = call[0].get_ref<const std::string&>();
    const auto kind = enum_from<HostCallKind>(word);
    if (!kind) unknown_call(word, where);
    switch (*kind) {
      case HostCallKind::create_stream:
        expect_size(call, where, 2, 2, "[\"create_stream\", STREAM]");
        return HostCall::create_stream(stream(call[1], where, "/1"));
      case HostCallKind::destroy_stream:
        expect_size(call, where, 2, 2, "[\"destroy_stream\", STREAM]");
        return HostCall::destroy_stream(stream(call[1], where, "/1"));
      case HostCallKind::launch:
        expect_size(call, where, 3, 4, "[\"launch\", STREAM, TASK]");
        if (call.size() == 4 && call[3] != "programmatic") {
          fail(where.pointer() + "/3", shown(call[3]), "\"programmatic\", or nothing");
        }
        return HostCall::launch(stream(call[1], where, "/1"),
                                task(call[2], [&] { return where.pointer() + "/2"; }),
                                call.size() == 4);
      case HostCallKind::record:
        expect_size(call, where, 3, 3, "[\"record\", STREAM, EVENT]");
        return HostCall::record(stream(call[1], where, "/1"), event(call[2], where, "/2"));
      case HostCallKind::wait:
        expect_size(call, where, 3, 3, "[\"wait\", STREAM, EVENT]");
        return HostCall::wait(stream(call[1], where, "/1"), event(call[2], where, "/2"));
      case HostCallKind::query:
        return read_query(call, where);
      case HostCallKind::sleep:
        return read_sleep(call, where);
      case HostCallKind::synchronize:
        return read_synchronize(call, where);
      case HostCallKind::send:
        expect_size(call, where, 2, 2, "[\"send\", MESSAGE]");
        return HostCall::send(index(call[1], where, "/1", "message", plan_.messages.size()));
      case HostCallKind::receive:
        expect_size(call, where, 2, 2, "[\"receive\", MESSAGE]");
        return HostCall::receive(index(call[1], where, "/1", "message", plan_.messages.size()));
      case HostCallKind::isend:
        expect_size(call, where, 2, 2, "[\"isend\", MESSAGE]");
        return HostCall::isend(index(call[1], where, "/1", "message", plan_.messages.size()));
      case HostCallKind::irecv:
        expect_size(call, where, 2, 2, "[\"irecv\", MESSAGE]");
        return HostCall::irecv(index(call[1], where, "/1", "message", plan_.messages.size()));
      case HostCallKind::wait_message:
        expect_size(call, where, 2, 2, "[\"wait_message\", MESSAGE]");
        return HostCall::wait_message(
            index(call[1], where, "/1", "message", plan_.messages.size()));
      case HostCallKind::graph_load:
        expect_size(call, where, 2, 2, "[\"graph_load\", GRAPH]");
        return HostCall::graph_load(index(call[1], where, "/1", "graph", plan_.graphs.size()));
      case HostCallKind::graph_launch:
        expect_size(call, where, 3, 3, "[\"graph_launch\", STREAM, GRAPH]");
        return HostCall::graph_launch(stream(call[1], where, "/1"),
                                      index(call[2], where, "/2", "graph", plan_.graphs.size()));
    }
    unknown_call(word, where);
  }

  [[nodiscard]] HostCall read_query(const json& call, Call where) const {
    expect_size(
        call, where, 2, 3, R"(["query", STREAM] or ["query", STREAM, true if it was idle])");
    const StreamId on = stream(call[1], where, "/1");
    if (call.size() == 2) return HostCall::query(on);
    if (!call[2].is_boolean()) fail(where.pointer() + "/2", shown(call[2]), "true (idle) or false");
    return HostCall::answered_query(on, call[2].get<bool>());
  }

  [[nodiscard]] HostCall read_sleep(const json& call, Call where) const {
    expect_size(call, where, 2, 2, R"(["sleep", {"duration_ns": NUMBER}])");
    expect_keys(call[1], where.pointer() + "/1", {"duration_ns"});
    return HostCall::sleep_ns(static_cast<std::uint32_t>(
        number_at(call[1], where.pointer() + "/1", "duration_ns", HostCall::none)));
  }

  [[nodiscard]] HostCall read_synchronize(const json& call, Call where) const {
    constexpr const char* form =
        "[\"synchronize\"], [\"synchronize\", {\"stream\": STREAM}] or [\"synchronize\", "
        "{\"event\": EVENT}]";
    expect_size(call, where, 1, 2, form);
    if (call.size() == 1) return HostCall::synchronize_all();
    expect_keys(call[1], where.pointer() + "/1", {"stream", "event"});
    if (call[1].size() != 1) fail(where.pointer(), shown(call), form);
    if (call[1].contains("stream")) {
      return HostCall::synchronize_stream(stream(call[1]["stream"], where, "/1/stream"));
    }
    return HostCall::synchronize_event(event(call[1]["event"], where, "/1/event"));
  }

  [[noreturn]] void unknown_call(const std::string& word, Call where) const {
    std::vector<std::string> words;
    for (std::size_t i = 0; i < host_call_kind_count; ++i) {
      words.emplace_back(to_string(static_cast<HostCallKind>(i)));
    }
    const std::string near = closest_spelling(word, words);
    fail(where.pointer() + "/0",
         shown(word),
         fmt::format("one of {}", fmt::join(words, ", ")),
         near.empty() ? "" : fmt::format("the closest call is \"{}\"", near));
  }

  void expect_size(
      const json& call, Call where, std::size_t least, std::size_t most, const char* form) const {
    if (call.size() < least || call.size() > most) fail(where.pointer(), shown(call), form);
  }

  std::uint32_t index(const json& value,
                      Call where,
                      const char* part,
                      const char* what,
                      std::uint64_t count) const {
    if (!value.is_number_unsigned() || value.get<std::uint64_t>() >= count) {
      fail(where.pointer() + part,
           shown(value),
           count == 0
               ? fmt::format("no {}: the plan has none", what)
               : fmt::format(
                     "the number of {} {}, 0 to {}", what[0] == 'e' ? "an" : "a", what, count - 1));
    }
    return static_cast<std::uint32_t>(value.get<std::uint64_t>());
  }
  StreamId stream(const json& value, Call where, const char* part) const {
    return StreamId{index(value, where, part, "stream", plan_.streams.size())};
  }
  EventId event(const json& value, Call where, const char* part) const {
    return EventId{index(value, where, part, "event", plan_.event_count)};
  }

  /// `pointer()` makes the text that is needed only when something is wrong.
  template <class Pointer>
  [[nodiscard]] TaskId task(const json& value, const Pointer& pointer) const {
    const auto tasks = graph_.task_count();
    if (!value.is_string()) {
      if (!value.is_number_unsigned() || value.get<std::uint64_t>() >= tasks) {
        fail(pointer(),
             shown(value),
             tasks == 0 ? std::string{"no task: the graph has none"}
                        : fmt::format("the number of a task, 0 to {}", tasks - 1),
             of_its_graph);
      }
      return TaskId{static_cast<std::uint32_t>(value.get<std::uint64_t>())};
    }
    const auto& name = value.get_ref<const std::string&>();
    const plan_json::TaskNames::Match match = names_.find(name);
    if (match.ambiguous) {
      fail(pointer(),
           shown(value),
           "a name that only one task has",
           fmt::format("give the number of the task, as {}", match.task.value()));
    }
    if (!match.task.valid()) {
      const std::string near = names_.closest(name);
      fail(pointer(),
           shown(value),
           fmt::format("the name or number of one of the {} tasks", tasks),
           (near.empty() ? std::string{} : fmt::format("the closest name is \"{}\"; ", near)) +
               of_its_graph);
    }
    return match.task;
  }

  std::string_view text_;
  const TaskGraph& graph_;
  plan_json::TaskNames names_;
  std::size_t host_count_ = 0;
  Plan plan_;
};

}  // namespace

Plan plan_from_json(std::string_view text, const TaskGraph& graph, const std::string& file) {
  return Reader(text, graph, file).read();
}

}  // namespace schedlab
