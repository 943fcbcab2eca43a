// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "sim/engine/sharing/device_share.hpp"
#include "sim/engine/sharing/event_row.hpp"
#include "sim/engine/sharing/exclusive.hpp"
#include "sim/engine/sharing/fluid_kernel.hpp"
#include "sim/engine/sharing/kernel_heap.hpp"
#include "sim/engine/sharing/worklist.hpp"
#include "sim/machine/residency.hpp"
#include "sim/plan/policy.hpp"

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <vector>

namespace schedlab {

/// Compute sharing by slots, without placement: fast, and exact where placement does not matter.
///
/// A kernel is `blocks` thread blocks of equal time. Blocks take capacity on the units of their
/// class: a block of which n reside on an empty unit takes 1/n of one (Residency). Capacity is
/// given by priority level, then in the order in which kernels reached the head of their streams;
/// the first kernel with a block left to place blocks all behind it and all lower levels, even what
/// would fit (Amert et al., RTSS 2017, rules X1 and P2). What the last wave of a kernel leaves is
/// for the next one (leftover). Nothing that runs is evicted: a less urgent kernel gives capacity
/// back only as its blocks end.
///
/// Blocks that start together form a cohort and end together. All running kernels share the memory
/// bandwidth of their device max-min fairly, whatever their priority (BandwidthShare), less what
/// collectives get that contend (CollectiveBandwidth): each has one rate, at which all its blocks
/// progress. A kernel that is not given its demand slows down in proportion. Where more blocks
/// reside on a unit than it runs at full rate, or it gets less done while several kernels share it,
/// that slows kernels down too (CoResidentShare).
///
/// A block ends at the first picosecond at which its work is done. A block that takes the place of
/// one of its own kernel at the instant at which that ended goes on where that one left off, in the
/// kernel's own time, so that waves drift by no rounding.
///
/// Cost: as long as a kernel is the first of its class with blocks to place, its cohorts follow
/// upon each other by themselves and only the round in which its last block is placed is
/// looked at; what happens to it before that is worked out when somebody else takes part. What no
/// other part of the engine can notice (blocks that neither start, fully place nor end a kernel) is
/// done inside next_completion().
class FluidSharing {
 public:
  using Completion = ExclusiveSharing::Completion;

  void reset(const Problem& problem, const std::vector<std::uint32_t>& partitions);

  bool start_at_once(const KernelRequest&, Time) { return false; }
  void submit(const KernelRequest& request) {
    auto index = static_cast<std::uint32_t>(kernels_.size());
    if (free_kernels_.empty()) {
      kernels_.emplace_back();
    } else {
      index = free_kernels_.take_back();
      kernels_[index].forget();
    }
    kernels_[index].request.set(request);
    arrived_.push_back(index);
    dispatch_needed_ = true;
  }
  /// The stream's quiet kernel, of the host call `item`, is no longer quiet. If it is fully placed:
  /// when its first block was; else dispatch() will tell.
  [[nodiscard]] std::optional<Time> reveal(StreamId stream, std::uint32_t item);
  [[nodiscard]] bool dispatch_needed() const { return dispatch_needed_; }

  /// Places blocks. on_dispatched(request) at a kernel's last block, on_start(request, when) just
  /// before it, of held kernels at the first: from then on the calls behind it in its connection
  /// may pass.
  template <class OnStart, class OnDispatched>
  void dispatch(Time now, OnStart&& on_start, OnDispatched&& on_dispatched);

  /// The next moment at which something ends, starts or is fully placed. Before `horizon` nothing
  /// is submitted. If that is later than `now`, blocks are placed as in dispatch(), once nothing
  /// more ends now: who is then to be told is an event of now.
  [[nodiscard]] Time next_completion(Time now, Time horizon) {
    if (notices_.empty() && next_due_ == due_.size()) {
      Time next{Duration{next_time()}};
      if (dispatch_needed_) {
        if (next <= now || horizon <= now) [[unlikely]]
          return next;
        event_time_ = now.time_since_epoch().count();
        place(event_time_);
        next = Time{Duration{next_time()}};
      }
      if (notices_.empty() && (next >= horizon || next == Time::max())) return next;
    }
    return advance_until(horizon);
  }
  /// pop_completion() has found nothing but what dispatch() has to tell.
  [[nodiscard]] bool announced() const { return announced_; }
  /// At next_completion(): ends a cohort, if there is one. True if it was its kernel's last, and
  /// who that was. Kernels that end at one instant do so in the order of their submission.
  bool pop_completion(Time now, Completion& completed);

  /// The blocks of the stream's held kernel, all placed, end together at `end`, not before the
  /// present. Until then they keep their capacity, and from now on want bandwidth. What they get of
  /// it does not change their end: others have less while they move data.
  void release(StreamId stream, Time end);
  /// As ExclusiveSharing's: where collectives contend, what they get of the bandwidth matters.
  void engage(StreamId stream);
  template <class Changed>
  void changed_rates(Changed&& changed);
  Completion end_held(StreamId stream, Time now);

  [[nodiscard]] std::size_t memory_bytes() const;

 private:
  using Kernel = fluid::Kernel;
  using Cohort = fluid::Cohort;
  using CohortList = fluid::CohortList;
  static constexpr std::uint32_t nil = fluid::nil;
  /// Capacity of one unit; divisible by every number of residents up to 16, by 18, 20, 21, 22, 24,
  /// 26, 28, 30, 32. What is left over of the others is less than a block's on a thousand units.
  static constexpr std::uint32_t unit_capacity = 1441440;

  struct Queue {
    std::uint32_t head = nil;
    std::uint32_t tail = nil;
  };
  /// What all kernels of one operation on one kind of device have in common.
  struct Form {
    const CostTable::Entry* entry = nullptr;
    double bytes = 0.0;              ///< to and from memory
    double demand_times = 0.0;       ///< block_demand times block_time, nearly
    std::uint64_t max_demand = 0;    ///< of a block: a kernel alone gets all it wants
    std::int64_t duration = -1;      ///< to which the next two belong
    std::int64_t block_time = 0;     ///< ps
    std::uint64_t block_demand = 0;  ///< as Kernel's
    std::uint32_t blocks = 0;
    std::uint32_t waves = 0;  ///< block times that it takes alone; 0: no whole number
    WavesAlone alone;
    Residency residency;
    std::uint32_t footprint = 0;  ///< capacity of one block
  };
  /// The units of one class of one device.
  struct Pool {
    std::int64_t capacity_left = 0;
    std::uint32_t units = 0;  ///< 0 = unlimited
    std::uint32_t whole = 0;  ///< units of its class: those that estimates speak of
    std::uint32_t device = 0;
    std::uint32_t first_queue = 0;  ///< of level 0
    std::uint32_t levels = 0;
    std::uint32_t waiting = 0;  ///< kernels in all queues
    std::uint32_t top = 0;      ///< no kernel waits at a more urgent level
    std::uint32_t cycling = nil;
    bool dirty = false;
  };
  struct Engaged {
    std::uint32_t kernel = nil;
    std::uint64_t wanted = 0;  ///< of the bandwidth, by all its blocks
    std::uint64_t guaranteed = 0;
  };
  struct DeviceState {
    std::uint32_t first_pool = 0;
    std::uint32_t pools = 0;
    std::uint32_t no_class = 0;   ///< pool of kernels of no class; those of partitions follow
    std::uint32_t divided = nil;  ///< the class that partitions divide
    double bandwidth = 0.0;       ///< bytes/s; 0 = not limited
    std::uint32_t resident = 0;
    std::uint32_t resident_limit = 0;                ///< 0 = none
    bool changed = false;                            ///< in changed_devices_
    std::vector<std::uint32_t> running;              ///< kernels
    std::vector<Engaged> engaged;                    ///< held ones of these that move data
    std::uint64_t engaged_rate = fluid::whole_rate;  ///< as they were told ...
    bool newly_engaged = false;                      ///< ... but for new ones
    fluid::DeviceShare share;
    /// Next events of all kernels whose events `share` does not keep: the end of each cohort; of
    /// kernels with rounds ahead, and held ones, one.
    fluid::EventRow events;
  };
  /// What the engine has to be told.
  struct Notice {
    enum class What : std::uint8_t {
      placed,  ///< fully
      start,   ///< of a held kernel
      rate,    ///< of an engaged kernel
    };
    std::uint32_t kernel;
    What what;
  };

  [[gnu::noinline]] void make_form(Form& form,
                                   const CostTable::Entry& entry,
                                   const Pool& pool) const;
  static void set_duration(Form& form, std::int64_t duration, const DeviceState& device);
  void enqueue_arrived();
  void set_up(std::uint32_t index);
  [[nodiscard]] bool may_oversubscribe(DeviceId id) const;
  void mark(std::uint32_t pool) {
    if (pools_[pool].dirty) return;
    pools_[pool].dirty = true;
    dispatch_needed_ = true;
    dirty_pools_.push_back(pool);
  }
  void touch(std::uint32_t index, Kernel& kernel) {
    if (kernel.touched) return;
    kernel.touched = true;
    dispatch_needed_ = true;
    touched_.push_back(index);
  }

  [[gnu::noinline]] void add_free_cohort() {
    free_cohort_ = static_cast<std::uint32_t>(cohorts_.size());
    cohorts_.emplace_back();
  }
  void link(CohortList& list, std::uint32_t node);
  bool append(CohortList& list, std::int64_t end, std::uint32_t blocks);
  [[nodiscard]] std::uint32_t take_first(CohortList& list);
  void drop(CohortList& list);
  void free_cohort(std::uint32_t node);

  /// All that dispatch() does before it tells anybody.
  void place(std::int64_t now) {
    if (!arrived_.empty()) enqueue_arrived();
    if (!dirty_pools_.empty() || !touched_.empty()) dispatch_all(now);
    dispatched_at_ = now;
    dispatch_needed_ = false;
  }
  void dispatch_all(std::int64_t now);
  [[nodiscard]] bool holds_up(const Pool& pool) const;
  void dispatch_pool(std::uint32_t pool, std::int64_t now);
  void dispatch_waiting(Pool& pool, std::int64_t now);
  [[gnu::noinline]] void dispatch_queues(Pool& pool, std::int64_t now);
  [[nodiscard]] static std::uint32_t blocks_that_fit(std::int64_t capacity_left,
                                                     const Kernel& kernel);
  void begin(std::uint32_t index, Kernel& kernel, DeviceState& device, std::int64_t now);
  void place_cohort(Kernel& kernel,
                    std::uint32_t blocks,
                    const DeviceState& device,
                    std::int64_t now);
  void append_in_phase(Kernel& kernel,
                       std::uint32_t blocks,
                       const DeviceState& device,
                       std::int64_t now);
  [[nodiscard]] Time advance_until(Time horizon);
  enum class Stop : std::uint8_t {
    changed,       ///< something has happened, or nothing will
    completes,     ///< the next event is the end of one kernel alone
    several_ends,  ///< more than one at one time
  };
  Stop advance(std::int64_t& next, std::int64_t horizon);
  void advance_shared(std::uint32_t ended, Kernel& kernel, DeviceState& device, std::int64_t now);
  bool fill_first(Pool& pool, DeviceState& device, std::int64_t now);
  [[gnu::noinline]] Stop advance_saturated(DeviceState& device,
                                           std::int64_t now,
                                           std::int64_t horizon);
  Stop advance_unsaturated(DeviceState& device, std::int64_t now, std::int64_t horizon);
  void replace_ended(
      std::uint32_t ended, Kernel& from, Pool& pool, DeviceState& device, std::int64_t now);
  bool replace_block(
      std::uint32_t ended, Kernel& from, Pool& pool, DeviceState& device, std::int64_t now);
  [[gnu::noinline]] void interrupt(std::uint32_t index, DeviceState& device, std::int64_t now);
  void refill(Pool& pool, std::uint32_t ended, DeviceState& device, std::int64_t now);
  /// May the limit of resident kernels matter when those who wait start?
  [[nodiscard]] static bool limits(const DeviceState& device, const Pool& pool) {
    return device.resident_limit != 0 && device.resident + pool.waiting > device.resident_limit;
  }
  [[gnu::noinline]] bool catch_up(std::uint32_t index, std::int64_t now);
  void skip_rounds(Kernel& kernel, std::uint32_t rounds);
  void end_first_cohort(Kernel& kernel);
  bool end_due(std::uint32_t index);
  void leave(std::uint32_t index, Kernel& kernel, DeviceState& device);
  void complete_quietly(std::uint32_t index, Kernel& kernel, DeviceState& device);

  void note_change(std::uint32_t number, DeviceState& device);
  [[gnu::noinline]] void share_bandwidth(std::int64_t now);
  [[gnu::noinline]] void share_changed_devices(std::int64_t now);
  void share_device(std::uint32_t number, DeviceState& device, std::int64_t now);
  [[gnu::noinline]] void note_rates(DeviceState& device);
  static void count_rounds(std::uint32_t index, Kernel& kernel, const Pool& pool);
  void schedule(std::uint32_t index, Kernel& kernel, DeviceState& device);
  [[nodiscard]] std::int64_t next_own_time(const Kernel& kernel) const;
  void list_events(std::uint32_t index, const Kernel& kernel, DeviceState& device);
  /// The device's next event may have changed.
  void renew(std::uint32_t number, const DeviceState& device) {
    if (device_count_ != 1) [[unlikely]]
      renew_of_several(number, device);
  }
  [[gnu::noinline]] void renew_of_several(std::uint32_t number, const DeviceState& device);
  [[nodiscard]] static bool may_cycle(std::uint32_t index,
                                      const Kernel& kernel,
                                      const DeviceState& device,
                                      std::int64_t now);
  [[gnu::noinline]] void collect_due(std::int64_t now);
  [[nodiscard]] static bool completes(const Kernel& kernel) {
    return kernel.blocks_left == 0 &&
           (kernel.cohorts.first == kernel.cohorts.last || kernel.request.held);
  }
  [[nodiscard]] static std::int64_t next_time(const DeviceState& device) {
    const std::int64_t next = device.events.next_time();
    return device.share.saturated() ? std::min(next, device.share.next_event()) : next;
  }
  // The device whose event is the next. With one device there is nothing to sort.
  [[nodiscard]] std::int64_t next_time() const {
    return device_count_ == 1 ? next_time(devices_.front()) : ends_.next_time();
  }
  [[nodiscard]] std::uint32_t next_device() const { return device_count_ == 1 ? 0 : ends_.top(); }
  [[nodiscard]] bool next_device_alone() const { return device_count_ == 1 || ends_.alone(); }
  [[nodiscard]] DeviceState& device_of(const Kernel& kernel) {
    return devices_[kernel.request.device.value()];
  }

  const CostTable* costs_ = nullptr;
  const Platform* platform_ = nullptr;
  const TaskGraph* graph_ = nullptr;
  std::vector<Form> forms_;  // by operation, modulo their number
  std::vector<DeviceState> devices_;
  std::uint32_t device_count_ = 0;
  std::vector<Pool> pools_;
  std::vector<Queue> queues_;  // [pool][level]
  std::vector<Kernel> kernels_;
  fluid::Worklist free_kernels_;
  std::vector<Cohort> cohorts_;
  std::uint32_t free_cohort_ = nil;
  fluid::Worklist arrived_;          // kernels that are in no queue yet
  fluid::Worklist dirty_pools_;      // with something to place, or capacity to place it
  fluid::Worklist touched_;          // kernels to share bandwidth with and to schedule
  fluid::Worklist changed_devices_;  // of touched kernels
  std::vector<Notice> notices_;
  std::vector<std::uint32_t> held_;       // by stream: its last held kernel
  std::vector<std::uint32_t> new_rates_;  // engaged kernels
  /// Something arrived, is dirty or touched, was announced or ended since the last dispatch.
  bool dispatch_needed_ = false;
  bool announced_ = false;  // next_completion() has told the time of the notices
  std::vector<std::uint32_t> due_;
  std::size_t next_due_ = 0;
  std::int64_t event_time_ = 0;     // of due_ and notices_
  std::int64_t dispatched_at_ = 0;  // time of the last dispatch
  KernelHeap ends_;                 // next events of devices, by number, if there are several
};

template <class OnStart, class OnDispatched>
void FluidSharing::dispatch(Time now, OnStart&& on_start, OnDispatched&& on_dispatched) {
  place(now.time_since_epoch().count());  // before those who are told touch kernels
  for (const Notice& notice : notices_) {
    const KernelRequest& request = kernels_[notice.kernel].request;
    if (notice.what == Notice::What::rate) {
      new_rates_.push_back(notice.kernel);
      continue;
    }
    const bool placed = notice.what == Notice::What::placed;
    if (!placed || !request.held) {
      on_start(request, Time{Duration{kernels_[notice.kernel].started_at}});
    }
    if (placed) on_dispatched(request);
  }
  notices_.clear();
  announced_ = false;
}

template <class Changed>
void FluidSharing::changed_rates(Changed&& changed) {
  for (const std::uint32_t index : new_rates_) {
    const Kernel& kernel = kernels_[index];
    changed(kernel.request.stream, device_of(kernel).engaged_rate);
  }
  new_rates_.clear();
}

}  // namespace schedlab
