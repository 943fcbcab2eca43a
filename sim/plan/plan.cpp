// SPDX-License-Identifier: Apache-2.0
#include "sim/plan/plan.hpp"

#include "sim/base/error.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>

namespace schedlab {
namespace {

constexpr std::array<std::string_view, host_call_kind_count> host_call_names{"create_stream",
                                                                             "destroy_stream",
                                                                             "launch",
                                                                             "record",
                                                                             "wait",
                                                                             "query",
                                                                             "sleep",
                                                                             "synchronize",
                                                                             "graph_load",
                                                                             "graph_launch",
                                                                             "send",
                                                                             "receive"};

/// "call 7 (wait) of host \"rank 0\"".
std::string place(const Plan& plan, HostId host, std::size_t call, HostCallKind kind) {
  return fmt::format(
      "call {} ({}) of host {} \"{}\"", call, to_string(kind), host.value(), plan.hosts[host].name);
}

bool needs_stream(HostCallKind kind) {
  switch (kind) {
    case HostCallKind::create_stream:
    case HostCallKind::destroy_stream:
    case HostCallKind::launch:
    case HostCallKind::record:
    case HostCallKind::wait:
    case HostCallKind::query:
    case HostCallKind::graph_launch:
      return true;
    default:
      return false;
  }
}

bool names_event(HostCall call) {
  return call.kind() == HostCallKind::record || call.kind() == HostCallKind::wait ||
         (call.kind() == HostCallKind::synchronize && !call.stream().valid() &&
          call.argument() != HostCall::none);
}

void expect_valid_call(const Plan& plan, HostId host, std::size_t index, HostCall call) {
  const HostCallKind kind = call.kind();
  const auto where = [&] { return place(plan, host, index, kind); };
  if (needs_stream(kind) || call.stream().valid()) {
    SCHEDLAB_EXPECTS(plan.streams.contains(call.stream()),
                     where() + fmt::format(" names a stream that does not exist; the plan has {}",
                                           plan.streams.size()));
  }
  if (names_event(call)) {
    SCHEDLAB_EXPECTS(call.argument() < plan.event_count,
                     where() + fmt::format(" names event {}; the plan has {} events",
                                           call.argument(),
                                           plan.event_count));
  }
  if (kind == HostCallKind::send || kind == HostCallKind::receive) {
    SCHEDLAB_EXPECTS(call.message() < plan.messages.size(),
                     where() + fmt::format(" names message {}; the plan has {} messages",
                                           call.message(),
                                           plan.messages.size()));
  }
  const bool names_graph = kind == HostCallKind::graph_load || kind == HostCallKind::graph_launch;
  SCHEDLAB_EXPECTS(!names_graph,
                   where() + fmt::format(" names graph {}; plans hold no graphs", call.graph()));
}

}  // namespace

std::string_view to_string(HostCallKind kind) {
  return host_call_names[static_cast<std::size_t>(kind)];
}

std::optional<HostCallKind> host_call_kind_from(std::string_view word) {
  const auto* const found = std::find(host_call_names.begin(), host_call_names.end(), word);
  if (found == host_call_names.end()) return std::nullopt;
  return static_cast<HostCallKind>(found - host_call_names.begin());
}

std::size_t Plan::call_count() const {
  std::size_t count = 0;
  for (const HostProgram& host : hosts) count += host.calls.size();
  return count;
}

std::size_t Plan::count(HostCallKind kind) const {
  std::size_t count = 0;
  for (const HostProgram& host : hosts) {
    count += static_cast<std::size_t>(std::count_if(
        host.calls.begin(), host.calls.end(), [kind](HostCall c) { return c.kind() == kind; }));
  }
  return count;
}

std::string Plan::stream_name(StreamId stream) const {
  if (!stream.valid()) return "no stream";
  if (streams.contains(stream) && !streams[stream].name.empty()) return streams[stream].name;
  return fmt::format("stream {}", stream.value());
}

std::size_t Plan::memory_bytes() const {
  std::size_t bytes = sizeof(Plan) + policy.capacity();
  bytes += streams.raw().capacity() * sizeof(StreamSpec);
  for (const StreamSpec& stream : streams) bytes += stream.name.capacity();
  bytes += messages.capacity() * sizeof(MessageSpec);
  bytes += hosts.raw().capacity() * sizeof(HostProgram);
  for (const HostProgram& host : hosts) {
    bytes += host.name.capacity() + host.calls.capacity() * sizeof(HostCall);
  }
  return bytes;
}

IdVector<StreamId, std::vector<HostCall>> stream_view(const Plan& plan) {
  IdVector<StreamId, std::vector<HostCall>> view(plan.streams.size());
  for (const HostProgram& host : plan.hosts) {
    for (const HostCall call : host.calls) {
      if (call.stream().valid() && view.contains(call.stream())) {
        view[call.stream()].push_back(call);
      }
    }
  }
  return view;
}

void expect_well_formed(const Plan& plan, std::size_t task_count) {
  std::vector<bool> launched(task_count, false);
  for (const HostId host : plan.hosts.ids()) {
    const std::vector<HostCall>& calls = plan.hosts[host].calls;
    for (std::size_t i = 0; i < calls.size(); ++i) {
      const HostCall call = calls[i];
      expect_valid_call(plan, host, i, call);
      if (call.kind() != HostCallKind::launch) continue;
      const std::uint32_t task = call.argument();
      SCHEDLAB_EXPECTS(task < task_count,
                       place(plan, host, i, call.kind()) +
                           fmt::format(" names task {}; the graph has {} tasks", task, task_count));
      SCHEDLAB_EXPECTS(
          !launched[task],
          place(plan, host, i, call.kind()) + fmt::format(" launches task {} a second time", task));
      launched[task] = true;
    }
  }
  const auto missing = std::find(launched.begin(), launched.end(), false);
  SCHEDLAB_EXPECTS(
      missing == launched.end(),
      fmt::format(
          "task {} is never launched by plan \"{}\"", missing - launched.begin(), plan.policy));
}

}  // namespace schedlab
