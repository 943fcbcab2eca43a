// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "sim/engine/event_engine.hpp"

#include <fmt/format.h>

/// \file
/// Members of EventEngine: calls by which host threads meet each other.
namespace schedlab::engine {

template <class Source, class Sharing>
bool EventEngine<Source, Sharing>::message(std::uint32_t index) {
  HostThread& host = scratch_.hosts[index];
  if (host.released) {
    unblock(host);
    return true;
  }
  const bool sends = host.call.kind() == HostCallKind::send;
  const Time end = host.call_started + (sends ? costs(index).send : costs(index).receive);
  if (!caught_up(index, end)) return false;
  SCHEDLAB_EXPECTS(host.call.message() < scratch_.messages.size(),
                   fmt::format("message {}", host.call.message()));
  Message& m = scratch_.messages[host.call.message()];
  const std::uint32_t other = sends ? m.receiver : m.sender;
  if (other == nil) {
    (sends ? m.sender : m.receiver) = index;
    return block(index, HostState::message, end);
  }
  m = Message{};
  scratch_.hosts[other].released = true;
  scratch_.resumed.push_back(other);
  host.clock = end;
  return true;
}

}  // namespace schedlab::engine
