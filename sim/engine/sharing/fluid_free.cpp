// SPDX-License-Identifier: Apache-2.0
#include "sim/engine/sharing/fluid_inline.hpp"

/// \file
/// Members of FluidSharing: one block's end and another's start while nobody looks. Most events of
/// a busy device are of this kind.
namespace schedlab {

/// Does next events, before `horizon`, that are each the end of one cohort, alone at its time,
/// after which its kernel goes on. `next` is then the time of the next event. Says why it stopped.
FluidSharing::Stop FluidSharing::pass_on(std::int64_t& next, std::int64_t horizon) {
  for (; next < horizon; next = ends_.next_time()) {
    if (!ends_.alone()) return Stop::several_ends;
    std::uint32_t index = ends_.top();
    if (index >= device_count_) {
      index -= device_count_;
    } else {
      index = devices_[index].share.due_alone();
      if (index == nil) return Stop::several_ends;
    }
    Kernel& kernel = kernels_[index];
    event_time_ = next;  // of notices
    if (completes(kernel)) return Stop::completes;
    Pool& pool = pools_[kernel.pool];
    DeviceState& device = devices_[pool.device];
    if (device.share.saturated() || limits(device, pool)) {
      pass_on_sharing(index, kernel, next);
      if (!notices_.empty() || dispatch_needed()) return Stop::look_again;
      continue;
    }
    if (kernel.blocks_left == 0 && hand_over(kernel, pool, device, next)) continue;
    pass_on_freely(index, kernel, device, next);
    if (!notices_.empty()) return Stop::look_again;
  }
  return Stop::look_again;
}

/// Others take part in what the first does by itself: its rounds are counted again when it ends
/// one. Until then its next event is the end of its first cohort, or of those that begin now.
/// False: at this moment its blocks end too.
inline bool FluidSharing::disturb(std::uint32_t index, Kernel& kernel, std::int64_t now) {
  std::int64_t end = now + kernel.block_time;
  if (kernel.blocks_running != 0) {
    end = cohorts_[kernel.cohorts.first].end + kernel.shift - kernel.own;
    if (end <= now) return false;
  }
  kernel.rounds = 0;
  ends_.set_apart(heap_id(index), end);
  return true;
}

/// The commonest of these events in few steps: the kernel is fully placed, and all its room goes to
/// the one that is the first and stays it, or to nobody. False: it is another one.
inline bool FluidSharing::hand_over(Kernel& from,
                                    Pool& pool,
                                    DeviceState& device,
                                    std::int64_t now) {
  Cohort* const cohorts = cohorts_.data();  // no more of them: one is moved
  const std::uint32_t node = from.cohorts.first;
  Cohort& moved = cohorts[node];
  const std::uint32_t rest = moved.next;
  const std::uint32_t ended = moved.blocks;
  const std::int64_t room = pool.room + std::int64_t{from.footprint} * ended;
  if (pool.waiting == 0) {
    pool.room = room;
    free_cohort(node);
  } else {
    const std::uint32_t first = pool.cycling;
    if (first == nil || first != queues_[pool.first_queue + pool.top].head) return false;
    Kernel& to = kernels_[first];
    const std::uint32_t blocks = blocks_that_fit(room, to);
    if (blocks == to.blocks_left || blocks == 0) return false;
    if ((to.rounds != 0 || to.blocks_running == 0) && !disturb(first, to, now)) return false;
    to.blocks_left -= blocks;
    to.blocks_running += blocks;
    pool.room = room - std::int64_t{to.footprint} * blocks;
    device.share.set_demand(to);
    const std::int64_t end = now + to.own + to.block_time - to.shift;
    const std::uint32_t last = to.cohorts.last;
    if (last != nil && cohorts[last].end == end) {
      cohorts[last].blocks += blocks;
      free_cohort(node);
    } else {
      (last == nil ? to.cohorts.first : cohorts[last].next) = node;
      to.cohorts.last = node;
      moved.end = end;
      moved.blocks = blocks;
      moved.next = nil;
    }
  }
  from.blocks_running -= ended;
  from.cohorts.first = rest;
  device.share.set_demand(from);
  ends_.delay_first(cohorts[rest].end + from.shift - from.own);
  dispatched_at_ = now;
  if (device.share.overbooked()) {
    note_change(pool.device, device);
    share_bandwidth(now);
  }
  return true;
}

void FluidSharing::pass_on_sharing(std::uint32_t ended, Kernel& kernel, std::int64_t now) {
  skip_rounds(kernel, kernel.rounds);
  kernel.rounds = 0;
  end_first_cohort(kernel);
  touch(ended, kernel);
  if (pools_[kernel.pool].waiting != 0) dispatch_pool(kernel.pool, now);
  share_bandwidth(now);
  dispatched_at_ = now;
}

/// The same in few steps where all have the bandwidth they want and whoever waits may start.
inline void FluidSharing::pass_on_freely(std::uint32_t ended,
                                         Kernel& from,
                                         DeviceState& device,
                                         std::int64_t now) {
  Pool& pool = pools_[from.pool];
  if (from.rounds != 0) skip_rounds(from, from.rounds);
  from.rounds = 0;
  const std::uint32_t node = take_first(from.cohorts);
  from.blocks_running -= cohorts_[node].blocks;
  pool.room += std::int64_t{from.footprint} * cohorts_[node].blocks;
  free_cohort(node);
  if (pool.waiting != 0) {
    const std::uint32_t cycled = pool.cycling;
    const std::uint32_t first = queues_[pool.first_queue + pool.top].head;
    if (cycled != nil && cycled == first && cycled != ended) {
      if (!feed_first(pool, cycled, device, now)) give_freely(pool, ended, device, now);
    } else {
      if (cycled != nil && cycled != ended) {
        if (kernels_[cycled].rounds != 0) (void)settle(cycled, now);
        touch(cycled, kernels_[cycled]);
      }
      pool.cycling = nil;
      give_freely(pool, ended, device, now);
    }
  }
  device.share.set_demand(from);
  reschedule(ended, from, pool);
  dispatched_at_ = now;
  if (!touched_.empty() || device.share.overbooked()) {
    note_change(pool.device, device);
    share_bandwidth(now);
  }
}

/// Gives the free room to the kernel that is the first and runs, if it can take all of it and more.
/// Else only settles it: false.
inline bool FluidSharing::feed_first(Pool& pool,
                                     std::uint32_t index,
                                     DeviceState& device,
                                     std::int64_t now) {
  Kernel& kernel = kernels_[index];
  const bool changes = kernel.rounds != 0 || kernel.blocks_running == 0;
  if (kernel.rounds != 0) {
    (void)settle(index, now);
    kernel.rounds = 0;  // others disturb its rounds; they are counted again when it does one
  }
  const std::uint32_t blocks = blocks_that_fit(pool.room, kernel);
  if (blocks == kernel.blocks_left) {
    pool.cycling = nil;
    return false;
  }
  if (blocks != 0) {
    kernel.blocks_left -= blocks;
    kernel.blocks_running += blocks;
    pool.room -= std::int64_t{kernel.footprint} * blocks;
    append(kernel.cohorts, now + kernel.own + kernel.block_time - kernel.shift, blocks);
    device.share.set_demand(kernel);
  }
  if (changes && kernel.blocks_running != 0) {
    ends_.set_apart(heap_id(index), next_own_time(kernel) - kernel.own);
  }
  return true;
}

/// Places blocks of those who wait, the first first. `ended` is scheduled by the caller.
// NOLINTNEXTLINE(readability-function-cognitive-complexity): one pass over the queues, for speed
void FluidSharing::give_freely(Pool& pool,
                               std::uint32_t ended,
                               DeviceState& device,
                               std::int64_t now) {
  for (;; ++pool.top) {
    Queue& queue = queues_[pool.first_queue + pool.top];
    while (queue.head != nil) {
      const std::uint32_t index = queue.head;
      Kernel& kernel = kernels_[index];
      const std::uint32_t blocks = blocks_that_fit(pool.room, kernel);
      if (blocks != 0) {
        if (!kernel.started) begin(index, kernel, device, now);
        kernel.blocks_left -= blocks;
        kernel.blocks_running += blocks;
        pool.room -= std::int64_t{kernel.footprint} * blocks;
        append(kernel.cohorts, now + kernel.own + kernel.block_time - kernel.shift, blocks);
      }
      const bool done = kernel.blocks_left == 0;
      if (!done && kernel.started && kernel.block_time > 0) pool.cycling = index;
      if (index != ended && kernel.started) {
        device.share.set_demand(kernel);
        kernel.request.held ? schedule(index, kernel, device) : reschedule(index, kernel, pool);
      }
      if (!done) return;
      queue.head = kernel.next_waiting;
      if (queue.head == nil) queue.tail = nil;
      if (!kernel.request.quiet) notices_.push_back({index, false});
      if (--pool.waiting == 0) return;
    }
  }
}

}  // namespace schedlab
