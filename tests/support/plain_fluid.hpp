// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "sim/engine/sharing/exclusive.hpp"
#include "sim/plan/policy.hpp"
#include "sim/trace/trace.hpp"

#include <cstddef>
#include <cstdint>
#include <limits>
#include <utility>
#include <vector>

namespace schedlab::test {

/// The rules of FluidSharing written down as plainly as they can be: every wave of every kernel is
/// an event, every rate is worked out anew at each, nothing is kept sorted and nothing is put off.
class PlainFluid {
 public:
  using Completion = ExclusiveSharing::Completion;

  void reset(const Problem& problem, const std::vector<std::uint32_t>& /*partitions*/ = {});
  bool start_at_once(const KernelRequest&, Time) { return false; }
  void submit(const KernelRequest& request) { arrived_.push_back(request); }
  [[nodiscard]] bool dispatch_needed() const { return changed_ || !arrived_.empty(); }
  template <class OnStart, class OnDispatched>
  void dispatch(Time now, OnStart&& on_start, OnDispatched&& on_dispatched) {
    place_all(now.time_since_epoch().count());
    for (const auto& [kernel, start] : notices_) {
      start ? on_start(kernels_[kernel].request, now) : on_dispatched(kernels_[kernel].request);
    }
    notices_.clear();
  }
  [[nodiscard]] Time next_completion();
  bool pop_completion(Time now, Completion& completed);
  void release(StreamId stream, Time end);
  // Collectives do not contend here.
  void engage(StreamId) {}
  template <class Changed>
  void changed_rates(Changed&&) {}
  Completion end_held(StreamId, Time) { return {}; }
  /// Cohorts that have ended so far.
  [[nodiscard]] std::uint64_t events() const { return events_; }

 private:
  __extension__ using Wide = __int128;
  static constexpr std::int64_t full_rate = std::int64_t{1} << 32U;
  /// What a kernel's progress is set by.
  enum class Limit : std::uint8_t { none, units, bandwidth };
  struct Cohort {
    std::int64_t end = 0;  // in the kernel's own time
    std::int64_t blocks = 0;
  };
  struct Kernel {
    KernelRequest request;
    std::size_t unit_class = 0;  // count of the device's classes: none
    std::int64_t units = 0;      // of its class; 0: unlimited
    std::int64_t footprint = 0;
    std::int64_t blocks_left = 0;
    std::int64_t block_time = 0;
    std::int64_t block_demand = 0;
    std::int64_t unit_demand = 0;  // of a block, of the throughput of a unit
    std::int64_t residents = 1;    // blocks that fit on an empty unit
    std::vector<Cohort> running;
    std::vector<Cohort> ended_now;
    bool started = false;
    bool done = false;
    std::int64_t release_at = std::numeric_limits<std::int64_t>::max();  // of a held kernel
    // Own time: `own`, and what it got since then by what it needs for a picosecond.
    std::int64_t own = 0;
    Wide got = 0;
    Wide needs = 1;
    Limit limit = Limit::none;
    Wide unit_rate = full_rate;  // what its units allow

    [[nodiscard]] std::int64_t own_time() const {
      return own + static_cast<std::int64_t>(got / needs);
    }
    [[nodiscard]] std::int64_t blocks_running() const {
      std::int64_t blocks = 0;
      for (const Cohort& cohort : running) blocks += cohort.blocks;
      return blocks;
    }
    /// Of the bandwidth, at full rate.
    [[nodiscard]] Wide demand() const {
      if (request.held && release_at == std::numeric_limits<std::int64_t>::max()) return 0;
      return Wide{blocks_running()} * block_demand;
    }
    /// At the rate its units allow.
    [[nodiscard]] Wide wanted() const { return demand() * unit_rate / full_rate; }
  };

  [[nodiscard]] Kernel make(const KernelRequest& request) const;
  void advance(std::int64_t now);
  [[nodiscard]] std::int64_t next_end(const Kernel& kernel) const;
  void place_all(std::int64_t now);
  void place_class(std::size_t device, std::size_t unit_class);
  void place(Kernel& kernel, std::int64_t blocks);
  [[nodiscard]] Wide speed(const Kernel& kernel) const;
  void share_units(std::size_t device, std::size_t unit_class);
  void share(std::size_t device);
  [[nodiscard]] std::int64_t free_capacity(std::size_t device, std::size_t unit_class) const;

  const Problem* problem_ = nullptr;
  std::vector<Kernel> kernels_;  // all that ever arrived, in order
  std::vector<KernelRequest> arrived_;
  std::vector<std::pair<std::size_t, bool>> notices_;  // kernel, is it a start
  std::vector<Wide> level_;                            // by device
  std::int64_t now_ = 0;
  std::uint64_t events_ = 0;
  bool changed_ = false;
};

}  // namespace schedlab::test
