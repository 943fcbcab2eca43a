// SPDX-License-Identifier: Apache-2.0
#pragma once

/// \file
/// Members of DeviceSide: streams, the connections they are mapped onto, and the order between the
/// legacy default stream and blocking ones.
#include "sim/engine/device_side.hpp"

namespace schedlab::engine {

template <class Sharing>
void DeviceSide<Sharing>::open(StreamId id, const StreamSpec& spec) {
  SCHEDLAB_EXPECTS(problem_.platform.has_device(spec.device),
                   fmt::format("device {} of stream {}", spec.device.value(), id.value()));
  if (id.value() >= scratch_.streams.size()) scratch_.streams.resize(id.value() + 1);
  const Device& device = problem_.platform.device(spec.device);
  Stream& opened = stream(id);
  opened.device = spec.device;
  opened.level = device.level_of(spec.priority);
  opened.launch_latency = device.launch_latency;
  opened.gap = device.stream_gap;
  opened.gained = device.stream_gap - device.programmatic_gap.value_or(device.stream_gap);
  opened.partition = spec.partition;
  opened.event_latency = device.event_latency;
  opened.sync = spec.sync;
  if (spec.sync == StreamSync::legacy_default) {
    SCHEDLAB_EXPECTS(!scratch_.legacy_order.has_legacy(spec.device),
                     fmt::format("stream {} is a second legacy default stream of device {}",
                                 id.value(),
                                 spec.device.value()));
    scratch_.legacy_order.open_legacy(spec.device);
  }
  const std::uint32_t number = next_connection_[spec.device]++;
  if (device.connections == 0) {
    opened.connection = static_cast<std::uint32_t>(scratch_.connections.size());
    scratch_.connections.emplace_back();
    return;
  }
  if (first_connection_[spec.device] == nil) {
    first_connection_[spec.device] = static_cast<std::uint32_t>(scratch_.connections.size());
    scratch_.connections.resize(scratch_.connections.size() + device.connections);
  }
  opened.connection = first_connection_[spec.device] + number % device.connections;
  if (number >= device.connections) share(opened.connection);
}

/// A second stream is mapped onto the connection: what of the first one's kernel no other
/// component could observe, can be from now on.
template <class Sharing>
void DeviceSide<Sharing>::share(std::uint32_t connection) {
  Connection& c = scratch_.connections[connection];
  if (c.shared) return;
  c.shared = true;
  if constexpr (requires { sharing_.reveal(StreamId{}, c.head); }) {
    if (!c.submitted || scratch_.collectives.contains(items_[c.head].call.task())) return;
    const auto started = sharing_.reveal(items_[c.head].call.stream(), c.head);
    if (!started) return;
    start(connection, *started);
    c.submitted = false;
    pop(c);
    touch(connection);
  }
}

template <class Sharing>
void DeviceSide<Sharing>::enter_order(const Stream& s, std::uint32_t item) {
  scratch_.legacy_order.enter(s.device,
                              s.sync == StreamSync::legacy_default,
                              item,
                              s.event_latency,
                              [this](std::uint32_t connection) { wake_held(connection); });
}

template <class Sharing>
void DeviceSide<Sharing>::leave_order(const Stream& s) {
  scratch_.legacy_order.leave(
      s.device, now_, s.event_latency, [this](std::uint32_t connection) { wake_held(connection); });
}

/// May the head of the connection, a call of this stream, begin? If not, it is looked at again.
template <class Sharing>
bool DeviceSide<Sharing>::in_order(const Stream& s, std::uint32_t connection) {
  LegacyOrder& order = scratch_.legacy_order;
  Connection& c = scratch_.connections[connection];
  if (!order.begun(s.device, c.head)) {
    if (!c.waiting) order.hold(s.device, connection);
    c.waiting = true;
    return false;
  }
  const Time start = order.start_of_epoch(s.device);
  if (start <= now_) return true;
  wake_at(connection, start);
  return false;
}

}  // namespace schedlab::engine
