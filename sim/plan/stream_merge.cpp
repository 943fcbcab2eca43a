// SPDX-License-Identifier: Apache-2.0
#include "sim/plan/stream_merge.hpp"

#include "sim/base/error.hpp"

#include <algorithm>
#include <map>
#include <utility>
#include <vector>

namespace schedlab {

namespace {

/// Streams of some launch or of a node of a graph, in the order of their numbers.
[[nodiscard]] std::vector<bool> used_streams(const Plan& plan) {
  std::vector<bool> used(plan.streams.size(), false);
  for (const HostProgram& host : plan.hosts) {
    for (const HostCall call : host.calls) {
      if (call.kind() == HostCallKind::launch) used[call.stream().value()] = true;
    }
  }
  for (const DeviceGraph& graph : plan.graphs) {
    for (std::uint32_t node = 0; node < graph.node_count(); ++node) {
      used[graph.stream(node).value()] = true;
    }
  }
  return used;
}

[[nodiscard]] bool creates(HostCall call) {
  return call.kind() == HostCallKind::create_stream || call.kind() == HostCallKind::destroy_stream;
}

/// Without waits for work of their own stream, which stream order implies, and without records that
/// no call refers to then.
[[nodiscard]] std::vector<HostCall> without_needless_events(const std::vector<HostCall>& calls,
                                                            std::uint32_t events) {
  constexpr auto none = static_cast<std::size_t>(-1);
  std::vector<std::size_t> record_of(events, none);  // the latest, by event
  std::vector<bool> dropped(calls.size(), false);
  for (std::size_t i = 0; i < calls.size(); ++i) {
    const HostCall call = calls[i];
    const bool synchronizes = call.kind() == HostCallKind::synchronize && !call.stream().valid();
    if (call.kind() == HostCallKind::record) {
      record_of[call.event().value()] = i;
      dropped[i] = true;  // until something refers to it
    } else if (call.kind() == HostCallKind::wait || (synchronizes && call.event().valid())) {
      const std::size_t record = record_of[call.event().value()];
      if (record == none) continue;
      const bool implied =
          call.kind() == HostCallKind::wait && calls[record].stream() == call.stream();
      (implied ? dropped[i] : dropped[record]) = implied;
    }
  }
  std::vector<HostCall> kept;
  for (std::size_t i = 0; i < calls.size(); ++i) {
    if (!dropped[i]) kept.push_back(calls[i]);
  }
  return kept;
}

[[nodiscard]] HostCall on_stream(HostCall call, StreamId stream) {
  switch (call.kind()) {
    case HostCallKind::launch:
      return HostCall::launch(stream, call.task());
    case HostCallKind::record:
      return HostCall::record(stream, call.event());
    case HostCallKind::wait:
      return HostCall::wait(stream, call.event());
    case HostCallKind::query:
      return HostCall::query(stream);
    case HostCallKind::synchronize:
      return HostCall::synchronize_stream(stream);
    default:
      return call;
  }
}

/// The plan's names and messages, without streams and calls.
[[nodiscard]] Plan without_streams(const Plan& plan) {
  if (plan.hosts.size() != 1 || !plan.graphs.empty()) {
    throw InfeasibleError("streams can be merged in eager plans of one host only",
                          "plan",
                          plan.graphs.empty() ? "several hosts" : "device graphs",
                          "one host, no graphs");
  }
  Plan merged;
  merged.policy = plan.policy;
  merged.event_count = plan.event_count;
  merged.messages = plan.messages;
  merged.hosts[HostId{0}].name = plan.hosts[HostId{0}].name;

  for (const StreamId stream : plan.streams.ids()) {
    if (plan.streams[stream].sync != StreamSync::legacy_default) continue;
    throw InfeasibleError("a legacy default stream cannot be merged with others",
                          "plan",
                          plan.stream_name(stream),
                          "streams without a legacy default one");
  }
  return merged;
}

/// Gives `merged` the plan's calls, on the streams that theirs become.
void move_calls(const Plan& plan, const std::vector<StreamId>& becomes, Plan& merged) {
  std::vector<HostCall> calls;
  for (const HostCall call : plan.hosts[HostId{0}].calls) {
    if (creates(call)) continue;
    const StreamId stream = call.stream();
    calls.push_back(stream.valid() ? on_stream(call, becomes[stream.value()]) : call);
  }
  merged.hosts[HostId{0}].calls = without_needless_events(calls, plan.event_count);
}

}  // namespace

std::uint32_t streams_in_use(const Plan& plan) {
  const std::vector<bool> used = used_streams(plan);
  std::map<DeviceId, std::uint32_t> count;
  std::uint32_t most = 0;
  for (const StreamId stream : plan.streams.ids()) {
    if (used[stream.value()]) most = std::max(most, ++count[plan.streams[stream].device]);
  }
  return most;
}

Plan merge_streams(const Plan& plan, std::uint32_t count) {
  SCHEDLAB_EXPECTS(count > 0, "no streams");
  Plan merged = without_streams(plan);
  const std::vector<bool> used = used_streams(plan);
  std::vector<StreamId> becomes(plan.streams.size());
  std::map<DeviceId, std::vector<StreamId>> made;
  std::map<DeviceId, std::uint32_t> seen;
  for (const StreamId stream : plan.streams.ids()) {
    const StreamSpec& spec = plan.streams[stream];
    auto& of_device = made[spec.device];
    // Streams without tasks take the next place, but do not move the others on.
    const std::uint32_t place = seen[spec.device] % count;
    if (used[stream.value()]) ++seen[spec.device];
    if (place == of_device.size()) {
      of_device.push_back(merged.streams.push_back(spec));
    }
    becomes[stream.value()] = of_device[place];
    StreamSpec& target = merged.streams[of_device[place]];
    target.priority = std::min(target.priority, spec.priority);
  }
  move_calls(plan, becomes, merged);
  return merged;
}

Plan join_streams(const Plan& plan, StreamId from, StreamId into) {
  SCHEDLAB_EXPECTS(from != into && plan.streams[from].device == plan.streams[into].device,
                   "two streams of one device");
  Plan merged = without_streams(plan);
  merged.streams = plan.streams;
  StreamSpec& target = merged.streams[into];
  target.priority = std::min(target.priority, plan.streams[from].priority);
  std::vector<StreamId> becomes;
  for (const StreamId stream : plan.streams.ids()) {
    becomes.push_back(stream == from ? into : stream);
  }
  move_calls(plan, becomes, merged);
  return merged;
}

}  // namespace schedlab
