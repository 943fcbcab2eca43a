// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "sim/engine/sharing/fluid_kernel.hpp"

#include <cstddef>
#include <cstdint>
#include <vector>

namespace schedlab::fluid {

/// The memory bandwidth of one device, shared max-min fairly by the kernels that run on it: who
/// wants no more than an equal share gets it, the others get the same, the `level`.
///
/// All is integer: demands are multiples of 2^-32 of the bandwidth (rounded down), so is the level.
/// While all demands are met there is only their sum to keep. While they are not, one number, the
/// sum of level times time, is the clock of all kernels that are short: a new level changes nothing
/// in them. A kernel's own time is rounded (down, to a picosecond) only when its own demand
/// changes or when it falls short or ceases to: never depending on how often anybody looked.
///
/// Cost of a change: O(1) while all demands are met, else O(running kernels) of a few instructions.
class BandwidthShare {
 public:
  struct Next {
    std::uint32_t kernel = nil;
    std::int64_t time = 0;
  };

  void reset();
  [[nodiscard]] bool saturated() const { return saturated_; }
  [[nodiscard]] bool overbooked() const { return total_ > whole_bandwidth; }

  /// Own time of the kernel at `now`. `ticked`: it was less a picosecond ago.
  [[nodiscard]] std::int64_t own_time(const Kernel& kernel, std::int64_t now, bool& ticked) const;
  /// Rounds the own time of a kernel that is short, because its demand is about to change.
  void round_own_time(Kernel& kernel, std::int64_t now) const;

  /// Sets the demand of a kernel to that of its running blocks. share() must follow.
  void update_demand(std::uint32_t index, Kernel& kernel, std::int64_t now);
  /// From now on some kernels may be short. `running`: all kernels of the device.
  void begin(const std::vector<std::uint32_t>& running,
             const std::vector<Kernel>& kernels,
             std::int64_t now);
  /// Finds the level. Calls moved(kernel) for each kernel that fell short or ceased to.
  template <class Moved>
  void share(std::vector<Kernel>& kernels, std::int64_t now, Moved&& moved);

  /// Own time of the next event of a kernel that is short.
  void set_event(std::uint32_t index, const Kernel& kernel, std::int64_t own_time);
  void clear_event(std::uint32_t index, const Kernel& kernel);
  /// The first event of the kernels that are short; nil if there is none.
  [[nodiscard]] Next next_event() const;

  [[nodiscard]] std::size_t memory_bytes() const { return shares_.capacity() * sizeof(Share); }

 private:
  struct Share {
    std::uint64_t demand = 0;
    std::uint32_t kernel = nil;
    bool is_short = false;
    Wide event = 0;  ///< on the common clock; only of kernels that are short
  };
  static constexpr Wide never = ~Wide{0};

  [[nodiscard]] Wide given_at(std::int64_t now) const {
    return given_ + Wide{level_} * static_cast<std::uint64_t>(now - at_);
  }
  [[nodiscard]] std::vector<Share>::iterator find(std::uint32_t index, std::uint64_t demand);
  void insert(const Share& share);
  static void unshorten(Kernel& kernel, const BandwidthShare& bandwidth, std::int64_t now);

  std::vector<Share> shares_;  // kernels with a demand, by (demand, kernel); while saturated
  std::uint64_t total_ = 0;    // of all demands
  std::uint64_t level_ = 0;
  Wide given_ = 0;  // at `at_`
  std::int64_t at_ = 0;
  bool saturated_ = false;
};

template <class Moved>
void BandwidthShare::share(std::vector<Kernel>& kernels, std::int64_t now, Moved&& moved) {
  given_ = given_at(now);
  at_ = now;
  std::uint64_t left = whole_bandwidth;
  std::uint64_t others = shares_.size();
  auto share = shares_.begin();
  for (; share != shares_.end() && share->demand * others <= left; ++share) {
    left -= share->demand;
    --others;
    if (!share->is_short) continue;
    share->is_short = false;
    unshorten(kernels[share->kernel], *this, now);
    moved(share->kernel);
  }
  if (share == shares_.end()) {
    saturated_ = false;
    shares_.clear();
    return;
  }
  level_ = left / others;
  for (; share != shares_.end(); ++share) {
    if (share->is_short) continue;
    Kernel& kernel = kernels[share->kernel];
    share->is_short = true;
    share->event = never;
    kernel.short_of_bandwidth = true;
    kernel.own += now;
    kernel.given = given_;
    moved(share->kernel);
  }
}

}  // namespace schedlab::fluid
