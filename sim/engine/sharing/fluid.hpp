// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "sim/engine/event_queue.hpp"
#include "sim/engine/sharing/exclusive.hpp"
#include "sim/plan/policy.hpp"

#include <cstddef>
#include <cstdint>
#include <vector>

namespace schedlab {

/// Compute sharing by slots, without placement: fast, and exact where placement does not matter.
///
/// A kernel is `blocks` thread blocks of equal time. Blocks take room on the units of their class:
/// a block of a kernel of which `per_unit` fit on a unit takes 1/per_unit of one. Room is given by
/// priority level, then in the order in which kernels reached the head of their streams; the first
/// kernel with a block left to place blocks all behind it and all lower levels, even what would fit
/// (Amert et al., RTSS 2017, rules X1 and P2). What the last wave of a kernel leaves is for the
/// next one (leftover). Nothing that runs is evicted: a less urgent kernel gives room back only as
/// its blocks end.
///
/// Blocks that start together form a cohort and end together; so a kernel costs about one event per
/// wave and not one per block. All running kernels share the memory bandwidth of their device
/// max-min fairly, whatever their priority: each has one rate, at which all its blocks progress.
/// A kernel that is not given its demand slows down in proportion.
///
/// End of a block: the first picosecond at which its work is done at the kernel's rate, which is
/// itself rounded down to a multiple of 2^-30 (never to 0).
class FluidSharing {
 public:
  using Completion = ExclusiveSharing::Completion;

  void reset(const Problem& problem);

  bool start_at_once(const KernelRequest&, Time) { return false; }
  void submit(const KernelRequest& request) { arrived_.push_back(request); }
  [[nodiscard]] bool dispatch_needed() const { return dirty_ || !arrived_.empty(); }

  /// Places blocks. on_start(request) at a kernel's first block, on_dispatched(request) at its
  /// last: from then on the calls behind it in its connection may pass.
  template <class OnStart, class OnDispatched>
  void dispatch(Time now, OnStart&& on_start, OnDispatched&& on_dispatched);

  /// The next moment at which blocks end; they may or may not complete a kernel.
  [[nodiscard]] Time next_completion();
  /// At next_completion(): ends a cohort. True if it was its kernel's last, and who that was.
  bool pop_completion(Time now, Completion& completed);

  [[nodiscard]] std::size_t memory_bytes() const;

 private:
  static constexpr std::uint32_t rate_one = 1U << 30U;
  /// Room of one unit; divisible by every number of blocks per unit up to 10, 12, 14, 15, 16, 18,
  /// 20, 24, 28, 30, 32...
  static constexpr std::int64_t unit_room = 10080;
  static constexpr std::uint32_t nil = 0xFFFFFFFFU;

  struct Cohort {
    std::int64_t end = 0;  ///< in the kernel's own time
    std::uint32_t blocks = 0;
  };
  struct Kernel {
    KernelRequest request;
    std::uint32_t blocks_left = 0;  ///< to be placed
    std::uint32_t blocks_running = 0;
    std::int64_t footprint = 0;    ///< room of one block
    std::int64_t block_time = 0;   ///< ps, at full rate
    double block_bandwidth = 0.0;  ///< bytes/s one block wants
    std::size_t pool = 0;
    std::uint32_t rate = rate_one;
    std::int64_t own_time = 0;  ///< progress at `updated`, ps at full rate
    Time updated{};
    Time next_end = Time::max();  ///< valid entry of the event queue
    std::vector<Cohort> cohorts;
    std::size_t first_cohort = 0;
    std::uint32_t next_waiting = nil;  ///< in the queue of its level
  };
  struct Queue {
    std::uint32_t head = nil;
    std::uint32_t tail = nil;
  };
  /// The units of one class of one device.
  struct Pool {
    std::int64_t room = 0;
    std::uint32_t units = 0;    ///< 0 = unlimited
    std::vector<Queue> queues;  // by level
  };
  struct DeviceState {
    std::size_t first_pool = 0;
    double bandwidth = 0.0;  ///< bytes/s; 0 = not limited
    std::uint32_t resident = 0;
    bool saturated = false;
    bool changed = false;  ///< the set of running blocks has changed
    std::vector<std::uint32_t> running;
  };

  void enqueue_arrived();
  std::uint32_t make_kernel(const KernelRequest& request);
  template <class OnStart, class OnDispatched>
  void dispatch_pool(Pool& pool, Time now, OnStart& on_start, OnDispatched& on_dispatched);
  void place(std::uint32_t index, std::uint32_t blocks, Time now);
  static void advance(Kernel& kernel, Time now);
  void schedule_next_end(std::uint32_t index);
  void set_rate(std::uint32_t index, std::uint32_t rate, Time now);
  void share_bandwidth(DeviceState& state, Time now);
  void drop_stale_ends();

  const CostTable* costs_ = nullptr;
  const Platform* platform_ = nullptr;
  std::vector<DeviceState> devices_;
  std::vector<Pool> pools_;
  std::vector<Kernel> kernels_;
  std::vector<std::uint32_t> free_kernels_;
  std::vector<KernelRequest> arrived_;
  std::vector<std::uint32_t> by_demand_;  // scratch of share_bandwidth
  EventQueue ends_;
  bool dirty_ = false;
};

template <class OnStart, class OnDispatched>
void FluidSharing::dispatch(Time now, OnStart&& on_start, OnDispatched&& on_dispatched) {
  while (dispatch_needed()) {
    enqueue_arrived();
    dirty_ = false;
    for (Pool& pool : pools_) dispatch_pool(pool, now, on_start, on_dispatched);
  }
  for (DeviceState& state : devices_) {
    if (state.changed) share_bandwidth(state, now);
  }
}

template <class OnStart, class OnDispatched>
void FluidSharing::dispatch_pool(Pool& pool,
                                 Time now,
                                 OnStart& on_start,
                                 OnDispatched& on_dispatched) {
  for (Queue& queue : pool.queues) {
    while (queue.head != nil) {
      const std::uint32_t index = queue.head;
      Kernel& kernel = kernels_[index];
      DeviceState& state = devices_[kernel.request.device.value()];
      const std::uint32_t limit = platform_->devices[kernel.request.device].resident_kernels;
      const bool first = kernel.cohorts.empty();
      if (first && limit != 0 && state.resident >= limit) return;
      const std::int64_t fit =
          kernel.footprint == 0 ? kernel.blocks_left : pool.room / kernel.footprint;
      if (fit == 0) return;
      place(
          index, static_cast<std::uint32_t>(std::min<std::int64_t>(fit, kernel.blocks_left)), now);
      if (first) {
        ++state.resident;
        state.running.push_back(index);
        on_start(kernel.request);
      }
      if (kernel.blocks_left != 0) return;
      queue.head = kernel.next_waiting;
      if (queue.head == nil) queue.tail = nil;
      on_dispatched(kernel.request);
    }
  }
}

}  // namespace schedlab
