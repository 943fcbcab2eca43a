// SPDX-License-Identifier: Apache-2.0
// Walk, continued: messages between hosts and the deadlocks they can make.
#include "sim/plan/check/plan_check_walk.hpp"

#include <fmt/format.h>

namespace schedlab::checker {

void Walk::post(HostId host, std::uint32_t id, bool sends) {
  MessageState& state = messages_[id];
  const bool eager = is_eager(plan().messages[id]);
  (sends ? state.send_posted : state.receive_posted) = true;
  if (sends) {
    state.from_sender = clocks_.save_host(host);
  } else if (!eager) {
    state.from_receiver = clocks_.save_host(host);
  }
  HostId& waiting = sends ? state.waiting_receiver : state.waiting_sender;
  if (waiting.valid()) ready_.push_back(waiting);
  waiting = HostId::none();
}

bool Walk::message(HostId host, HostCall c) {
  const std::uint32_t id = c.message();
  const MessageSpec& spec = plan().messages[id];
  MessageState& state = messages_[id];
  const HostCallKind kind = c.kind();
  const bool posts = kind != HostCallKind::wait_message;
  const bool sends =
      kind == HostCallKind::send || kind == HostCallKind::isend || (!posts && spec.from == host);
  // A host that has waited comes back to the same call.
  if (posts && !(sends ? state.send_posted : state.receive_posted)) post(host, id, sends);
  if (kind == HostCallKind::isend || kind == HostCallKind::irecv) return true;
  if (sends && is_eager(spec)) return true;
  if (!(sends ? state.receive_posted : state.send_posted)) {
    (sends ? state.waiting_sender : state.waiting_receiver) = host;
    return false;
  }
  Clocks::Slot& snapshot = sends ? state.from_receiver : state.from_sender;
  if (snapshot != never) {
    clocks_.learn_from(host, snapshot);
    clocks_.release_host(snapshot);
    snapshot = never;
  }
  return true;
}

void Walk::report_unmatched() {
  for (std::uint32_t id = 0; id < messages_.size(); ++id) {
    const MessageState& state = messages_[id];
    if (state.send_posted == state.receive_posted) continue;
    const HostId host = state.send_posted ? plan().messages[id].from : plan().messages[id].to;
    const HostId other = state.send_posted ? plan().messages[id].to : plan().messages[id].from;
    // A host that stands somewhere has been reported, or waits for one that has been.
    if (next_call_[other] < plan().hosts[other].calls.size()) continue;
    if (next_call_[host] < plan().hosts[host].calls.size()) continue;
    findings_.add(FindingKind::malformed, host, next_call_[host], [&] {
      return fmt::format("{} {} message {}, which {} never {}",
                         host_name(plan(), host),
                         state.send_posted ? "sends" : "receives",
                         id,
                         host_name(plan(), other),
                         state.send_posted ? "receives" : "sends");
    });
  }
}

HostId Walk::other_end(HostId host) const {
  const HostCall call = plan().hosts[host].calls[next_call_[host]];
  const MessageSpec& message = plan().messages[call.message()];
  return message.from == host ? message.to : message.from;
}

std::string Walk::blocked_text(HostId host) const {
  const HostCall call = plan().hosts[host].calls[next_call_[host]];
  return fmt::format("{} (call {}) waits in {} of message {} for {}",
                     host_name(plan(), host),
                     next_call_[host],
                     to_string(call.kind()),
                     call.message(),
                     host_name(plan(), other_end(host)));
}

void Walk::report_deadlocks() {
  // Every blocked host waits for exactly one other: following that leads into a cycle or to a host
  // that has ended. One finding for each such end; hosts that merely wait for it are counted.
  const auto blocked = [&](HostId host) {
    return next_call_[host] < plan().hosts[host].calls.size();
  };
  IdVector<HostId, std::uint32_t> visit(plan().hosts.size(), 0);
  std::uint32_t round = 0;
  for (const HostId start : plan().hosts.ids()) {
    if (!blocked(start) || visit[start] != 0) continue;
    ++round;
    HostId host = start;
    while (blocked(host) && visit[host] == 0) {
      visit[host] = round;
      if (!blocked(other_end(host))) break;
      host = other_end(host);
    }
    if (visit[host] != round) continue;  // leads into an end that is already reported
    findings_.add(FindingKind::deadlock, host, next_call_[host], [&] {
      std::string text = blocked_text(host);
      HostId next = other_end(host);
      for (; next != host && blocked(next); next = other_end(next)) {
        text += ", which " + blocked_text(next).substr(host_name(plan(), next).size() + 1);
      }
      if (!blocked(next)) text += ", which has ended without it";
      return text + "; calls after this are not checked";
    });
  }
}

}  // namespace schedlab::checker
