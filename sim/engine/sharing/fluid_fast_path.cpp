// SPDX-License-Identifier: Apache-2.0
#include "sim/engine/sharing/fluid_inline.hpp"

/// \file
/// Members of FluidSharing: block completions and starts that no other component observes. Most
/// events of a busy device are of this kind.
namespace schedlab {

/// The commonest case of advance_shared(), after blocks have ended: the first that waits, which
/// runs, gets all the capacity, and has blocks left then. False: that is not so.
inline bool FluidSharing::fill_first(Pool& pool, DeviceState& device, std::int64_t now) {
  const std::uint32_t index = pool.cycling;
  if (index == nil || index != queues_[pool.first_queue + pool.top].head) {
    return false;
  }
  Kernel& to = kernels_[index];
  if (to.rounds != 0 && catch_up(index, now)) touch(index, to);
  const std::uint32_t blocks = blocks_that_fit(pool.capacity_left, to);
  if (blocks >= to.blocks_left) return false;
  if (blocks != 0) {
    to.blocks_left -= blocks;
    to.blocks_running += blocks;
    pool.capacity_left -= std::int64_t{to.footprint} * blocks;
    place_cohort(to, blocks, device, now);
    touch(index, to);
  }
  return true;
}

/// Ends a cohort of the kernel, which goes on, where any kernel may be slowed down by that.
inline void FluidSharing::advance_shared(std::uint32_t ended,
                                         Kernel& kernel,
                                         DeviceState& device,
                                         std::int64_t now) {
  skip_rounds(kernel, kernel.rounds);
  kernel.rounds = 0;
  end_first_cohort(kernel);
  touch(ended, kernel);
  Pool& pool = pools_[kernel.pool];
  if (pool.waiting != 0 && !fill_first(pool, device, now)) dispatch_waiting(pool, now);
  if (device.share.saturated()) {
    for (const std::uint32_t index : touched_) {
      device.share.update_demand(index, kernels_, now);
      schedule(index, kernels_[index], device);
    }
    touched_.clear();
    share_device(pool.device, device, now);
  } else {
    share_bandwidth(now);
  }
  dispatched_at_ = now;
  dispatch_needed_ = false;
}

/// The next events before `horizon`, where some are short of bandwidth or units.
FluidSharing::Stop FluidSharing::advance_saturated(DeviceState& device,
                                                   std::int64_t now,
                                                   std::int64_t horizon) {
  for (;;) {
    const bool shared = device.share.next_event() == now;
    if (shared ? device.events.next_time() == now : !device.events.alone()) {
      return Stop::several_ends;
    }
    const std::uint32_t index = shared ? device.share.due_alone() : device.events.next_kernel();
    if (index == nil) return Stop::several_ends;
    event_time_ = now;  // of notices
    if (completes(kernels_[index])) return Stop::completes;
    if (!shared) (void)device.events.pop();
    advance_shared(index, kernels_[index], device, now);
    const std::int64_t next = next_time(device);
    if (next >= horizon || !notices_.empty() || !device.share.saturated()) return Stop::changed;
    now = next;
  }
}

/// The commonest case of replace_ended(): all the capacity goes to the first that waits, which
/// runs, has blocks left then, and whose other events do not change. False: nothing was done.
inline bool FluidSharing::replace_block(
    std::uint32_t ended, Kernel& from, Pool& pool, DeviceState& device, std::int64_t now) {
  const std::uint32_t index = pool.cycling;
  if (index == nil || index != queues_[pool.first_queue + pool.top].head) return false;
  Kernel& to = kernels_[index];
  if (from.rounds != 0 || to.rounds != 0 || to.request.held) [[unlikely]]
    return false;
  const std::uint32_t node = from.cohorts.first;
  const std::uint32_t given = cohorts_[node].blocks;
  // A division less where the blocks are alike and there was no capacity for any.
  const std::int64_t capacity_left = pool.capacity_left + std::int64_t{from.footprint} * given;
  const std::uint32_t blocks = from.footprint == to.footprint && pool.capacity_left < to.footprint
                                   ? given
                                   : blocks_that_fit(capacity_left, to);
  if (blocks >= to.blocks_left || blocks == 0) return false;
  if (to.blocks_running == 0 && index != ended) [[unlikely]]
    return false;
  pool.capacity_left = capacity_left - std::int64_t{to.footprint} * blocks;
  (void)take_first(from.cohorts);
  from.blocks_running -= given;
  to.blocks_left -= blocks;
  to.blocks_running += blocks;
  const std::int64_t end = now + to.own + to.block_time - to.shift;
  if (to.cohorts.last != nil && cohorts_[to.cohorts.last].end == end) [[unlikely]] {
    cohorts_[to.cohorts.last].blocks += blocks;
    free_cohort(node);
  } else {
    cohorts_[node].end = end;
    cohorts_[node].blocks = blocks;
    link(to.cohorts, node);
    device.events.insert(now + to.block_time, index);
  }
  device.share.set_demand(to);
  if (index != ended) {
    device.share.set_demand(from);
  } else if (may_cycle(index, to, device, now)) {
    count_rounds(index, to, pool);
    list_events(index, to, device);
  }
  return true;
}

/// The next events before `horizon`, while none is short of bandwidth.
inline FluidSharing::Stop FluidSharing::advance_unsaturated(DeviceState& device,
                                                            std::int64_t now,
                                                            std::int64_t horizon) {
  for (;;) {
    if (!device.events.alone()) [[unlikely]]
      return Stop::several_ends;
    const std::uint32_t index = device.events.next_kernel();
    Kernel& kernel = kernels_[index];
    event_time_ = now;  // of notices
    if (completes(kernel)) return Stop::completes;
    (void)device.events.pop();
    Pool& pool = pools_[kernel.pool];
    if (limits(device, pool)) [[unlikely]] {
      advance_shared(index, kernel, device, now);
      return Stop::changed;
    }
    if (!replace_block(index, kernel, pool, device, now)) {
      replace_ended(index, kernel, pool, device, now);
    }
    dispatched_at_ = now;
    if (device.share.overbooked()) [[unlikely]] {
      note_change(pool.device, device);
      share_bandwidth(now);
    }
    const std::int64_t next = device.events.next_time();
    if (next >= horizon || !notices_.empty() || device.share.saturated()) break;
    now = next;
  }
  return Stop::changed;
}

/// Does next events, before `horizon`, that are each the end of one cohort, alone at its time,
/// after which its kernel goes on. `next` is then the time of the next event. Says why it stopped.
FluidSharing::Stop FluidSharing::advance(std::int64_t& next, std::int64_t horizon) {
  for (; next < horizon; next = next_time()) {
    if (!next_device_alone()) return Stop::several_ends;
    const std::uint32_t number = next_device();
    DeviceState& device = devices_[number];
    const std::int64_t until = device_count_ == 1 ? horizon : next + 1;
    Stop stop = Stop::changed;
    if (device.share.saturated()) {
      stop = advance_saturated(device, next, until);
    } else {
      stop = advance_unsaturated(device, next, until);
      renew(number, device);
    }
    if (stop != Stop::changed) {
      next = next_time();
      return stop;
    }
    if (!notices_.empty() || dispatch_needed()) return Stop::changed;
  }
  return Stop::changed;
}

/// The same in few steps where all have the bandwidth they want and whoever waits may start.
inline void FluidSharing::replace_ended(
    std::uint32_t ended, Kernel& from, Pool& pool, DeviceState& device, std::int64_t now) {
  const bool had_rounds = from.rounds != 0;
  if (had_rounds) [[unlikely]] {
    skip_rounds(from, from.rounds);
    from.rounds = 0;
  }
  const std::uint32_t node = take_first(from.cohorts);
  const std::uint32_t blocks = cohorts_[node].blocks;
  free_cohort(node);
  from.blocks_running -= blocks;
  pool.capacity_left += std::int64_t{from.footprint} * blocks;
  if (pool.waiting != 0) refill(pool, ended, device, now);
  device.share.set_demand(from);
  if (had_rounds || (pool.cycling == ended && may_cycle(ended, from, device, now))) {
    count_rounds(ended, from, pool);
    list_events(ended, from, device);
  }
}

/// Others come before the one whose cohorts follow upon each other by themselves: from now on each
/// of them is an event.
void FluidSharing::interrupt(std::uint32_t index, DeviceState& device, std::int64_t now) {
  Kernel& kernel = kernels_[index];
  if (kernel.rounds == 0) return;
  (void)catch_up(index, now);
  kernel.rounds = 0;
  device.share.set_demand(kernel);
  list_events(index, kernel, device);
}

/// Places blocks of those who wait, the first first. `ended` is scheduled by the caller.
// NOLINTNEXTLINE(readability-function-cognitive-complexity): one pass over the queues, for speed
void FluidSharing::refill(Pool& pool, std::uint32_t ended, DeviceState& device, std::int64_t now) {
  const std::uint32_t cycled = pool.cycling;
  pool.cycling = nil;
  if (cycled != nil && cycled != ended && cycled != queues_[pool.first_queue + pool.top].head)
      [[unlikely]] {
    interrupt(cycled, device, now);
  }
  for (;; ++pool.top) {
    Queue& queue = queues_[pool.first_queue + pool.top];
    while (queue.head != nil) {
      const std::uint32_t index = queue.head;
      Kernel& kernel = kernels_[index];
      if (pool.capacity_left < kernel.footprint) {
        if (kernel.started && kernel.block_time > 0) pool.cycling = index;
        return;
      }
      const bool idle = kernel.blocks_running == 0;
      if (kernel.rounds != 0) [[unlikely]] {  // disturbed: they are counted again when it ends one
        (void)catch_up(index, now);
        kernel.rounds = 0;
        list_events(index, kernel, device);
      }
      const std::uint32_t blocks = blocks_that_fit(pool.capacity_left, kernel);
      if (!kernel.started) begin(index, kernel, device, now);
      kernel.blocks_left -= blocks;
      kernel.blocks_running += blocks;
      pool.capacity_left -= std::int64_t{kernel.footprint} * blocks;
      if (append(kernel.cohorts, now + kernel.own + kernel.block_time - kernel.shift, blocks) &&
          !kernel.request.held) {
        device.events.insert(now + kernel.block_time, index);
      }
      device.share.set_demand(kernel);
      if (kernel.blocks_left != 0 && kernel.block_time > 0) {
        pool.cycling = index;
        if (idle && !kernel.request.held && may_cycle(index, kernel, device, now)) {
          count_rounds(index, kernel, pool);
          list_events(index, kernel, device);
        }
      }
      if (kernel.blocks_left != 0) return;
      queue.head = kernel.next_waiting;
      if (queue.head == nil) queue.tail = nil;
      if (!kernel.request.quiet) notices_.push_back({index, Notice::What::placed});
      if (--pool.waiting == 0) return;
    }
  }
}

}  // namespace schedlab
