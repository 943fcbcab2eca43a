// SPDX-License-Identifier: Apache-2.0
#include "sim/engine/sharing/co_resident_share.hpp"

#include "sim/engine/sharing/bandwidth_share.hpp"

#include <algorithm>
#include <cmath>
#include <numeric>
#include <tuple>

namespace schedlab::fluid {

void CoResidentShare::reset(const Device& device) {
  throughput_ = std::max<std::int64_t>(
      1, static_cast<std::int64_t>(std::floor(device.co_residency_factor * unit_throughput)));
  needs_.clear();
  classes_.clear();
  for (const UnitClass& unit_class : device.unit_classes) {
    classes_.emplace_back().units = unit_class.count;
  }
  classes_.emplace_back();  // kernels of no class
  bandwidth_ = {};
  members_.clear();
  next_ = never;
  due_alone_ = nil;
}

void CoResidentShare::describe(std::uint32_t index, const UnitNeed& need) {
  if (index >= needs_.size()) needs_.resize(index + 1);
  needs_[index] = need;
}

std::int64_t CoResidentShare::own_time(const Kernel& kernel, std::int64_t now, bool& ticked) const {
  if (!kernel.slowed) {
    ticked = true;
    return now + kernel.own;
  }
  const Member& member = members_[kernel.share];
  const Clock& clock = clock_of(member);
  const std::uint64_t one = needs(member, kernel);
  const Wide progress = clock.at_time(now) - kernel.given;
  const std::uint64_t done = divide(progress, one);
  // A picosecond ago the progress was less by the rate.
  ticked = progress - Wide{done} * one < clock.rate;
  return kernel.own + static_cast<std::int64_t>(done);
}

void CoResidentShare::update_demand(std::uint32_t index,
                                    std::vector<Kernel>& kernels,
                                    std::int64_t now) {
  Kernel& kernel = kernels[index];
  if (kernel.blocks_running == 0) {
    if (kernel.share != nil) leave(kernel, kernels, now);
  } else if (kernel.share == nil) {
    kernel.share = static_cast<std::uint32_t>(members_.size());
    Member& member = members_.emplace_back();
    member.kernel = index;
    member.need = needs_[index];
  }
}

void CoResidentShare::leave(Kernel& kernel, std::vector<Kernel>& kernels, std::int64_t now) {
  set_limit(members_[kernel.share], kernel, Limit::none, now);
  members_[kernel.share] = members_.back();
  kernels[members_.back().kernel].share = kernel.share;
  members_.pop_back();
  kernel.share = nil;
}

std::uint64_t CoResidentShare::unit_rate(const Member& member, const Kernel& kernel) const {
  if (!member.need.co_resides() || kernel.request.held) return full_rate;
  return classes_[member.need.unit_class].clock.rate;
}

void CoResidentShare::share_units(const std::vector<Kernel>& kernels) {
  for (UnitClassState& units : classes_) {
    units.taken_whole = 0;
    units.kernels = 0;
    units.wanted = 0;
    units.block = 0;
    units.most = 0;
  }
  for (const Member& member : members_) {
    UnitClassState& units = classes_[member.need.unit_class];
    const std::uint32_t blocks = kernels[member.kernel].blocks_running;
    if (!member.need.co_resides()) {
      units.taken_whole += blocks;
      continue;
    }
    const Residency& residency = member.need.residency;
    ++units.kernels;
    units.wanted += std::int64_t{blocks} * residency.throughput;
    units.block = std::max<std::int64_t>(units.block, residency.throughput);
    units.most = std::max(units.most, residency.most());
  }
  for (UnitClassState& units : classes_) units.clock.rate = rate_of(units);
}

/// Of the kernels that share units of the class.
std::uint64_t CoResidentShare::rate_of(const UnitClassState& units) const {
  if (units.units <= units.taken_whole) return full_rate;  // without limit, or nobody shares any
  const std::int64_t shared = units.units - units.taken_whole;
  std::uint64_t rate = full_rate;
  const std::int64_t fullest = on_fullest_unit(units.wanted, shared, units.block, units.most);
  if (fullest > unit_throughput) {
    rate = full_rate * unit_throughput / static_cast<std::uint64_t>(fullest);
  }
  const std::int64_t there_is = shared * throughput_;
  if (units.kernels > 1 && throughput_ < unit_throughput && units.wanted > there_is) {
    rate = std::min(rate,
                    divide(Wide{full_rate} * static_cast<std::uint64_t>(there_is),
                           static_cast<std::uint64_t>(units.wanted)));
  }
  return std::max<std::uint64_t>(1, rate);
}

void CoResidentShare::set_limit(Member& member,
                                Kernel& kernel,
                                Limit limit,
                                std::int64_t now) const {
  const std::uint64_t demand = demand_of(kernel);
  if (member.limit != limit || (limit == Limit::bandwidth && kernel.demand != demand)) {
    bool ticked = false;
    const std::int64_t own = own_time(kernel, now, ticked);
    member.limit = limit;
    kernel.slowed = limit != Limit::none;
    kernel.own = kernel.slowed ? own : own - now;
    if (kernel.slowed) kernel.given = clock_of(member).given;
  }
  kernel.demand = demand;
}

void CoResidentShare::share_bandwidth(std::vector<Kernel>& kernels, std::int64_t now) {
  std::uint64_t total = 0;
  for (Member& member : members_) {
    const Kernel& kernel = kernels[member.kernel];
    const std::uint64_t rate = unit_rate(member, kernel);
    member.wanted = static_cast<std::uint64_t>(Wide{demand_of(kernel)} * rate / full_rate);
    total += member.wanted;
  }
  const auto give_all = [&](Member& member) {
    Kernel& kernel = kernels[member.kernel];
    const bool slowed = unit_rate(member, kernel) != full_rate;
    set_limit(member, kernel, slowed ? Limit::units : Limit::none, now);
  };
  if (total <= whole_bandwidth) {
    for (Member& member : members_) give_all(member);
    return;
  }
  by_wanted_.resize(members_.size());
  std::iota(by_wanted_.begin(), by_wanted_.end(), 0U);
  std::sort(by_wanted_.begin(), by_wanted_.end(), [this](std::uint32_t a, std::uint32_t b) {
    return std::tie(members_[a].wanted, a) < std::tie(members_[b].wanted, b);
  });
  std::uint64_t left = whole_bandwidth;
  std::uint64_t others = members_.size();
  for (const std::uint32_t i : by_wanted_) {
    Member& member = members_[i];
    if (member.wanted * others <= left) {  // then so it was of all before
      left -= member.wanted;
      --others;
      give_all(member);
    } else {
      set_limit(member, kernels[member.kernel], Limit::bandwidth, now);
    }
  }
  bandwidth_.rate = left / others;
}

void CoResidentShare::share(std::vector<Kernel>& kernels, std::int64_t now) {
  bandwidth_.advance(now);
  for (UnitClassState& units : classes_) units.clock.advance(now);
  share_units(kernels);
  share_bandwidth(kernels, now);
  find_next(kernels);
}

/// Of the member's event, as of the last sharing.
std::int64_t CoResidentShare::time_of(const Member& member, const Kernel& kernel) const {
  if (member.event == never) return never;
  if (member.limit == Limit::none) return member.event - kernel.own;
  const Clock& clock = clock_of(member);
  const Wide due = kernel.given + Wide{needs(member, kernel)} *
                                      static_cast<std::uint64_t>(member.event - kernel.own);
  const Wide needed = due > clock.given ? due - clock.given : Wide{0};
  return clock.at + static_cast<std::int64_t>(divide(needed + (clock.rate - 1), clock.rate));
}

void CoResidentShare::find_next(const std::vector<Kernel>& kernels) {
  next_ = never;
  due_alone_ = nil;
  for (Member& member : members_) {
    member.time = time_of(member, kernels[member.kernel]);
    if (member.time < next_) {
      next_ = member.time;
      due_alone_ = member.kernel;
    } else if (member.time == next_) {
      due_alone_ = nil;
    }
  }
}

void CoResidentShare::take_due(std::vector<std::uint32_t>& due) {
  for (Member& member : members_) {
    if (member.time != next_) continue;
    due.push_back(member.kernel);
    member.event = never;
    member.time = never;
  }
  next_ = never;
}

std::size_t CoResidentShare::memory_bytes() const {
  return members_.capacity() * sizeof(Member) + needs_.capacity() * sizeof(UnitNeed) +
         classes_.capacity() * sizeof(UnitClassState) +
         by_wanted_.capacity() * sizeof(std::uint32_t);
}

}  // namespace schedlab::fluid
