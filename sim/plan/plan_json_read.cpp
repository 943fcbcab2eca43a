// SPDX-License-Identifier: Apache-2.0
#include "sim/base/error.hpp"
#include "sim/plan/plan_json.hpp"
#include "sim/plan/plan_json_names.hpp"

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include <algorithm>
#include <initializer_list>
#include <limits>

namespace schedlab {
namespace {

using nlohmann::json;

constexpr std::uint64_t index_limit = 0xFFFFFFFEU;  // the largest number an id may have

std::string shown(const json& value) {
  std::string text = value.dump(-1, ' ', false, json::error_handler_t::replace);
  constexpr std::size_t longest = 60;
  if (text.size() > longest) text = text.substr(0, longest) + "...";
  return text;
}

/// Where in the document we are; the text is made only when something is wrong.
struct Call {
  std::uint32_t host = 0;
  std::size_t index = 0;
  [[nodiscard]] std::string pointer() const {
    return fmt::format("/hosts/{}/calls/{}", host, index);
  }
};

class Reader {
 public:
  Reader(std::string_view text, const TaskGraph& graph, const std::string& file)
      : text_(text), graph_(graph), names_(graph), file_(file) {}

  Plan read() {
    const json document = parse();
    expect_keys(
        document, "", {"schedlab", "version", "policy", "streams", "events", "messages", "hosts"});
    if (at(document, "", "schedlab") != "plan") {
      fail("/schedlab", shown(document["schedlab"]), "\"plan\"");
    }
    if (at(document, "", "version") != 1) fail("/version", shown(document["version"]), "1");
    plan_.policy = text_at(document, "", "policy");
    read_streams(array_at(document, "", "streams"));
    plan_.event_count = static_cast<std::uint32_t>(number_at(document, "", "events", index_limit));
    const json& hosts = array_at(document, "", "hosts");
    host_count_ = hosts.size();
    read_messages(array_at(document, "", "messages"));
    read_hosts(hosts);
    return std::move(plan_);
  }

 private:
  [[noreturn]] void fail(std::string pointer,
                         std::string found,
                         std::string expected,
                         std::string hint = {}) const {
    throw InputError(
        {file_, std::move(pointer), std::move(found), std::move(expected), std::move(hint)});
  }

  [[nodiscard]] json parse() const {
    try {
      return json::parse(text_);
    } catch (const json::parse_error& error) {
      const std::size_t end = std::min(error.byte == 0 ? 0 : error.byte - 1, text_.size());
      const auto line =
          std::count(text_.begin(), text_.begin() + static_cast<std::ptrdiff_t>(end), '\n');
      const std::string_view rest = text_.substr(end, 20);
      const std::string found = rest.empty()
                                    ? "the end of the text"
                                    : fmt::format("\"{}\"", rest.substr(0, rest.find('\n')));
      fail(fmt::format("line {}", line + 1), found, "valid JSON");
    } catch (const json::out_of_range& error) {
      fail("", error.what(), "numbers of at most 64 bits");
    }
  }

  void expect_keys(const json& object,
                   const std::string& pointer,
                   std::initializer_list<std::string_view> allowed) const {
    if (!object.is_object()) fail(pointer, shown(object), "an object");
    for (const auto& [key, value] : object.items()) {
      if (std::find(allowed.begin(), allowed.end(), key) != allowed.end()) continue;
      const std::vector<std::string> words(allowed.begin(), allowed.end());
      const std::string near = closest_spelling(key, words);
      fail(pointer + "/" + key,
           "an unknown key",
           fmt::format("one of {}", fmt::join(words, ", ")),
           near.empty() ? "" : fmt::format("the closest key is \"{}\"", near));
    }
  }

  const json& at(const json& object, const std::string& pointer, const char* key) const {
    const auto found = object.find(key);
    if (found == object.end()) fail(pointer, "", fmt::format("a key \"{}\"", key));
    return *found;
  }
  const json& array_at(const json& object, const std::string& pointer, const char* key) const {
    const json& value = at(object, pointer, key);
    if (!value.is_array()) fail(pointer + "/" + key, shown(value), "an array");
    return value;
  }
  std::string text_at(const json& object, const std::string& pointer, const char* key) const {
    const json& value = at(object, pointer, key);
    if (!value.is_string()) fail(pointer + "/" + key, shown(value), "a text");
    return value.get<std::string>();
  }
  std::uint64_t number_at(const json& object,
                          const std::string& pointer,
                          const char* key,
                          std::uint64_t highest) const {
    const json& value = at(object, pointer, key);
    if (!value.is_number_unsigned() || value.get<std::uint64_t>() > highest) {
      fail(pointer + "/" + key, shown(value), fmt::format("a whole number from 0 to {}", highest));
    }
    return value.get<std::uint64_t>();
  }

  void read_streams(const json& streams) {
    if (streams.size() > HostCall::max_streams) {
      fail("/streams",
           fmt::format("{} streams", streams.size()),
           fmt::format("at most {}", HostCall::max_streams));
    }
    for (std::size_t i = 0; i < streams.size(); ++i) {
      const std::string pointer = fmt::format("/streams/{}", i);
      expect_keys(streams[i], pointer, {"name", "device", "priority"});
      StreamSpec spec;
      spec.name = text_at(streams[i], pointer, "name");
      spec.device = DeviceId{
          static_cast<std::uint32_t>(number_at(streams[i], pointer, "device", index_limit))};
      const json& priority = at(streams[i], pointer, "priority");
      constexpr std::int64_t most = std::numeric_limits<std::int32_t>::max();
      if (!priority.is_number_integer() || priority.get<std::int64_t>() > most ||
          priority.get<std::int64_t>() < -most) {
        fail(pointer + "/priority",
             shown(priority),
             "a whole number (0 = lowest, negative = urgent)");
      }
      spec.priority = static_cast<int>(priority.get<std::int64_t>());
      plan_.streams.push_back(std::move(spec));
    }
  }

  void read_messages(const json& messages) {
    constexpr auto most_bytes =
        static_cast<std::uint64_t>(std::numeric_limits<std::int64_t>::max());
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
      expect_keys(messages[i], pointer, {"from", "to", "bytes"});
      MessageSpec spec;
      spec.from = host(messages[i], pointer, "from");
      spec.to = host(messages[i], pointer, "to");
      spec.bytes =
          Bytes{static_cast<std::int64_t>(number_at(messages[i], pointer, "bytes", most_bytes))};
      plan_.messages.push_back(spec);
    }
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
    const auto kind = host_call_kind_from(word);
    if (!kind) unknown_call(word, where);
    switch (*kind) {
      case HostCallKind::create_stream:
        expect_size(call, where, 2, 2, "[\"create_stream\", STREAM]");
        return HostCall::create_stream(stream(call[1], where, "/1"));
      case HostCallKind::destroy_stream:
        expect_size(call, where, 2, 2, "[\"destroy_stream\", STREAM]");
        return HostCall::destroy_stream(stream(call[1], where, "/1"));
      case HostCallKind::launch:
        expect_size(call, where, 3, 3, "[\"launch\", STREAM, TASK]");
        return HostCall::launch(stream(call[1], where, "/1"), task(call[2], where));
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
      case HostCallKind::graph_load:
        expect_size(call, where, 2, 2, "[\"graph_load\", GRAPH]");
        return HostCall::graph_load(index(call[1], where, "/1", "graph", index_limit));
      case HostCallKind::graph_launch:
        expect_size(call, where, 3, 3, "[\"graph_launch\", STREAM, GRAPH]");
        return HostCall::graph_launch(stream(call[1], where, "/1"),
                                      index(call[2], where, "/2", "graph", index_limit));
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

  [[nodiscard]] TaskId task(const json& value, Call where) const {
    if (!value.is_string()) return TaskId{index(value, where, "/2", "task", graph_.task_count())};
    const auto& name = value.get_ref<const std::string&>();
    const plan_json::TaskNames::Match match = names_.find(name);
    if (match.ambiguous) {
      fail(where.pointer() + "/2",
           shown(value),
           "a name that only one task has",
           fmt::format("give the number of the task, as {}", match.task.value()));
    }
    if (!match.task.valid()) {
      const std::string near = names_.closest(name);
      fail(where.pointer() + "/2",
           shown(value),
           fmt::format("the name or number of one of the {} tasks", graph_.task_count()),
           near.empty() ? "" : fmt::format("the closest name is \"{}\"", near));
    }
    return match.task;
  }

  std::string_view text_;
  const TaskGraph& graph_;
  plan_json::TaskNames names_;
  const std::string& file_;
  std::size_t host_count_ = 0;
  Plan plan_;
};

}  // namespace

Plan plan_from_json(std::string_view text, const TaskGraph& graph, const std::string& file) {
  return Reader(text, graph, file).read();
}

}  // namespace schedlab
