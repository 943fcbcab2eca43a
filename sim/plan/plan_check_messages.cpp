// SPDX-License-Identifier: Apache-2.0
// Walk, continued: messages between hosts and the deadlocks they can make.
#include "sim/plan/plan_check_walk.hpp"

#include <fmt/format.h>

namespace schedlab::checker {

bool Walk::exchange(HostId host, HostCall c) {
  HostId& waiting = waiting_in_[c.message()];
  if (!waiting.valid() || waiting == host) {
    waiting = host;
    return false;
  }
  clocks_.meet(host, waiting);
  ++next_call_[waiting];
  ready_.push_back(waiting);
  return true;
}

HostId Walk::other_end(HostId host) const {
  const HostCall call = plan().hosts[host].calls[next_call_[host]];
  const MessageSpec& message = plan().messages[call.message()];
  return call.kind() == HostCallKind::send ? message.to : message.from;
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
