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

template <class Source, class Sharing>
void EventEngine<Source, Sharing>::report_deadlock() const {
  constexpr std::size_t most_lines = 24;
  const Plan& plan = source_.plan();
  std::string text = fmt::format("the run cannot go on after {:.3f} us; what everybody waits for:",
                                 to_us(devices_.now()));
  std::size_t lines = 0;
  const auto add = [&](const std::string& line) {
    if (++lines <= most_lines) text += "\n  " + line;
  };
  for (std::uint32_t h = 0; h < scratch_.hosts.size(); ++h) {
    const HostThread& host = scratch_.hosts[h];
    if (host.state == HostState::done) continue;
    const std::string& name = plan.hosts[HostId{h}].name;
    add(fmt::format(
        "host {} \"{}\": in call {} ({})", h, name, host.call_index, to_string(host.call.kind())));
  }
  for (std::uint32_t s = 0; s < scratch_.streams.size(); ++s) {
    const Stream& stream = scratch_.streams[s];
    if (stream.pending_items == 0) continue;
    add(fmt::format("{}: {} calls pending, {} of them tasks",
                    plan.stream_name(StreamId{s}),
                    stream.pending_items,
                    stream.pending_tasks));
  }
  if (lines > most_lines) text += fmt::format("\n  ... and {} more", lines - most_lines);
  throw InfeasibleError(text);
}

}  // namespace schedlab::engine
