// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "sim/engine/device_side.hpp"

/// \file
/// Members of DeviceSide: collectives that contend with kernels, messages and each other.
namespace schedlab::engine {

/// Its last part has all it needs: from now on it moves data.
template <class Sharing>
void DeviceSide<Sharing>::begin_contending(const CollectiveState::Complete& complete) {
  for (const StreamId stream : complete.streams) sharing_.engage(stream);
  const std::span<const LinkShare> uses = problem_.costs.links(complete.id);
  const std::uint32_t flow =
      uses.empty() ? nil : scratch_.transfers.start_flow(complete.id.value(), uses, now_);
  scratch_.collectives.begin(complete, flow, now_);
}

/// Devices share themselves anew: collectives follow what they are given.
template <class Sharing>
void DeviceSide<Sharing>::follow_rates() {
  CollectiveState& collectives = scratch_.collectives;
  sharing_.changed_rates(
      [&](StreamId stream, std::uint64_t rate) { collectives.set_rate(stream, rate); });
  collectives.update(now_);
}

template <class Sharing>
void DeviceSide<Sharing>::end_collective() {
  const CollectiveState::Ended ended = scratch_.collectives.pop_end();
  if (ended.flow != nil) scratch_.transfers.stop_flow(ended.flow);
  for (const StreamId stream : scratch_.collectives.streams(ended.id)) {
    complete(sharing_.end_held(stream, now_));
  }
}

}  // namespace schedlab::engine
