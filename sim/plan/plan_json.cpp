// SPDX-License-Identifier: Apache-2.0
// Writing; reading is in plan_json_read.cpp.
#include "sim/plan/plan_json.hpp"

#include "sim/plan/plan_json_names.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>
#include <nlohmann/json.hpp>

#include <iterator>

namespace schedlab {
namespace {

std::string quoted(const std::string& text) {
  return nlohmann::json(text).dump(-1, ' ', false, nlohmann::json::error_handler_t::replace);
}

class Writer {
 public:
  Writer(const Plan& plan, const TaskGraph& graph) : plan_(plan), graph_(graph), names_(graph) {}

  std::string write() {
    put("{{\n  \"schedlab\": \"plan\",\n  \"version\": 1,\n");
    put("  \"policy\": {},\n  \"streams\": [", quoted(plan_.policy));
    for (const StreamId stream : plan_.streams.ids()) {
      const StreamSpec& spec = plan_.streams[stream];
      put("{}\n    {{\"name\": {}, \"device\": {}, \"priority\": {}{}{}}}",
          stream.value() == 0 ? "" : ",",
          quoted(spec.name),
          spec.device.value(),
          spec.priority,
          spec.sync == StreamSync::legacy_default ? ", \"legacy_default\": true"
          : spec.sync == StreamSync::blocking     ? ", \"blocking\": true"
                                                  : "",
          spec.partition == 0 ? "" : fmt::format(", \"partition\": {}", spec.partition));
    }
    if (!plan_.partitions.empty()) {
      put("\n  ],\n  \"partitions\": [{}", fmt::join(plan_.partitions, ", "));
    }
    put("\n  ],\n  \"events\": {},\n  \"messages\": [", plan_.event_count);
    for (std::size_t i = 0; i < plan_.messages.size(); ++i) {
      const MessageSpec& message = plan_.messages[i];
      put("{}\n    {{\"from\": {}, \"to\": {}, \"bytes\": {}{}}}",
          i == 0 ? "" : ",",
          message.from.value(),
          message.to.value(),
          message.bytes.count(),
          message.one_sided == OneSided::none
              ? ""
              : fmt::format(", \"one_sided\": \"{}\"", to_string(message.one_sided)));
    }
    put("\n  ]");
    write_graphs();
    put(",\n  \"hosts\": [");
    for (const HostId host : plan_.hosts.ids()) {
      const HostProgram& program = plan_.hosts[host];
      put("{}\n    {{\"name\": {}, \"calls\": [",
          host.value() == 0 ? "" : ",",
          quoted(program.name));
      for (std::size_t i = 0; i < program.calls.size(); ++i) {
        text_ += i == 0 ? "\n      " : ",\n      ";
        write_call(program.calls[i]);
      }
      put("\n    ]}}");
    }
    put("\n  ]\n}}\n");
    return std::move(text_);
  }

 private:
  template <class... Arguments>
  void put(fmt::format_string<Arguments...> format, Arguments&&... arguments) {
    fmt::format_to(std::back_inserter(text_), format, std::forward<Arguments>(arguments)...);
  }

  /// The key is left out of plans without graphs, which are most.
  void write_graphs() {
    if (plan_.graphs.empty()) return;
    put(",\n  \"graphs\": [");
    for (std::size_t i = 0; i < plan_.graphs.size(); ++i) {
      const DeviceGraph& graph = plan_.graphs[i];
      put("{}\n    {{\"name\": {}, \"node_priorities\": {}, \"nodes\": [",
          i == 0 ? "" : ",",
          quoted(graph.name),
          graph.node_priorities);
      write_nodes(graph);
      put("\n    ], \"launches\": [");
      write_launches(graph);
      put("\n    ]}}");
    }
    put("\n  ]");
  }

  void write_nodes(const DeviceGraph& graph) {
    for (std::uint32_t node = 0; node < graph.node_count(); ++node) {
      put("{}\n      {{\"stream\": {}, \"needs\": [{}]{}}}",
          node == 0 ? "" : ",",
          graph.stream(node).value(),
          fmt::join(graph.needs(node), ", "),
          graph.programmatic(node) ? ", \"programmatic\": true" : "");
    }
  }

  void write_launches(const DeviceGraph& graph) {
    for (std::uint32_t launch = 0; launch < graph.launch_count(); ++launch) {
      put("{}\n      [", launch == 0 ? "" : ",");
      for (std::uint32_t node = 0; node < graph.node_count(); ++node) {
        if (node != 0) text_ += ", ";
        write_task(graph.task(launch, node));
      }
      text_ += ']';
    }
  }

  void write_call(HostCall c) {
    put("[\"{}\"", to_string(c.kind()));
    switch (c.kind()) {
      case HostCallKind::create_stream:
      case HostCallKind::destroy_stream:
        put(", {}", c.stream().value());
        break;
      case HostCallKind::launch:
        put(", {}, ", c.stream().value());
        write_task(c.task());
        if (c.programmatic()) text_ += ", \"programmatic\"";
        break;
      case HostCallKind::record:
      case HostCallKind::wait:
      case HostCallKind::graph_launch:
        put(", {}, {}", c.stream().value(), c.argument());
        break;
      case HostCallKind::query:
        put(", {}", c.stream().value());
        if (c.answer()) put(", {}", *c.answer());
        break;
      case HostCallKind::sleep:
        put(", {{\"duration_ns\": {}}}", c.argument());
        break;
      case HostCallKind::synchronize:
        if (c.stream().valid()) {
          put(", {{\"stream\": {}}}", c.stream().value());
        } else if (c.argument() != HostCall::none) {
          put(", {{\"event\": {}}}", c.argument());
        }
        break;
      case HostCallKind::graph_load:
      case HostCallKind::send:
      case HostCallKind::receive:
      case HostCallKind::isend:
      case HostCallKind::irecv:
      case HostCallKind::wait_message:
        put(", {}", c.argument());
        break;
    }
    text_ += ']';
  }

  void write_task(TaskId task) {
    if (task.value() < graph_.task_count()) {
      const std::string name = graph_.name(task);
      if (names_.unique(name)) {
        text_ += quoted(name);
        return;
      }
    }
    put("{}", task.value());
  }

  const Plan& plan_;
  const TaskGraph& graph_;
  plan_json::TaskNames names_;
  std::string text_;
};

}  // namespace

std::string plan_to_json(const Plan& plan, const TaskGraph& graph) {
  return Writer(plan, graph).write();
}

}  // namespace schedlab
