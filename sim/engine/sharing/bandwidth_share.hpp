// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "sim/engine/sharing/collective_bandwidth.hpp"
#include "sim/engine/sharing/fluid_kernel.hpp"

#include <cstddef>
#include <cstdint>
#include <limits>
#include <vector>

namespace schedlab::fluid {

/// The memory bandwidth of one device, shared max-min fairly by the kernels that run on it: who
/// wants no more than an equal share gets it, the others get the same, the `level`.
///
/// All is integer: demands are multiples of 2^-32 of the bandwidth (rounded down), so is the level.
/// While all demands are met there is only their sum to keep. While they are not (`saturated`), one
/// number, the sum of level times time, is the clock of all kernels that are short: a new level
/// changes nothing in them. A kernel's own time is rounded (down, to a picosecond) only when its
/// own demand changes or when it falls short or ceases to: never depending on how often anybody
/// looked.
///
/// Cost of a change: O(1) while all demands are met, else O(running kernels) of a few instructions.
class BandwidthShare {
 public:
  static constexpr std::int64_t never = std::numeric_limits<std::int64_t>::max();

  void reset();
  [[nodiscard]] bool saturated() const { return saturated_; }
  /// Do kernels want more than `left`?
  [[nodiscard]] bool overbooked(std::int64_t left) const {
    return static_cast<std::int64_t>(total_) > left;
  }

  /// Own time of the kernel at `now`. `ticked`: it was less a picosecond ago.
  [[nodiscard]] std::int64_t own_time(const Kernel& kernel, std::int64_t now, bool& ticked) const;

  /// Sets the demand of a kernel to that of its running blocks. share() must follow.
  void update_demand(std::uint32_t index, std::vector<Kernel>& kernels, std::int64_t now);

  /// The same while not saturated.
  void set_demand(Kernel& kernel) {
    const std::uint64_t wanted = kernel.blocks_running * kernel.block_demand;
    total_ += wanted - kernel.demand;
    kernel.demand = wanted;
  }

  // While saturated.
  /// Is the next event of this kernel kept here?
  [[nodiscard]] bool holds(const Kernel& kernel) const { return saturated_ && kernel.demand != 0; }
  /// Next event, in the kernel's own time.
  void set_event(const Kernel& kernel, std::int64_t own_time);
  /// Finds the level, who is short of bandwidth, and next_event(). False: none is, collectives
  /// neither; the kernels are the caller's again, see release().
  bool share(std::vector<Kernel>& kernels, CollectiveBandwidth& collectives, std::int64_t now);
  /// First event of all kernels held here; `never` if there is none.
  [[nodiscard]] std::int64_t next_event() const { return next_; }
  /// The kernel of next_event(), if it is one kernel alone; else nil.
  [[nodiscard]] std::uint32_t due_alone() const {
    return alone_ ? shares_[next_share_].kernel : nil;
  }
  /// Appends the kernels of next_event(), which then have none until set_event().
  void take_due(std::vector<std::uint32_t>& due);

  /// From now on kernels may be short. `running`: all kernels of the device. Each that is held from
  /// now on goes to hold(index), which must call set_event() if the kernel has events of its own.
  template <class Hold>
  void begin(const std::vector<std::uint32_t>& running,
             std::vector<Kernel>& kernels,
             std::int64_t now,
             Hold&& hold) {
    begin(running, kernels, now);
    for (const Share& share : shares_) hold(share.kernel);
  }
  /// After share() was false: release(index, time) for each kernel that has an event.
  template <class Release>
  void release(Release&& release) {
    for (const Share& share : shares_) {
      if (share.time != never) release(share.kernel, share.time);
    }
    shares_.clear();
  }

  [[nodiscard]] std::size_t memory_bytes() const { return shares_.capacity() * sizeof(Share); }

 private:
  static constexpr Wide never_given = ~Wide{0};
  struct Share {
    StoredWide given{never_given};  ///< next event on the common clock, of kernels that are short
    std::int64_t time = never;      ///< next event of others
    std::uint64_t demand = 0;
    std::uint32_t kernel = nil;
    std::uint32_t is_short = 0;  // a bool that leaves no gap: gaps make copies slow

    [[nodiscard]] bool before(std::uint64_t other_demand, std::uint32_t other_kernel) const {
      return demand < other_demand || (demand == other_demand && kernel < other_kernel);
    }
  };

  [[nodiscard]] Wide given_at(std::int64_t now) const {
    return given_ + Wide{level_} * static_cast<std::uint64_t>(now - at_);
  }
  void begin(const std::vector<std::uint32_t>& running,
             std::vector<Kernel>& kernels,
             std::int64_t now);
  void round_own_time(Kernel& kernel, Wide given) const;
  void change_place(std::uint32_t index, std::vector<Kernel>& kernels, std::uint64_t before);
  void end_shortage(Share& share, Kernel& kernel, std::int64_t now) const;
  void begin_shortage(Share& share, Kernel& kernel, std::int64_t now) const;
  void find_next(std::size_t first_short);

  std::vector<Share> shares_;  // kernels with a demand, by (demand, kernel); while saturated
  std::uint64_t total_ = 0;    // of all demands
  std::uint64_t level_ = 0;
  StoredWide given_;  // at `at_`
  std::int64_t at_ = 0;
  std::int64_t next_ = never;
  std::uint32_t next_share_ = 0;  // whose event next_ is
  bool alone_ = false;            // no other event at next_
  bool saturated_ = false;
};

inline std::int64_t BandwidthShare::own_time(const Kernel& kernel,
                                             std::int64_t now,
                                             bool& ticked) const {
  if (!kernel.slowed) {
    ticked = true;
    return now + kernel.own;
  }
  const Wide progress = given_at(now) - kernel.given;
  const std::uint64_t done = divide(progress, kernel.demand);
  // A picosecond ago the progress was less by the level.
  ticked = progress - Wide{done} * kernel.demand < level_;
  return kernel.own + static_cast<std::int64_t>(done);
}

inline void BandwidthShare::round_own_time(Kernel& kernel, Wide given) const {
  if (kernel.given == given) return;
  kernel.own += static_cast<std::int64_t>(divide(given - kernel.given, kernel.demand));
  kernel.given = given;
}

inline void BandwidthShare::update_demand(std::uint32_t index,
                                          std::vector<Kernel>& kernels,
                                          std::int64_t now) {
  Kernel& kernel = kernels[index];
  const std::uint64_t before = kernel.demand;
  const std::uint64_t wanted = kernel.blocks_running * kernel.block_demand;
  if (wanted == before) return;
  total_ += wanted - before;
  if (kernel.slowed) round_own_time(kernel, given_at(now));
  kernel.demand = wanted;
  if (saturated_) change_place(index, kernels, before);
  if (wanted == 0 && kernel.slowed) {
    kernel.slowed = false;
    kernel.own -= now;
  }
}

inline void BandwidthShare::set_event(const Kernel& kernel, std::int64_t own_time) {
  Share& share = shares_[kernel.share];
  if (share.is_short) {
    share.given =
        kernel.given + Wide{kernel.demand} * static_cast<std::uint64_t>(own_time - kernel.own);
  } else {
    share.time = own_time - kernel.own;
  }
}

}  // namespace schedlab::fluid
