// SPDX-License-Identifier: Apache-2.0
#include "sim/engine/sharing/bandwidth_share.hpp"

#include <algorithm>

namespace schedlab::fluid {

void BandwidthShare::reset() {
  shares_.clear();
  total_ = 0;
  level_ = 0;
  given_ = Wide{0};
  at_ = 0;
  next_ = never;
  saturated_ = false;
}

void BandwidthShare::begin(const std::vector<std::uint32_t>& running,
                           std::vector<Kernel>& kernels,
                           std::int64_t now) {
  saturated_ = true;
  level_ = 0;
  given_ = Wide{0};
  at_ = now;
  shares_.clear();
  for (const std::uint32_t index : running) {
    if (kernels[index].demand == 0) continue;
    Share share;
    share.demand = kernels[index].demand;
    share.kernel = index;
    shares_.push_back(share);
  }
  std::sort(shares_.begin(), shares_.end(), [](const Share& a, const Share& b) {
    return a.before(b.demand, b.kernel);
  });
  for (std::uint32_t i = 0; i < shares_.size(); ++i) kernels[shares_[i].kernel].share = i;
}

/// Moves a kernel to where its demand belongs, which is seldom far.
void BandwidthShare::change_place(std::uint32_t index,
                                  std::vector<Kernel>& kernels,
                                  std::uint64_t before) {
  Kernel& kernel = kernels[index];
  if (before == 0) {
    kernel.share = static_cast<std::uint32_t>(shares_.size());
    shares_.emplace_back();
    shares_.back().kernel = index;
  }
  std::size_t at = kernel.share;
  const auto shift = [&](std::size_t from) {
    shares_[at] = shares_[from];
    kernels[shares_[at].kernel].share = static_cast<std::uint32_t>(at);
    at = from;
  };
  if (kernel.demand == 0) {
    while (at + 1 < shares_.size()) shift(at + 1);
    shares_.pop_back();
    return;
  }
  Share share = shares_[at];
  share.demand = kernel.demand;
  const auto is_before = [&](std::size_t other) {
    return shares_[other].before(share.demand, index);
  };
  const bool up = at + 1 < shares_.size() && is_before(at + 1);
  if (!up && (at == 0 || is_before(at - 1))) {
    shares_[at].demand = share.demand;
    return;
  }
  while (at + 1 < shares_.size() && is_before(at + 1)) shift(at + 1);
  while (at > 0 && !is_before(at - 1)) shift(at - 1);
  shares_[at] = share;
  kernel.share = static_cast<std::uint32_t>(at);
}

void BandwidthShare::end_shortage(Share& share, Kernel& kernel, std::int64_t now) const {
  // The event is a whole number of picoseconds of own time away from where the kernel was rounded.
  const std::int64_t event = share.given == never_given
                                 ? never
                                 : kernel.own + static_cast<std::int64_t>(divide(
                                                    share.given - kernel.given, share.demand));
  round_own_time(kernel, given_);
  kernel.slowed = false;
  kernel.own -= now;
  share.is_short = 0;
  share.time = event == never ? never : event - kernel.own;
}

void BandwidthShare::begin_shortage(Share& share, Kernel& kernel, std::int64_t now) const {
  const std::int64_t left = share.time == never ? never : share.time - now;
  kernel.slowed = true;
  kernel.own += now;
  kernel.given = given_;
  share.is_short = 1;
  share.time = never;
  share.given =
      left == never ? never_given : given_ + Wide{share.demand} * static_cast<std::uint64_t>(left);
}

bool BandwidthShare::share(std::vector<Kernel>& kernels,
                           CollectiveBandwidth& collectives,
                           std::int64_t now) {
  given_ = given_at(now);
  at_ = now;
  std::uint64_t left = collectives.share(total_);
  std::uint64_t others = shares_.size();
  std::size_t i = 0;
  for (; i < shares_.size() && shares_[i].demand * others <= left; ++i) {
    left -= shares_[i].demand;
    --others;
    if (shares_[i].is_short) end_shortage(shares_[i], kernels[shares_[i].kernel], now);
  }
  if (others == 0 && !collectives.lacking()) {
    saturated_ = false;
    next_ = never;
    return false;
  }
  level_ = others == 0 ? whole_bandwidth : left / others;
  const std::size_t first_short = i;
  for (; i < shares_.size(); ++i) {
    if (!shares_[i].is_short) begin_shortage(shares_[i], kernels[shares_[i].kernel], now);
  }
  find_next(first_short);
  return true;
}

void BandwidthShare::find_next(std::size_t first_short) {
  next_ = never;
  alone_ = true;
  for (std::size_t i = 0; i < first_short; ++i) {
    const std::int64_t time = shares_[i].time;
    if (time < next_) {
      next_ = time;
      next_share_ = static_cast<std::uint32_t>(i);
      alone_ = true;
    } else if (time == next_) {
      alone_ = false;
    }
  }
  Wide first = never_given;
  Wide second = never_given;
  std::size_t which = 0;
  for (std::size_t i = first_short; i < shares_.size(); ++i) {
    const Wide given = shares_[i].given;
    if (given < first) {
      second = first;
      first = given;
      which = i;
    } else if (given < second) {
      second = given;
    }
  }
  if (first == never_given) return;
  const Wide needed = first > given_ ? first - given_ : Wide{0};
  const std::int64_t time = at_ + static_cast<std::int64_t>(divide(needed + (level_ - 1), level_));
  if (time > next_) return;
  alone_ = time < next_ && second > given_at(time);
  next_ = time;
  next_share_ = static_cast<std::uint32_t>(which);
}

void BandwidthShare::take_due(std::vector<std::uint32_t>& due) {
  const auto take = [&due](Share& share) {
    due.push_back(share.kernel);
    share.time = never;
    share.given = never_given;
  };
  if (alone_) {
    take(shares_[next_share_]);
  } else {
    const Wide given = given_at(next_);
    for (Share& share : shares_) {
      if (share.is_short ? share.given <= given : share.time == next_) take(share);
    }
  }
  next_ = never;
}

}  // namespace schedlab::fluid
