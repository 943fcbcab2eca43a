// SPDX-License-Identifier: Apache-2.0
#include "sim/plan/check/plan_check_index.hpp"

#include <fmt/format.h>

#include <algorithm>

namespace schedlab::checker {
namespace {

bool acts_on_stream(HostCallKind kind) {
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

bool uses_event(HostCall call) {
  return call.kind() == HostCallKind::wait ||
         (call.kind() == HostCallKind::synchronize && !call.stream().valid() &&
          call.argument() != HostCall::none);
}

}  // namespace

PlanIndex::PlanIndex(const TaskGraph& graph,
                     const Platform& platform,
                     const Plan& plan,
                     FindingList& findings)
    : graph_(graph),
      platform_(platform),
      plan_(plan),
      launch_(graph.task_count(), never),
      uses_(plan.event_count, 0),
      first_record_(plan.event_count, never),
      created_(plan.streams.size(), 0),
      sent_by_(plan.messages.size(), never),
      received_by_(plan.messages.size(), never),
      graphs_(plan.graphs.size()) {
  std::uint32_t total = 0;
  for (const HostProgram& host : plan.hosts) {
    first_call_.push_back(total);
    total += static_cast<std::uint32_t>(host.calls.size());
  }
  first_call_.push_back(total);
  check_specs(findings);
  check_default_streams(findings);
  check_partitions(findings);
  check_graphs(findings);
  for (const HostId host : plan.hosts.ids()) {
    const auto& calls = plan.hosts[host].calls;
    for (std::size_t call = 0; call < calls.size(); ++call) {
      // Most calls of a policy that asks whether streams are idle: nothing to note.
      const bool sound_query =
          calls[call].kind() == HostCallKind::query && plan.streams.contains(calls[call].stream());
      if (!sound_query) check_call(host, call, findings);
    }
  }
  if (plan.programmatic()) check_programmatic(findings);
  make_lanes();
}

CallSite PlanIndex::site(std::uint32_t number) const {
  const auto above = std::upper_bound(first_call_.begin(), first_call_.end(), number);
  const auto host = static_cast<std::uint32_t>(above - first_call_.begin() - 1);
  return {HostId{host}, number - first_call_[host]};
}

void PlanIndex::check_specs(FindingList& findings) {
  for (const StreamId stream : plan_.streams.ids()) {
    const DeviceId device = plan_.streams[stream].device;
    if (platform_.has_device(device)) continue;
    findings.add(FindingKind::malformed, HostId::none(), 0, [&] {
      return fmt::format("{} is on device {}, but the platform has {} device{}",
                         plan_.stream_name(stream),
                         device.value(),
                         platform_.device_count(),
                         platform_.device_count() == 1 ? "" : "s");
    });
  }
  for (std::size_t i = 0; i < plan_.messages.size(); ++i) {
    const MessageSpec& message = plan_.messages[i];
    if (plan_.hosts.contains(message.from) && plan_.hosts.contains(message.to)) continue;
    findings.add(FindingKind::malformed, HostId::none(), 0, [&] {
      return fmt::format("message {} goes from host {} to host {}, but the plan has {} host{}",
                         i,
                         message.from.value(),
                         message.to.value(),
                         plan_.hosts.size(),
                         plan_.hosts.size() == 1 ? "" : "s");
    });
  }
}

void PlanIndex::check_default_streams(FindingList& findings) {
  for (const StreamId stream : plan_.streams.ids()) {
    if (!is_legacy(stream)) continue;
    const StreamSpec& spec = plan_.streams[stream];
    const auto same = std::find_if(legacy_.begin(), legacy_.end(), [&](StreamId other) {
      return plan_.streams[other].device == spec.device;
    });
    if (same == legacy_.end()) {
      legacy_.push_back(stream);
    } else {
      findings.add(FindingKind::malformed, HostId::none(), 0, [&] {
        return fmt::format(
            "stream {} and stream {} are both the legacy default stream of device {}",
            same->value(),
            stream.value(),
            spec.device.value());
      });
    }
    if (spec.priority == 0) continue;
    findings.add(FindingKind::malformed, HostId::none(), 0, [&] {
      return fmt::format("{} (stream {}) has priority {}; that of the legacy default stream is 0",
                         plan_.stream_name(stream),
                         stream.value(),
                         spec.priority);
    });
  }
  if (legacy_.empty()) return;
  in_order_with_.resize(plan_.streams.size());
  for (const StreamId legacy : legacy_) {
    for (const StreamId stream : plan_.streams.ids()) {
      const StreamSpec& spec = plan_.streams[stream];
      if (spec.sync != StreamSync::blocking || spec.device != plan_.streams[legacy].device)
        continue;
      in_order_with_[legacy].push_back(stream);
      in_order_with_[stream].push_back(legacy);
    }
  }
}

void PlanIndex::check_call(HostId host, std::size_t call, FindingList& findings) {
  const HostCall c = plan_.hosts[host].calls[call];
  const std::string wrong = what_is_wrong(host, c);
  if (wrong.empty()) {
    note(host, call, findings);
    return;
  }
  mark_malformed(number(host, call));
  findings.add(FindingKind::malformed, host, call, [&] {
    return fmt::format("{} ({}) {}", call_name(plan_, host, call), to_string(c.kind()), wrong);
  });
}

std::string PlanIndex::what_is_wrong(HostId host, HostCall call) const {
  const HostCallKind kind = call.kind();
  if (acts_on_stream(kind) || call.stream().valid()) {
    if (!call.stream().valid()) return "needs a stream and names none";
    if (!plan_.streams.contains(call.stream())) {
      return fmt::format("names stream {}, but the plan has {} streams",
                         call.stream().value(),
                         plan_.streams.size());
    }
  }
  const bool life = kind == HostCallKind::create_stream || kind == HostCallKind::destroy_stream;
  if (life && is_legacy(call.stream())) {
    return fmt::format("names {}, which no call creates or destroys",
                       plan_.stream_name(call.stream()));
  }
  if ((kind == HostCallKind::record || uses_event(call)) && call.argument() >= plan_.event_count) {
    return fmt::format(
        "names event {}, but the plan has {} events", call.argument(), plan_.event_count);
  }
  if (kind == HostCallKind::launch && call.argument() >= graph_.task_count()) {
    return fmt::format(
        "names task {}, but the graph has {} tasks", call.argument(), graph_.task_count());
  }
  if (kind == HostCallKind::launch && graph_.has_ranks() &&
      plan_.streams[call.stream()].device.value() != graph_.rank(call.task())) {
    return fmt::format("launches {}, which belongs to rank {}, on device {}",
                       graph_.name(call.task()),
                       graph_.rank(call.task()),
                       plan_.streams[call.stream()].device.value());
  }
  if (concerns_message(kind)) {
    return wrong_message(host, call);
  }
  if (kind == HostCallKind::graph_load || kind == HostCallKind::graph_launch) {
    return wrong_graph(host, call);
  }
  return {};
}

std::string PlanIndex::wrong_message(HostId host, HostCall call) const {
  const HostCallKind kind = call.kind();
  if (call.message() >= plan_.messages.size()) {
    return fmt::format(
        "names message {}, but the plan has {} messages", call.message(), plan_.messages.size());
  }
  const MessageSpec& message = plan_.messages[call.message()];
  if (kind == HostCallKind::wait_message) return wrong_message_wait(host, call);
  const bool sends = kind == HostCallKind::send || kind == HostCallKind::isend;
  const HostId other_end = sends ? message.to : message.from;
  if (!plan_.hosts.contains(other_end)) {
    return fmt::format("is for message {}, whose other end does not exist", call.message());
  }
  const HostId mine = sends ? message.from : message.to;
  if (mine != host) {
    return fmt::format("is for message {}, which only {} may {}",
                       call.message(),
                       host_name(plan_, mine),
                       sends ? "send" : "receive");
  }
  if (sends && message.one_sided == OneSided::get) {
    return fmt::format("is for message {}, which {} gets and no host sends",
                       call.message(),
                       host_name(plan_, message.to));
  }
  const std::uint32_t earlier = (sends ? sent_by_ : received_by_)[call.message()];
  if (earlier != never) {
    return fmt::format("repeats message {}, already done by {}",
                       call.message(),
                       call_name(plan_, host, site(earlier).call));
  }
  return {};
}

std::string PlanIndex::wrong_message_wait(HostId host, HostCall call) const {
  const MessageSpec& message = plan_.messages[call.message()];
  if (host != message.from && host != message.to) {
    return fmt::format("waits for message {} between {} and {}",
                       call.message(),
                       host_name(plan_, message.from),
                       host_name(plan_, message.to));
  }
  const bool sends = host == message.from;
  if ((sends ? sent_by_ : received_by_)[call.message()] != never) return {};
  return fmt::format("waits for message {}, which this host has not begun to {}",
                     call.message(),
                     sends ? "send" : "receive");
}

void PlanIndex::note(HostId host, std::size_t call, FindingList& findings) {
  const HostCall c = plan_.hosts[host].calls[call];
  const std::uint32_t here = number(host, call);
  switch (c.kind()) {
    case HostCallKind::create_stream:
      created_[c.stream()] = 1;
      break;
    case HostCallKind::launch:
      note_launch(host, call, c.task(), findings);
      break;
    case HostCallKind::graph_load:
      graphs_[c.graph()].load = here;
      break;
    case HostCallKind::graph_launch:
      note_graph_launch(host, call, findings);
      break;
    case HostCallKind::record:
      first_record_[c.event()] = std::min(first_record_[c.event()], here);
      break;
    case HostCallKind::send:
    case HostCallKind::isend:
      sent_by_[c.message()] = here;
      break;
    case HostCallKind::receive:
    case HostCallKind::irecv:
      received_by_[c.message()] = here;
      break;
    default:
      if (uses_event(c)) ++uses_[c.event()];
      break;
  }
}

void PlanIndex::mark_malformed(std::uint32_t number) {
  if (malformed_.empty()) malformed_.assign(first_call_.back(), false);
  malformed_[number] = true;
}

void PlanIndex::make_lanes() {
  // Marks which streams each host touches, then lays the lanes out stream by stream.
  std::vector<Lane> touched;
  IdVector<StreamId, HostId> last_seen(plan_.streams.size());
  for (const HostId host : plan_.hosts.ids()) {
    for (const HostCall call : plan_.hosts[host].calls) {
      const StreamId stream = call.stream();
      if (!stream.valid() || !plan_.streams.contains(stream) || last_seen[stream] == host) continue;
      last_seen[stream] = host;
      touched.push_back({stream, host});
    }
  }
  first_lane_.assign(plan_.streams.size() + 1, 0);
  for (const Lane& lane : touched) ++first_lane_[lane.stream.value() + 1];
  for (std::size_t i = 1; i < first_lane_.size(); ++i) first_lane_[i] += first_lane_[i - 1];
  lanes_.resize(touched.size());
  std::vector<std::uint32_t> next(first_lane_.begin(), first_lane_.end() - 1);
  for (const Lane& lane : touched) lanes_[next[lane.stream.value()]++] = lane;
}

}  // namespace schedlab::checker
