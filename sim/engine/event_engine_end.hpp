// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "sim/engine/event_engine.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cstddef>
#include <string>

/// \file
/// Members of EventEngine: the end of a run, and what is said when there is none.
namespace schedlab::engine {

template <class Source, class Sharing>
void EventEngine<Source, Sharing>::finish() {
  bool stuck = devices_.pending() != 0;
  for (const HostThread& host : scratch_.hosts) {
    stuck = stuck || host.state != HostState::done;
    trace_.ended = std::max(trace_.ended, host.clock);
  }
  if (stuck) report_deadlock();
  trace_.ended = std::max(trace_.ended, devices_.last_end());
  if (!single_) {
    std::stable_sort(trace_.tasks.begin(),
                     trace_.tasks.end(),
                     [](const TaskSpan& a, const TaskSpan& b) { return a.host < b.host; });
    std::stable_sort(trace_.hosts.begin(),
                     trace_.hosts.end(),
                     [](const HostSpan& a, const HostSpan& b) { return a.host < b.host; });
  }
}

/// What the host waits for in its message call.
template <class Source, class Sharing>
std::string EventEngine<Source, Sharing>::message_text(std::uint32_t index) const {
  const std::uint32_t id = scratch_.hosts[index].call.message();
  const MessageSpec& spec = source_.plan().messages[id];
  const bool sends = spec.from == HostId{index};
  const HostId other = sends ? spec.to : spec.from;
  return fmt::format(" of message {} ({} bytes): host {} has not begun to {} it",
                     id,
                     spec.bytes.count(),
                     other.value(),
                     sends ? "receive" : "send");
}

/// Who is missing in the collective whose part is the stream's running task.
template <class Source, class Sharing>
std::string EventEngine<Source, Sharing>::collective_text(const Stream& stream) const {
  if (stream.running_span == nil || stream.running_span == graph_mark) return {};
  const TaskId task = trace_.tasks[stream.running_span].task;
  const CollectiveTable& collectives = problem_.graph.collectives();
  const CollectiveId id = collectives.of(task);
  if (!id.valid()) return {};
  const auto tasks = collectives.tasks(id);
  std::string missing;
  std::size_t count = 0;
  for (const TaskId part : tasks) {
    const auto streams = scratch_.collectives.streams(id);
    const bool started = std::any_of(streams.begin(), streams.end(), [&](StreamId s) {
      const std::uint32_t span = scratch_.streams[s.value()].running_span;
      return span != nil && trace_.tasks[span].task == part;
    });
    if (started) continue;
    if (++count <= 4) missing += fmt::format(" {}", problem_.graph.rank(part));
  }
  return fmt::format("; {} runs and waits for {} of {} ranks ({}{})",
                     problem_.graph.name(task),
                     count,
                     tasks.size(),
                     missing.empty() ? missing : missing.substr(1),
                     count > 4 ? " ..." : "");
}

template <class Source, class Sharing>
void EventEngine<Source, Sharing>::report_deadlock() const {
  constexpr std::size_t max_lines = 24;
  const Plan& plan = source_.plan();
  std::string text = fmt::format("the run cannot go on after {:.3f} us; what everybody waits for:",
                                 to_us(devices_.now()));
  std::size_t lines = 0;
  const auto add = [&](const std::string& line) {
    if (++lines <= max_lines) text += "\n  " + line;
  };
  for (std::uint32_t h = 0; h < scratch_.hosts.size(); ++h) {
    const HostThread& host = scratch_.hosts[h];
    if (host.state == HostState::done) continue;
    const std::string& name = plan.hosts[HostId{h}].name;
    add(fmt::format("host {} \"{}\": in call {} ({}){}",
                    h,
                    name,
                    host.call_index,
                    to_string(host.call.kind()),
                    host.state == HostState::message ? message_text(h) : ""));
  }
  for (std::uint32_t s = 0; s < scratch_.streams.size(); ++s) {
    const Stream& stream = scratch_.streams[s];
    const bool node = stream.graph_node && stream.running_span != nil;
    if (stream.pending_items == 0 && !node) continue;
    if (lines >= max_lines) {  // the text is costly with many ranks
      ++lines;
      continue;
    }
    if (node) {
      add("a node of a graph" + collective_text(stream));
      continue;
    }
    add(fmt::format("{}: {} calls pending, {} of them tasks{}",
                    plan.stream_name(StreamId{s}),
                    stream.pending_items,
                    stream.pending_tasks,
                    collective_text(stream)));
  }
  if (lines > max_lines) text += fmt::format("\n  ... and {} more", lines - max_lines);
  throw InfeasibleError(text);
}

}  // namespace schedlab::engine
