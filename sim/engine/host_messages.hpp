// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "sim/engine/event_engine.hpp"

#include <fmt/format.h>

/// \file
/// Members of EventEngine: messages between host threads.
///
/// A message of at most the eager threshold, and a one-sided one, leaves when its send is posted;
/// the sender goes on at once and the receiver's side buffers it. A larger one is a
/// rendezvous: the sender asks, the receiver answers once its receive is posted (one latency each
/// way), then the bytes move; the sender is held until they have left. In both cases the bytes
/// share the links of their route with all others under way and arrive one latency after the last
/// of them has left. This is the protocol of MPI libraries (MPI: A Message-Passing Interface
/// Standard 4.1, 3.4, leaves it open). The bytes of a get start out one latency after its receive
/// is posted, the way of its request to the owner, whose host has no part in it. isend and irecv
/// post and go on, wait_message blocks until that side is done; messages make progress without the
/// hosts.
namespace schedlab::engine {

template <class Source, class Sharing>
bool EventEngine<Source, Sharing>::message(std::uint32_t index) {
  HostThread& host = scratch_.hosts[index];
  if (host.released) {
    unblock(host);
    return true;
  }
  const HostCallKind kind = host.call.kind();
  const std::uint32_t id = host.call.message();
  SCHEDLAB_EXPECTS(id < scratch_.messages.size(), fmt::format("message {}", id));
  const bool posts = kind != HostCallKind::wait_message;
  const bool sends = kind == HostCallKind::send || kind == HostCallKind::isend ||
                     (!posts && source_.plan().messages[id].from == HostId{index});
  const Duration cost = sends ? costs(index).send : costs(index).receive;
  const Time end = host.call_started + (posts ? cost : Duration{0});
  if (!caught_up(index, end)) return false;
  host.clock = end;
  if (posts) post_message(id, sends);
  if (kind == HostCallKind::isend || kind == HostCallKind::irecv) return true;
  Message& m = scratch_.messages[id];
  if (sends ? m.sent : m.received) return true;
  (sends ? m.waiting_sender : m.waiting_receiver) = index;
  return block(index, HostState::message, end);
}

template <class Source, class Sharing>
void EventEngine<Source, Sharing>::post_message(std::uint32_t id, bool sends) {
  Message& m = scratch_.messages[id];
  const MessageSpec& spec = source_.plan().messages[id];
  (sends ? m.send_posted : m.receive_posted) = true;
  const bool got = spec.one_sided == OneSided::get;
  if (!got && spec.leaves_at_once(problem_.platform.network.eager_threshold)) {
    if (sends) {
      m.sent = true;
      move_message(id);
    } else {
      m.received = m.stage == Message::Stage::done;
    }
    return;
  }
  const Time now = devices_.now();
  if (sends) m.asked = now;
  if (!m.receive_posted || (!got && !m.send_posted)) return;
  const Routes& routes = scratch_.transfers.routes();
  const Time asked = got ? now : m.asked + routes.latency(spec.from.value(), spec.to.value());
  const Time answered = std::max(asked, now) + routes.latency(spec.to.value(), spec.from.value());
  if (answered == now) return move_message(id);
  m.stage = Message::Stage::shaking_hands;
  scratch_.arrivals.push(answered, phase_message, id);
}

template <class Source, class Sharing>
void EventEngine<Source, Sharing>::move_message(std::uint32_t id) {
  const MessageSpec& spec = source_.plan().messages[id];
  route_.clear();
  scratch_.transfers.routes().route(spec.from.value(), spec.to.value(), route_);
  scratch_.messages[id].left_from = devices_.now();
  if (route_.empty() || spec.bytes == Bytes{0}) return message_has_left(id);
  scratch_.messages[id].stage = Message::Stage::moving;
  scratch_.transfers.start(id, route_, spec.bytes, devices_.now());
}

template <class Source, class Sharing>
void EventEngine<Source, Sharing>::message_has_left(std::uint32_t id) {
  Message& m = scratch_.messages[id];
  m.sent = true;
  resume(m.waiting_sender);
  const MessageSpec& spec = source_.plan().messages[id];
  const Duration latency = scratch_.transfers.routes().latency(spec.from.value(), spec.to.value());
  if (latency == Duration{0}) return message_arrives(id);
  m.stage = Message::Stage::arriving;
  scratch_.arrivals.push(devices_.now() + latency, phase_message, id);
}

template <class Source, class Sharing>
void EventEngine<Source, Sharing>::message_arrives(std::uint32_t id) {
  Message& m = scratch_.messages[id];
  m.stage = Message::Stage::done;
  if (options_.record_flows) {
    const MessageSpec& spec = source_.plan().messages[id];
    trace_.messages.push_back({.message = id,
                               .from = spec.from,
                               .to = spec.to,
                               .bytes = spec.bytes,
                               .left = m.left_from,
                               .arrived = devices_.now()});
  }
  if (!m.receive_posted) return;
  m.received = true;
  resume(m.waiting_receiver);
}

template <class Source, class Sharing>
void EventEngine<Source, Sharing>::continue_message(std::uint32_t id) {
  if (scratch_.messages[id].stage == Message::Stage::shaking_hands) {
    move_message(id);
  } else {
    message_arrives(id);
  }
}

}  // namespace schedlab::engine
