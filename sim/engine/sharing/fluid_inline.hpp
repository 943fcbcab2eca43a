// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "sim/engine/sharing/fluid.hpp"

/// \file
/// Members of FluidSharing that are part of every event.
namespace schedlab {

/// Puts the cohort, which is in no list, behind all others.
inline void FluidSharing::link(CohortList& list, std::uint32_t node) {
  cohorts_[node].next = nil;
  if (list.last == nil) {
    list.first = node;
  } else {
    cohorts_[list.last].next = node;
  }
  list.last = node;
}

/// True: the blocks are a cohort of their own.
[[gnu::always_inline]] inline bool FluidSharing::append(CohortList& list,
                                                        std::int64_t end,
                                                        std::uint32_t blocks) {
  if (list.last != nil && cohorts_[list.last].end == end) {
    cohorts_[list.last].blocks += blocks;
    return false;
  }
  if (free_cohort_ == nil) [[unlikely]]
    add_free_cohort();
  const std::uint32_t index = free_cohort_;
  free_cohort_ = cohorts_[index].next;
  cohorts_[index].end = end;
  cohorts_[index].blocks = blocks;
  link(list, index);
  return true;
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

/// How many of the kernel's blocks that are not placed yet fit.
inline std::uint32_t FluidSharing::blocks_that_fit(std::int64_t capacity_left,
                                                   const Kernel& kernel) {
  if (capacity_left >= std::int64_t{kernel.footprint} * kernel.blocks_left)
    return kernel.blocks_left;
  if (capacity_left < kernel.footprint) return 0;
  const auto low = static_cast<std::uint32_t>(capacity_left);
  if (low == capacity_left) return low / kernel.footprint;  // a short division is half as dear
  return static_cast<std::uint32_t>(capacity_left / kernel.footprint);
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
  if (kernel.request.held) notices_.push_back({index, Notice::What::start});
}

/// Blocks begin now, and may be slowed down.
inline void FluidSharing::place_cohort(Kernel& kernel,
                                       std::uint32_t blocks,
                                       const DeviceState& device,
                                       std::int64_t now) {
  if (kernel.returned.first != nil) {
    append_in_phase(kernel, blocks, device, now);
    return;
  }
  bool ticked = false;
  const std::int64_t own = device.share.own_time(kernel, now, ticked);
  append(kernel.cohorts, own + kernel.block_time - kernel.shift, blocks);
}

/// The kernel is to be touched afterwards.
[[gnu::always_inline]] inline void FluidSharing::end_first_cohort(Kernel& kernel) {
  const std::uint32_t node = take_first(kernel.cohorts);
  const Cohort cohort = cohorts_[node];
  free_cohort(node);
  kernel.blocks_running -= cohort.blocks;
  if (kernel.blocks_left != 0 && kernel.slowed) {
    append(kernel.returned, cohort.end, cohort.blocks);
  }
  Pool& pool = pools_[kernel.pool];
  if (pool.units != 0) pool.capacity_left += std::int64_t{kernel.footprint} * cohort.blocks;
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

/// Counts the rounds of its cohorts that follow upon each other by themselves while it is the first
/// kernel that waits.
inline void FluidSharing::count_rounds(std::uint32_t index, Kernel& kernel, const Pool& pool) {
  kernel.rounds = 0;
  if (pool.cycling == index && kernel.blocks_left > kernel.blocks_running &&
      kernel.blocks_running != 0) {
    kernel.rounds = (kernel.blocks_left - 1) / kernel.blocks_running;
  }
}

/// Is it worth while to count rounds? While others end cohorts they are none.
inline bool FluidSharing::may_cycle(std::uint32_t index,
                                    const Kernel& kernel,
                                    const DeviceState& device,
                                    std::int64_t now) {
  return kernel.blocks_left > kernel.blocks_running && kernel.blocks_running != 0 &&
         device.events.next_time_beside(index) - now >= 2 * kernel.block_time;
}

/// The kernel's events, in place of those it had: as schedule() where it is not short of bandwidth,
/// and not held.
inline void FluidSharing::list_events(std::uint32_t index,
                                      const Kernel& kernel,
                                      DeviceState& device) {
  device.events.remove(index);
  if (kernel.rounds != 0) {
    device.events.insert(next_own_time(kernel) - kernel.own, index);
    return;
  }
  for (std::uint32_t i = kernel.cohorts.first; i != nil; i = cohorts_[i].next) {
    device.events.insert(cohorts_[i].end + kernel.shift - kernel.own, index);
  }
}

inline void FluidSharing::schedule(std::uint32_t index, Kernel& kernel, DeviceState& device) {
  kernel.touched = false;
  drop(kernel.returned);
  if (kernel.blocks_running == 0 || kernel.request.held) {
    device.events.remove(index);
    if (kernel.blocks_running == 0) {
      if (kernel.blocks_left == 0) free_kernels_.push_back(index);
    } else if (kernel.release_at != fluid::no_release) {  // release() says when
      device.events.insert(kernel.release_at, index);
    }
  } else {
    count_rounds(index, kernel, pools_[kernel.pool]);
    if (device.share.holds(kernel)) {
      device.share.set_event(kernel, next_own_time(kernel));
    } else {
      list_events(index, kernel, device);
    }
  }
  renew(kernel.request.device.value(), device);
}

}  // namespace schedlab
