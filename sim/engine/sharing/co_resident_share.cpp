// SPDX-License-Identifier: Apache-2.0
#include "sim/engine/sharing/co_resident_share.hpp"

#include "sim/plan/partitions.hpp"

#include <algorithm>
#include <cmath>
#include <numeric>
#include <tuple>
#include <utility>

namespace schedlab::fluid {

void CoResidentShare::reset(const Device& device, const std::vector<std::uint32_t>& partitions) {
  throughput_ = std::max<std::int64_t>(
      1, static_cast<std::int64_t>(std::floor(device.co_residency_factor * unit_throughput)));
  needs_.clear();
  classes_.resize(device.unit_classes.size() + 1 + partitions.size());
  for (UnitClassState& units : classes_) {
    DueRow row = std::move(units.clock.events);
    units = {};
    units.clock.events = std::move(row);
    units.clock.restart(whole_rate);
  }
  std::size_t number = 0;
  for (const UnitClass& unit_class : device.unit_classes) {
    classes_[number++].units = unit_class.count;
  }
  if (!partitions.empty()) {
    std::uint32_t& units = classes_[divided_class(device).value()].units;
    units = units_left(units, partitions);
  }
  ++number;  // kernels of no class
  for (const std::uint32_t units : partitions) classes_[number++].units = units;
  bandwidth_.restart(0);
  time_.restart(1);
  demand_ = 0;
  members_.clear();
  active_.clear();
  unchanged_ = 0;
  next_ = never;
  due_alone_ = nil;
}

void CoResidentShare::describe(std::uint32_t index, const UnitNeed& need) {
  if (index >= needs_.size()) needs_.resize(index + 1);
  needs_[index] = need;
}

CoResidentShare::Member& CoResidentShare::join(std::uint32_t index, Kernel& kernel) {
  kernel.share = static_cast<std::uint32_t>(members_.size());
  Member& member = members_.emplace_back();
  member.kernel = index;
  member.need = needs_[index];
  member.follows_units = member.need.co_resides() && !kernel.request.held;
  member.clock = &time_;
  time_.events.insert(member.due, index);
  if (classes_[member.need.unit_class].members++ == 0) active_.push_back(member.need.unit_class);
  if (member.need.co_resides()) {
    const Residency& residency = member.need.residency;
    UnitClassState& units = classes_[member.need.unit_class];
    ++units.kernels;
    units.most = std::max(units.most, residency.most());
  }
  return member;
}

void CoResidentShare::leave(Kernel& kernel, std::vector<Kernel>& kernels, std::int64_t now) {
  Member& member = members_[kernel.share];
  count(member, 0, 0);
  if (kernel.blocks_left != 0) set_limit(member, kernel, Limit::none, now);  // it comes back
  member.clock->events.remove(member.kernel);
  kernel.slowed = false;
  kernel.demand = 0;  // the next kernel in its place may be one of another device
  if (member.need.co_resides()) {
    UnitClassState& units = classes_[member.need.unit_class];
    --units.kernels;
    units.smaller = true;
  }
  if (--classes_[member.need.unit_class].members == 0) std::erase(active_, member.need.unit_class);
  unchanged_ = unchanged_ == members_.size() ? unchanged_ - 1
                                             : std::min<std::size_t>(unchanged_, kernel.share);
  member = members_.back();
  kernels[member.kernel].share = kernel.share;
  members_.pop_back();
  kernel.share = nil;
}

inline void CoResidentShare::share_units(std::int64_t now) {
  for (const std::uint32_t number : active_) {
    UnitClassState& units = classes_[number];
    if (!units.changed) continue;
    units.changed = false;
    if (units.smaller) find_largest(number);
    if (!units.note_inputs()) continue;
    const bool was_whole = units.clock.rate == whole_rate;
    (void)units.clock.set_rate(rate_of(units), now);
    if (was_whole != (units.clock.rate == whole_rate)) unchanged_ = 0;
  }
}

void CoResidentShare::find_largest(std::uint32_t unit_class) {
  UnitClassState& units = classes_[unit_class];
  units.smaller = false;
  units.most = 0;
  for (const Member& member : members_) {
    if (member.need.unit_class != unit_class || !member.need.co_resides()) continue;
    units.most = std::max(units.most, member.need.residency.most());
  }
}

/// Of the kernels that share units of the class.
std::uint64_t CoResidentShare::rate_of(const UnitClassState& units) const {
  if (units.units <= units.taken_whole) return whole_rate;  // without limit, or none is shared
  const std::int64_t shared = units.units - units.taken_whole;
  std::uint64_t rate = whole_rate;
  if (units.most > unit_throughput && units.blocks != 0) {
    const std::int64_t fullest = on_fullest_unit(units.blocks, units.wanted, shared, units.most);
    if (fullest > unit_throughput) {
      rate = whole_rate * unit_throughput / static_cast<std::uint64_t>(fullest);
    }
  }
  const std::int64_t there_is = shared * throughput_;
  if (units.kernels > 1 && throughput_ < unit_throughput && units.wanted > there_is) {
    rate = std::min(rate,
                    divide(Wide{whole_rate} * static_cast<std::uint64_t>(there_is),
                           static_cast<std::uint64_t>(units.wanted)));
  }
  return std::max<std::uint64_t>(1, rate);
}

void CoResidentShare::set_limit(Member& member, Kernel& kernel, Limit limit, std::int64_t now) {
  if (member.limit == limit && (limit != Limit::bandwidth || kernel.demand == member.demand)) {
    return;
  }
  bool ticked = false;
  const std::int64_t own = own_time(kernel, now, ticked);
  member.clock->events.remove(member.kernel);
  member.limit = limit;
  kernel.demand = member.demand;
  kernel.slowed = limit != Limit::none;
  if (kernel.slowed) {
    member.clock =
        limit == Limit::bandwidth ? &bandwidth_ : &classes_[member.need.unit_class].clock;
    kernel.own = own;
    kernel.given = member.clock->at_time(now);
  } else {
    member.clock = &time_;
    kernel.own = own - now;
  }
  member.due = due_of(member, kernel);
  member.clock->events.insert(member.due, member.kernel);
}

/// It gets the bandwidth it wants.
void CoResidentShare::give_all(Member& member, std::vector<Kernel>& kernels, std::int64_t now) {
  const bool slowed = unit_rate(member) != whole_rate;
  set_limit(member, kernels[member.kernel], slowed ? Limit::units : Limit::none, now);
}

void CoResidentShare::share_bandwidth(std::vector<Kernel>& kernels,
                                      CollectiveBandwidth& collectives,
                                      std::int64_t now) {
  std::uint64_t total = 0;
  for (Member& member : members_) {
    member.wanted =
        static_cast<std::uint64_t>(Wide{member.demand} * unit_rate(member) / whole_rate);
    total += member.wanted;
  }
  std::uint64_t left = collectives.share(total);
  if (total <= left) {
    for (Member& member : members_) give_all(member, kernels, now);
    return;
  }
  by_wanted_.resize(members_.size());
  std::iota(by_wanted_.begin(), by_wanted_.end(), 0U);
  std::sort(by_wanted_.begin(), by_wanted_.end(), [this](std::uint32_t a, std::uint32_t b) {
    return std::tie(members_[a].wanted, a) < std::tie(members_[b].wanted, b);
  });
  std::uint64_t others = members_.size();
  for (const std::uint32_t i : by_wanted_) {
    Member& member = members_[i];
    if (member.wanted * others <= left) {  // then so it was of all before
      left -= member.wanted;
      --others;
      give_all(member, kernels, now);
    } else {
      set_limit(member, kernels[member.kernel], Limit::bandwidth, now);
    }
  }
  (void)bandwidth_.set_rate(left / others, now);
  unchanged_ = 0;
}

/// Not exactly, but in few steps: each of the members may want one less than its part of the sum.
inline bool CoResidentShare::may_lack_bandwidth(std::int64_t left) const {
  std::uint64_t most = demand_;
  for (const std::uint32_t number : active_) {
    const UnitClassState& units = classes_[number];
    most += static_cast<std::uint64_t>(Wide{units.demand} * units.clock.rate / whole_rate) + 1;
  }
  return static_cast<std::int64_t>(most) > left;
}

inline void CoResidentShare::note_clock(const Clock& clock, std::int64_t now) {
  if (clock.events.first() == DueRow::never) return;
  const std::int64_t time = clock.next_time(now);
  if (time > next_) return;
  const bool alone = time < next_ && clock.events.second() > clock.at_time(time);
  next_ = time;
  due_alone_ = alone ? clock.events.first_kernel() : nil;
}

inline void CoResidentShare::find_next(std::int64_t now) {
  next_ = never;
  due_alone_ = nil;
  note_clock(time_, now);
  for (const std::uint32_t number : active_) note_clock(classes_[number].clock, now);
  note_clock(bandwidth_, now);
}

void CoResidentShare::share(std::vector<Kernel>& kernels,
                            CollectiveBandwidth& collectives,
                            std::int64_t now) {
  share_units(now);
  std::size_t first = std::exchange(unchanged_, members_.size());
  if (may_lack_bandwidth(collectives.left())) {
    share_bandwidth(kernels, collectives, now);
  } else {
    (void)collectives.share(0);  // there is enough: they are given all they want
    for (; first < members_.size(); ++first) give_all(members_[first], kernels, now);
  }
  find_next(now);
}

void CoResidentShare::take_due(std::vector<std::uint32_t>& due) {
  for (Member& member : members_) {
    const bool is_due = due_alone_ != nil ? member.kernel == due_alone_
                                          : member.due <= member.clock->at_time(next_);
    if (!is_due) continue;
    due.push_back(member.kernel);
    member.event = never;
    member.due = DueRow::never;
    member.clock->events.move(member.kernel, member.due);
  }
  next_ = never;
}

std::size_t CoResidentShare::memory_bytes() const {
  return members_.capacity() * sizeof(Member) + needs_.capacity() * sizeof(UnitNeed) +
         classes_.capacity() * sizeof(UnitClassState) +
         by_wanted_.capacity() * sizeof(std::uint32_t);
}

}  // namespace schedlab::fluid
