// SPDX-License-Identifier: Apache-2.0
#pragma once

/// \file
/// Members of DeviceSide: streams and the connections they are mapped onto.
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
  opened.event_latency = device.event_latency;
  const std::uint32_t number = next_connection_[spec.device]++;
  if (device.connections == 0) {
    opened.connection = static_cast<std::uint32_t>(scratch_.connections.size());
    scratch_.connections.emplace_back();
    return;
  }
  if (first_connection_[spec.device] == nil) {
    first_connection_[spec.device] = static_cast<std::uint32_t>(scratch_.connections.size());
    Connection shared;
    shared.shared = true;
    scratch_.connections.resize(scratch_.connections.size() + device.connections, shared);
  }
  opened.connection = first_connection_[spec.device] + number % device.connections;
}

}  // namespace schedlab::engine
