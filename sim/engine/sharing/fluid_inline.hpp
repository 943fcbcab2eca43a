// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "sim/engine/sharing/fluid.hpp"

/// \file
/// Members of FluidSharing that are part of every event.
namespace schedlab {

inline void FluidSharing::append(CohortList& list, std::int64_t end, std::uint32_t blocks) {
  if (list.last != nil && cohorts_[list.last].end == end) {
    cohorts_[list.last].blocks += blocks;
    return;
  }
  std::uint32_t index = free_cohort_;
  if (index == nil) {
    index = static_cast<std::uint32_t>(cohorts_.size());
    cohorts_.emplace_back();
  } else {
    free_cohort_ = cohorts_[index].next;
  }
  cohorts_[index] = {.end = end, .blocks = blocks, .next = nil};
  if (list.last == nil) {
    list.first = index;
  } else {
    cohorts_[list.last].next = index;
  }
  list.last = index;
}

inline std::uint32_t FluidSharing::take_first(CohortList& list) {
  const std::uint32_t index = list.first;
  list.first = cohorts_[index].next;
  if (list.first == nil) list.last = nil;
  return index;
}

inline void FluidSharing::free_cohort(std::uint32_t node) {
  cohorts_[node].next = free_cohort_;
  free_cohort_ = node;
}

inline void FluidSharing::drop(CohortList& list) {
  if (list.first == nil) return;
  cohorts_[list.last].next = free_cohort_;
  free_cohort_ = list.first;
  list = {};
}

/// Of the kernel's blocks that are not placed yet.
inline std::uint32_t FluidSharing::blocks_that_fit(std::int64_t room, const Kernel& kernel) {
  if (room >= std::int64_t{kernel.footprint} * kernel.blocks_left) return kernel.blocks_left;
  if (room < kernel.footprint) return 0;
  const auto low = static_cast<std::uint32_t>(room);
  if (low == room) return low / kernel.footprint;  // a short division is half as dear
  return static_cast<std::uint32_t>(room / kernel.footprint);
}

inline void FluidSharing::begin(std::uint32_t index,
                                Kernel& kernel,
                                DeviceState& device,
                                std::int64_t now) {
  kernel.started = true;
  kernel.own = -now;
  kernel.started_at = now;
  kernel.running_at = static_cast<std::uint32_t>(device.running.size());
  ++device.resident;
  device.running.push_back(index);
  if (kernel.request.held) notices_.push_back({index, true});
}

/// The kernel is to be touched afterwards.
inline void FluidSharing::end_first_cohort(Kernel& kernel) {
  const std::uint32_t node = take_first(kernel.cohorts);
  const Cohort cohort = cohorts_[node];
  free_cohort(node);
  kernel.blocks_running -= cohort.blocks;
  if (kernel.blocks_left != 0 && kernel.short_of_bandwidth) {
    append(kernel.returned, cohort.end, cohort.blocks);
  }
  Pool& pool = pools_[kernel.pool];
  if (pool.units != 0) pool.room += std::int64_t{kernel.footprint} * cohort.blocks;
}

inline void FluidSharing::note_change(std::uint32_t number, DeviceState& device) {
  if (device.changed || !(device.share.saturated() || device.share.overbooked())) return;
  device.changed = true;
  changed_devices_.push_back(number);
}

inline void FluidSharing::skip_rounds(Kernel& kernel, std::uint32_t rounds) {
  kernel.shift += std::int64_t{rounds} * kernel.block_time;
  kernel.blocks_left -= rounds * kernel.blocks_running;
}

/// Own time of the kernel's next event.
inline std::int64_t FluidSharing::next_own_time(const Kernel& kernel) const {
  return cohorts_[kernel.cohorts.first].end + kernel.shift + kernel.rounds * kernel.block_time;
}

/// schedule() where nobody is short of bandwidth, and the kernel is not held.
inline void FluidSharing::reschedule(std::uint32_t index, Kernel& kernel, const Pool& pool) {
  if (kernel.blocks_left == 0 && kernel.blocks_running != 0) {
    kernel.rounds = 0;
    const std::int64_t end = cohorts_[kernel.cohorts.first].end + kernel.shift;
    ends_.set(heap_id(index), end - kernel.own);
    return;
  }
  if (kernel.blocks_running == 0) {
    ends_.remove(heap_id(index));
    return;
  }
  kernel.rounds = 0;
  if (kernel.blocks_left > kernel.blocks_running && pool.cycling == index) {
    kernel.rounds = (kernel.blocks_left - 1) / kernel.blocks_running;
  }
  const std::int64_t time = next_own_time(kernel) - kernel.own;
  pool.cycling == index ? ends_.set_apart(heap_id(index), time) : ends_.set(heap_id(index), time);
}

inline void FluidSharing::schedule(std::uint32_t index, Kernel& kernel, DeviceState& device) {
  kernel.touched = false;
  drop(kernel.returned);
  if (kernel.blocks_running == 0) {
    ends_.remove(heap_id(index));
    if (kernel.blocks_left == 0) free_kernels_.push_back(index);
    return;
  }
  if (kernel.request.held) {  // release() says when
    if (kernel.release_at == fluid::no_release) {
      ends_.remove(heap_id(index));
    } else {
      ends_.set(heap_id(index), kernel.release_at);
    }
    return;
  }
  kernel.rounds = 0;
  if (kernel.blocks_left > kernel.blocks_running && pools_[kernel.pool].cycling == index) {
    kernel.rounds = (kernel.blocks_left - 1) / kernel.blocks_running;
  }
  const std::int64_t own = next_own_time(kernel);
  if (device.share.holds(kernel)) {
    device.share.set_event(kernel, own);
  } else {
    ends_.set(heap_id(index), own - kernel.own);
  }
}

}  // namespace schedlab
