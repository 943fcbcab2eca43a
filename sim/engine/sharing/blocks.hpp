// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "sim/engine/block_placement.hpp"
#include "sim/engine/event_queue.hpp"
#include "sim/engine/sharing/exclusive.hpp"
#include "sim/engine/sharing/least_loaded.hpp"
#include "sim/machine/occupancy.hpp"
#include "sim/machine/residency.hpp"
#include "sim/plan/policy.hpp"

#include <cstddef>
#include <cstdint>
#include <vector>

namespace schedlab {

/// Compute sharing block by block, on single units: the reference that faster models are held
/// against.
///
/// Who may place blocks  Per class of units: the most urgent level with a kernel that still has
///   blocks to place, in it the kernel that reached the head of its stream first. Until its last
///   block is placed all others wait, even where their blocks would fit; then the next one gets
///   what is left over. Nothing that runs is evicted (Amert et al., RTSS 2017, rules G2-G4, X1,
///   R1-R3, P1, P2). A device holds at most `resident_kernels`: a kernel for which there is
///   no capacity is not yet with the scheduler of blocks and delays no kernel that is.
/// Where   On the least loaded unit (LeastLoadedPlacement), as long as threads, blocks, registers and
///   shared memory of a unit suffice (occupancy.hpp). Blocks without a known shape take
///   1 / blocks_per_unit of everything a unit has.
/// How fast  A unit has a throughput of 1. A block running at full rate uses compute_share /
///   blocks_per_unit of it; if all blocks on a unit together want more than there is, each runs
///   slower in that proportion. While blocks of several kernels are on it, a unit gets done
///   `co_residency_factor`. Of the memory bandwidth of the device all running kernels (copies are
///   some of them) get max-min fair shares, whatever their priority; a kernel that gets less than
///   its blocks want at their present speed slows down in proportion. What one resource holds up is
///   not offered to others in another (one pass, no fixed point).
/// How long  A kernel alone lasts what was estimated, rounded up by some picoseconds a wave: the
///   time of its blocks at full rate follows from the waves it has alone. A block ends at the first
///   picosecond at which its work is done; rates are rounded down to multiples of 2^-30, never to
///   0.
///
/// Blocks of a kernel that were placed at one moment and have always had the same rate form a
/// cohort and end together: one event, whatever their number.
class BlocksSharing {
 public:
  using Completion = ExclusiveSharing::Completion;

  /// `partitions`: Plan::partitions.
  void reset(const Problem& problem, const std::vector<std::uint32_t>& partitions);
  /// Every placement and end from now on goes to `log`; nullptr: none does.
  void log_to(std::vector<BlockPlacement>* log) { log_ = log; }

  bool start_at_once(const KernelRequest&, Time) { return false; }
  void submit(const KernelRequest& request) { arrived_.emplace_back().set(request); }
  [[nodiscard]] bool dispatch_needed() const { return dirty_ || !arrived_.empty(); }

  /// Places blocks. on_start(request, when) at a kernel's first block, on_dispatched(request) at
  /// its last: from then on the calls behind it in its connection may pass.
  template <class OnStart, class OnDispatched>
  void dispatch(Time now, OnStart&& on_start, OnDispatched&& on_dispatched);

  /// The next moment at which blocks end; they may or may not complete a kernel.
  [[nodiscard]] Time next_completion();
  /// At next_completion(): ends a cohort. True if it was its kernel's last, and who that was.
  bool pop_completion(Time now, Completion& completed);

  /// The blocks of the stream's held kernel, all placed, end together at `end`, not before the
  /// present. Until then they keep their capacity and what they want; what they get does not
  /// matter.
  void release(StreamId stream, Time end);
  /// As ExclusiveSharing's: where collectives contend, what they get does matter.
  void engage(StreamId stream);
  template <class Changed>
  void changed_rates(Changed&& changed) const {
    for (const std::uint32_t index : engaged_) {
      changed(kernels_[index].request.stream, std::uint64_t{kernels_[index].bandwidth_rate} << 2U);
    }
  }
  Completion end_held(StreamId stream, Time now);

  [[nodiscard]] std::size_t memory_bytes() const;

 private:
  static constexpr std::uint32_t rate_one = 1U << 30U;
  static constexpr std::uint32_t nil = 0xFFFFFFFFU;

  struct Cohort {
    std::uint32_t kernel = nil;
    std::uint32_t blocks = 0;
    std::int64_t left = 0;  ///< ps at full rate, at `updated`
    Time updated{};
    std::uint32_t unit_rate = rate_one;  ///< what its units allow
    std::uint32_t rate = 0;              ///< times what its kernel gets of its bandwidth; 0 = new
    Time end = Time::max();              ///< valid entry of the event queue
    bool marked = false;                 ///< in marked_
    std::vector<UnitShare> places;       ///< by rising unit; empty: unlimited units
  };
  struct Kernel {
    KernelRequest request;
    UnitResources need;             ///< of one block
    std::uint32_t blocks_left = 0;  ///< to be placed
    std::uint32_t blocks_running = 0;
    std::uint32_t demand = 0;      ///< of one block at full rate, of unit_throughput
    std::int64_t block_time = 0;   ///< ps at full rate
    double block_bandwidth = 0.0;  ///< bytes/s one block wants at full rate
    std::uint32_t bandwidth_rate = rate_one;
    std::size_t pool = 0;
    std::vector<std::uint32_t> cohorts;
    bool started = false;
    Time release_at = Time::max();     ///< of a held kernel: when its blocks end
    std::uint32_t next_waiting = nil;  ///< in the queue of its level
  };
  struct Queue {
    std::uint32_t head = nil;
    std::uint32_t tail = nil;
  };
  struct Unit {
    std::uint32_t demand = 0;  ///< of all blocks on it
    std::uint32_t rate = rate_one;
    bool touched = false;
    std::vector<std::uint32_t> cohorts;
  };
  /// The units of one class of one device.
  struct Pool {
    DeviceId device;
    UnitClassId unit_class;
    std::vector<Unit> units;       ///< empty: unlimited
    std::uint32_t first_unit = 0;  ///< of its class
    std::uint32_t whole = 0;       ///< units of its class: those that estimates speak of
    std::vector<UnitResources> free;
    std::vector<Queue> queues;           // by level
    std::vector<std::uint32_t> touched;  ///< units on which something has changed
    std::uint32_t shared_throughput = unit_throughput;
  };
  struct DeviceState {
    std::size_t first_pool = 0;
    UnitClassId divided{};   ///< into the pools behind that of no class
    double bandwidth = 0.0;  ///< bytes/s; 0 = not limited
    std::uint32_t resident = 0;
    bool saturated = false;
    bool changed = false;  ///< what the running blocks want has changed
    std::vector<std::uint32_t> running;
  };

  /// The units of the class, from `first` on.
  void add_pool(DeviceId device, UnitClassId unit_class, std::uint32_t units, std::uint32_t first);
  void enqueue_arrived();
  std::uint32_t make_kernel(const KernelRequest& request);
  void set_block_time(Kernel& kernel, std::uint32_t per_unit, float compute_share) const;
  template <class OnStart, class OnDispatched>
  void dispatch_pool(Pool& pool, Time now, OnStart& on_start, OnDispatched& on_dispatched);
  /// Blocks of the kernel that could be placed; 0: none fits.
  std::uint32_t place(std::uint32_t index, Time now);
  std::uint32_t make_cohort(std::uint32_t kernel, Time now);
  void touch(Pool& pool, std::uint32_t unit);
  void mark(std::uint32_t cohort);
  void log(const Pool& pool, TaskId task, const UnitShare& share, Time now, bool placed) const;

  // blocks_rates.cpp
  void update_rates(Time now);
  [[nodiscard]] std::uint32_t rate_of(const Pool& pool, const Unit& unit) const;
  void follow_units(std::uint32_t cohort);
  void share_bandwidth(DeviceState& state);
  void set_bandwidth_rate(std::uint32_t kernel, std::uint32_t rate);
  void catch_up(std::uint32_t cohort, Time now);
  [[nodiscard]] double demand(const Kernel& kernel) const;
  [[nodiscard]] Pool& pool_of(const Cohort& cohort) { return pools_[kernels_[cohort.kernel].pool]; }

  void drop_stale_ends();
  bool end_cohort(std::uint32_t cohort, Time now, Completion& completed);
  /// What the kernels of the device that contend as collectives get of its bandwidth, at one rate
  /// (fluid::CollectiveBandwidth); what is left to the others, who want so much.
  double share_collectives(const DeviceState& state, double wanted);

  const CostTable* costs_ = nullptr;
  const Platform* platform_ = nullptr;
  std::vector<DeviceState> devices_;
  std::vector<Pool> pools_;
  std::vector<Kernel> kernels_;
  std::vector<std::uint32_t> free_kernels_;
  std::vector<Cohort> cohorts_;
  std::vector<std::uint32_t> free_cohorts_;
  std::vector<KernelRequest> arrived_;
  std::vector<std::uint32_t> marked_;  // cohorts whose rate may have changed
  std::vector<std::uint32_t> by_demand_;
  std::vector<std::uint32_t> split_;  // scratch of follow_units
  std::vector<UnitShare> places_;     // likewise
  LeastLoadedPlacement placement_;
  EventQueue ends_;
  std::vector<std::uint32_t> held_;     // by stream: its last held kernel
  std::vector<std::uint32_t> engaged_;  // held kernels that move data
  bool contend_ = false;                // collectives do
  std::vector<BlockPlacement>* log_ = nullptr;
  bool dirty_ = false;
};

template <class OnStart, class OnDispatched>
void BlocksSharing::dispatch(Time now, OnStart&& on_start, OnDispatched&& on_dispatched) {
  while (dispatch_needed()) {
    enqueue_arrived();
    dirty_ = false;
    for (Pool& pool : pools_) dispatch_pool(pool, now, on_start, on_dispatched);
  }
  update_rates(now);
}

template <class OnStart, class OnDispatched>
void BlocksSharing::dispatch_pool(Pool& pool,
                                  Time now,
                                  OnStart& on_start,
                                  OnDispatched& on_dispatched) {
  for (Queue& queue : pool.queues) {
    while (queue.head != nil) {
      const std::uint32_t index = queue.head;
      DeviceState& state = devices_[pool.device.value()];
      const std::uint32_t limit = platform_->device(pool.device).resident_kernels;
      const bool first = !kernels_[index].started;
      // No capacity for another kernel: only those that are on the device already may go on.
      if (first && limit != 0 && state.resident >= limit) break;
      if (place(index, now) == 0) return;
      Kernel& kernel = kernels_[index];
      if (first) {
        kernel.started = true;
        ++state.resident;
        state.running.push_back(index);
        on_start(kernel.request, now);
      }
      if (kernel.blocks_left != 0) return;
      queue.head = kernel.next_waiting;
      if (queue.head == nil) queue.tail = nil;
      on_dispatched(kernel.request);
    }
  }
}

}  // namespace schedlab
