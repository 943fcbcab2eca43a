// SPDX-License-Identifier: Apache-2.0
#include "sim/engine/sharing/bandwidth_share.hpp"

#include <algorithm>
#include <utility>

namespace schedlab::fluid {
namespace {

/// Most quotients here are of numbers that fit, and half as dear.
std::uint64_t divide(Wide a, std::uint64_t b) {
  const auto low = static_cast<std::uint64_t>(a);
  return low == a ? low / b : static_cast<std::uint64_t>(a / b);
}

}  // namespace

void BandwidthShare::reset() {
  shares_.clear();
  total_ = 0;
  level_ = 0;
  given_ = 0;
  at_ = 0;
  saturated_ = false;
}

std::int64_t BandwidthShare::own_time(const Kernel& kernel, std::int64_t now, bool& ticked) const {
  if (!kernel.short_of_bandwidth) {
    ticked = true;
    return now + kernel.own;
  }
  const Wide progress = given_at(now) - kernel.given;
  const std::uint64_t done = divide(progress, kernel.demand);
  // A picosecond ago the progress was less by the level.
  ticked = progress - Wide{done} * kernel.demand < level_;
  return kernel.own + static_cast<std::int64_t>(done);
}

void BandwidthShare::round_own_time(Kernel& kernel, std::int64_t now) const {
  if (!kernel.short_of_bandwidth) return;
  const Wide given = given_at(now);
  kernel.own += static_cast<std::int64_t>(divide(given - kernel.given, kernel.demand));
  kernel.given = given;
}

void BandwidthShare::unshorten(Kernel& kernel, const BandwidthShare& bandwidth, std::int64_t now) {
  bandwidth.round_own_time(kernel, now);
  kernel.short_of_bandwidth = false;
  kernel.own -= now;
}

std::vector<BandwidthShare::Share>::iterator BandwidthShare::find(std::uint32_t index,
                                                                  std::uint64_t demand) {
  return std::lower_bound(shares_.begin(),
                          shares_.end(),
                          std::pair{demand, index},
                          [](const Share& share, const auto& key) {
                            return share.demand < key.first ||
                                   (share.demand == key.first && share.kernel < key.second);
                          });
}

void BandwidthShare::update_demand(std::uint32_t index, Kernel& kernel, std::int64_t now) {
  const std::uint64_t before = kernel.demand;
  const std::uint64_t wanted = kernel.blocks_running * kernel.block_demand;
  if (wanted == before) return;
  total_ += wanted - before;
  if (!saturated_) {
    kernel.demand = wanted;
    return;
  }
  round_own_time(kernel, now);
  kernel.demand = wanted;
  Share share{.demand = wanted, .kernel = index, .is_short = kernel.short_of_bandwidth};
  share.event = never;
  if (wanted == 0 && kernel.short_of_bandwidth) {
    kernel.short_of_bandwidth = false;
    kernel.own -= now;
  }
  if (before == 0) {
    shares_.insert(find(index, wanted), share);
    return;
  }
  // From its old place to its new one, which is seldom far.
  auto at = find(index, before);
  if (wanted == 0) {
    shares_.erase(at);
    return;
  }
  const auto smaller = [](const Share& a, const Share& b) {
    return a.demand < b.demand || (a.demand == b.demand && a.kernel < b.kernel);
  };
  for (; at + 1 != shares_.end() && smaller(*(at + 1), share); ++at) *at = *(at + 1);
  for (; at != shares_.begin() && smaller(share, *(at - 1)); --at) *at = *(at - 1);
  *at = share;
}

void BandwidthShare::begin(const std::vector<std::uint32_t>& running,
                           const std::vector<Kernel>& kernels,
                           std::int64_t now) {
  saturated_ = true;
  level_ = 0;
  given_ = 0;
  at_ = now;
  shares_.clear();
  for (const std::uint32_t index : running) {
    if (kernels[index].demand == 0) continue;
    shares_.push_back({.demand = kernels[index].demand, .kernel = index});
  }
  std::sort(shares_.begin(), shares_.end(), [](const Share& a, const Share& b) {
    return a.demand < b.demand || (a.demand == b.demand && a.kernel < b.kernel);
  });
}

void BandwidthShare::set_event(std::uint32_t index, const Kernel& kernel, std::int64_t own_time) {
  find(index, kernel.demand)->event =
      kernel.given + Wide{kernel.demand} * static_cast<std::uint64_t>(own_time - kernel.own);
}

void BandwidthShare::clear_event(std::uint32_t index, const Kernel& kernel) {
  find(index, kernel.demand)->event = never;
}

BandwidthShare::Next BandwidthShare::next_event() const {
  Wide first = never;
  Next next;
  for (auto share = shares_.rbegin(); share != shares_.rend() && share->is_short; ++share) {
    if (share->event >= first) continue;
    first = share->event;
    next.kernel = share->kernel;
  }
  if (next.kernel == nil) return next;
  const Wide left = first > given_ ? first - given_ : Wide{0};
  next.time = at_ + static_cast<std::int64_t>(divide(left + (level_ - 1), level_));
  return next;
}

}  // namespace schedlab::fluid
