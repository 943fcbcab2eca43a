// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "sim/engine/sharing/collective_bandwidth.hpp"
#include "sim/engine/sharing/due_row.hpp"
#include "sim/engine/sharing/fluid_kernel.hpp"
#include "sim/machine/platform.hpp"
#include "sim/machine/residency.hpp"

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <vector>

namespace schedlab::fluid {

/// What blocks of a kernel do to the units of its class.
struct UnitNeed {
  std::uint32_t unit_class =
      0;  ///< of the device; the number of its classes: none; then partitions
  Residency residency;

  /// May others be on a unit beside one of its blocks?
  [[nodiscard]] bool co_resides() const { return residency.residents > 1; }
};

/// How fast the kernels of one device progress where units may be asked for more than they get
/// done: more blocks reside on one than it runs at full rate, or it gets less done while several
/// kernels share it (Device::co_residency_factor below 1). For all other devices there is
/// BandwidthShare.
///
/// Units  There is no placement. Of a class count those units that no block takes whole, and the
///   kernels that share them. Their blocks are taken to be spread evenly, in whole blocks
///   (on_fullest_unit()), and each kernel to have some on the fullest unit: if those there want
///   more than a unit gets done, all these kernels slow down in proportion. So does a kernel alone,
///   whose cost says how long it takes then (waves_alone()). While two or more share units, these
///   get done `co_residency_factor` of what they do for one; if all running blocks together want
///   more than that, all slow down in that proportion, if it is less. Held kernels count and are
///   not slowed: their end is given.
/// Bandwidth  As in BandwidthShare, max-min fair; a kernel that its units slow down wants as much
///   less of it. Who gets less than that progresses as fast as what it gets allows.
/// Rounding  Rates of units are multiples of 2^-32, rounded down, never 0. All kernels that the
///   units of one class slow down have one clock, as all that are short of bandwidth have: a new
///   rate changes nothing in them. A kernel's own time is rounded (down, to a picosecond) only when
///   what limits it changes, or the number of its blocks while it is short of bandwidth.
///
/// Cost of a change: O(n), n = running kernels of the device, of a few instructions each: what
///   limits a kernel is looked at again only when that may be something else, and on its clock the
///   time of its event stays what it is; O(n log n) while bandwidth is short.
class CoResidentShare {
 public:
  static constexpr std::int64_t never = std::numeric_limits<std::int64_t>::max();

  void reset(const Device& device, const std::vector<std::uint32_t>& partitions);
  /// Before the first update_demand() of a kernel.
  void describe(std::uint32_t index, const UnitNeed& need);

  /// As of BandwidthShare, of kernels with running blocks; the events of all of them are kept here,
  /// always.
  [[nodiscard]] std::int64_t own_time(const Kernel& kernel, std::int64_t now, bool& ticked) const {
    if (!kernel.slowed) {
      ticked = true;
      return now + kernel.own;
    }
    const Member& member = members_[kernel.share];
    const Clock& clock = *member.clock;
    const Wide progress = clock.at_time(now) - kernel.given;
    // A picosecond ago the progress was less by the rate.
    if (member.limit == Limit::units) {
      ticked = progress % whole_rate < clock.rate;
      return kernel.own + static_cast<std::int64_t>(progress / whole_rate);
    }
    const std::uint64_t done = divide(progress, kernel.demand);
    ticked = progress - Wide{done} * kernel.demand < clock.rate;
    return kernel.own + static_cast<std::int64_t>(done);
  }
  void update_demand(std::uint32_t index, std::vector<Kernel>& kernels, std::int64_t now) {
    Kernel& kernel = kernels[index];
    if (kernel.blocks_running == 0) {
      if (kernel.share != nil) leave(kernel, kernels, now);
      return;
    }
    Member& member = kernel.share == nil ? join(index, kernel) : members_[kernel.share];
    count(member, kernel.blocks_running, kernel.blocks_running * kernel.block_demand);
  }
  void set_event(const Kernel& kernel, std::int64_t own_time) {
    Member& member = members_[kernel.share];
    if (member.event == own_time) return;
    member.event = own_time;
    member.due = due_of(member, kernel);
    member.clock->events.move(member.kernel, member.due);
  }
  void share(std::vector<Kernel>& kernels, CollectiveBandwidth& collectives, std::int64_t now);
  [[nodiscard]] std::int64_t next_event() const { return next_; }
  [[nodiscard]] std::uint32_t due_alone() const { return due_alone_; }
  void take_due(std::vector<std::uint32_t>& due);

  [[nodiscard]] std::size_t memory_bytes() const;

 private:
  /// What sets a kernel's progress.
  enum class Limit : std::uint8_t { none, units, bandwidth };
  /// The sum of rate times time, of kernels that have one rate.
  struct Clock {
    Wide given = 0;
    std::uint64_t rate = 0;
    std::int64_t at = 0;
    DueRow events;  ///< of these kernels

    /// As new, in the memory it has.
    void restart(std::uint64_t new_rate) {
      given = 0;
      rate = new_rate;
      at = 0;
      events.clear();
    }
    /// When the first event comes, not before now.
    [[nodiscard]] std::int64_t next_time(std::int64_t now) const {
      const Wide first = events.first();
      if (first <= given) return now;
      const Wide needed = first - given;
      return std::max(now, at + static_cast<std::int64_t>(divide(needed + (rate - 1), rate)));
    }
    [[nodiscard]] Wide at_time(std::int64_t now) const {
      return given + Wide{rate} * static_cast<std::uint64_t>(now - at);
    }
    /// True: it is another rate.
    bool set_rate(std::uint64_t new_rate, std::int64_t now) {
      if (new_rate == rate) return false;
      given = at_time(now);
      at = now;
      rate = new_rate;
      return true;
    }
  };
  struct UnitClassState {
    Clock clock;
    std::uint32_t units = 0;    ///< 0 = unlimited
    std::uint32_t members = 0;  ///< more than none: in active_
    std::uint32_t taken_whole = 0;
    std::uint32_t kernels = 0;  ///< that may share units
    std::int64_t blocks = 0;    ///< of theirs
    std::int64_t wanted = 0;    ///< by them
    std::int64_t most = 0;      ///< that those on one unit can want
    // As of the last rate:
    std::int64_t shared_then =
        std::numeric_limits<std::int64_t>::min();  ///< units that no block took whole
    std::int64_t blocks_then = 0;
    std::int64_t wanted_then = 0;
    std::int64_t most_then = 0;
    bool several_then = false;  ///< kernels shared them
    bool changed = false;       ///< since the rate was worked out
    bool smaller = false;       ///< a kernel has left: most may be what its blocks could want
    std::uint64_t demand = 0;   ///< of the bandwidth, at full rate, by those that slow down

    /// False: the rate is worked out of the same numbers as the last time.
    bool note_inputs() {
      const std::int64_t shared = std::int64_t{units} - taken_whole;
      const bool several = kernels > 1;
      if (shared == shared_then && blocks == blocks_then && wanted == wanted_then &&
          most == most_then && several == several_then) {
        return false;
      }
      shared_then = shared;
      blocks_then = blocks;
      wanted_then = wanted;
      most_then = most;
      several_then = several;
      return true;
    }
  };
  /// A kernel with running blocks.
  struct Member {
    Wide due = DueRow::never;    ///< its event, on its clock
    std::int64_t event = never;  ///< the same in the kernel's own time
    std::uint64_t demand = 0;    ///< of the bandwidth, at full rate
    std::uint64_t wanted = 0;    ///< of it, at the rate its units allow
    std::uint32_t kernel = nil;
    std::uint32_t blocks = 0;  ///< that run
    UnitNeed need;
    Limit limit = Limit::none;
    bool follows_units = false;  ///< their rate is its own
    Clock* clock = nullptr;      ///< by which it progresses
  };

  [[nodiscard]] std::uint64_t unit_rate(const Member& member) const {
    return member.follows_units ? classes_[member.need.unit_class].clock.rate : whole_rate;
  }
  Member& join(std::uint32_t index, Kernel& kernel);
  void leave(Kernel& kernel, std::vector<Kernel>& kernels, std::int64_t now);
  /// What it does to others.
  void count(Member& member, std::uint32_t blocks, std::uint64_t demand) {
    UnitClassState& units = classes_[member.need.unit_class];
    (member.follows_units ? units.demand : demand_) += demand - member.demand;
    member.demand = demand;
    if (member.blocks == blocks) return;
    units.changed = true;
    if (member.need.co_resides()) {
      const std::int64_t more = std::int64_t{blocks} - member.blocks;
      units.blocks += more;
      units.wanted += more * member.need.residency.throughput;
    } else {
      units.taken_whole += blocks - member.blocks;
    }
    member.blocks = blocks;
  }
  void share_units(std::int64_t now);
  void find_largest(std::uint32_t unit_class);
  [[nodiscard]] std::uint64_t rate_of(const UnitClassState& units) const;
  void share_bandwidth(std::vector<Kernel>& kernels,
                       CollectiveBandwidth& collectives,
                       std::int64_t now);
  void set_limit(Member& member, Kernel& kernel, Limit limit, std::int64_t now);
  void give_all(Member& member, std::vector<Kernel>& kernels, std::int64_t now);
  /// As of the last sharing.
  [[nodiscard]] static Wide due_of(const Member& member, const Kernel& kernel) {
    if (member.event == never) return DueRow::never;
    const auto left = static_cast<std::uint64_t>(member.event - kernel.own);
    if (member.limit == Limit::none) return left;
    return kernel.given +
           Wide{member.limit == Limit::bandwidth ? kernel.demand : whole_rate} * left;
  }
  [[nodiscard]] bool may_lack_bandwidth(std::int64_t left) const;
  void note_clock(const Clock& clock, std::int64_t now);
  void find_next(std::int64_t now);

  std::int64_t throughput_ = 0;          // of a unit that kernels share
  std::vector<UnitNeed> needs_;          // by kernel
  std::vector<std::uint32_t> active_;    // classes with members, in no particular order
  std::vector<UnitClassState> classes_;  // of one run: their clocks stay where they are
  Clock bandwidth_;                      // of each kernel that is short of it
  Clock time_;                           // of those that nothing limits
  std::uint64_t demand_ = 0;             // of all members that no units slow down
  std::vector<Member> members_;          // in no particular order
  std::size_t unchanged_ = 0;            // members before it are limited by what they were
  std::vector<std::uint32_t> by_wanted_;
  std::int64_t next_ = never;
  std::uint32_t due_alone_ = nil;
};

}  // namespace schedlab::fluid
