// SPDX-License-Identifier: Apache-2.0
// How fast blocks run: what their units and the device's memory leave them.
#include "sim/engine/sharing/blocks.hpp"

#include <algorithm>
#include <cmath>
#include <tuple>

namespace schedlab {
namespace {

__extension__ using Wide = __int128;

}  // namespace

void BlocksSharing::update_rates(Time now) {
  for (Pool& pool : pools_) {
    for (const std::uint32_t index : pool.touched) {
      Unit& unit = pool.units[index];
      unit.touched = false;
      const std::uint32_t rate = rate_of(pool, unit);
      if (rate == unit.rate) continue;
      unit.rate = rate;
      devices_[pool.device.value()].changed = true;
      for (const std::uint32_t cohort : unit.cohorts) mark(cohort);
    }
    pool.touched.clear();
  }
  const std::size_t marked = marked_.size();  // what splitting adds already follows its units
  for (std::size_t i = 0; i < marked; ++i) follow_units(marked_[i]);
  for (DeviceState& state : devices_) {
    if (state.changed) share_bandwidth(state);
  }
  for (const std::uint32_t cohort : marked_) catch_up(cohort, now);
  marked_.clear();
}

std::uint32_t BlocksSharing::rate_of(const Pool& pool, const Unit& unit) const {
  bool shared = false;  // by several kernels
  for (const std::uint32_t cohort : unit.cohorts) {
    shared = shared || cohorts_[cohort].kernel != cohorts_[unit.cohorts.front()].kernel;
  }
  const std::uint32_t throughput = shared ? pool.shared_throughput : unit_throughput;
  if (unit.demand <= throughput) return rate_one;
  return static_cast<std::uint32_t>(std::uint64_t{throughput} * rate_one / unit.demand);
}

/// Blocks on units that have come to differ part ways.
void BlocksSharing::follow_units(std::uint32_t id) {
  Pool& pool = pool_of(cohorts_[id]);
  if (cohorts_[id].places.empty()) return;
  const auto rate_at = [&pool](const UnitShare& share) { return pool.units[share.unit].rate; };
  const std::uint32_t own_rate = rate_at(cohorts_[id].places.front());
  cohorts_[id].unit_rate = own_rate;
  const auto& places = cohorts_[id].places;
  if (std::all_of(places.begin(), places.end(), [&](const UnitShare& share) {
        return rate_at(share) == own_rate;
      })) {
    return;
  }
  places_.assign(places.begin(), places.end());
  cohorts_[id].places.clear();
  cohorts_[id].blocks = 0;
  split_.assign(1, id);
  for (const UnitShare& share : places_) {
    auto target = std::find_if(split_.begin(), split_.end(), [&](std::uint32_t part) {
      return cohorts_[part].unit_rate == rate_at(share);
    });
    if (target == split_.end()) {
      const std::uint32_t part = make_cohort(cohorts_[id].kernel, cohorts_[id].updated);
      cohorts_[part].left = cohorts_[id].left;
      cohorts_[part].rate = cohorts_[id].rate;
      cohorts_[part].unit_rate = rate_at(share);
      mark(part);
      target = split_.insert(split_.end(), part);
    }
    cohorts_[*target].places.push_back(share);
    cohorts_[*target].blocks += share.blocks;
    auto& on_unit = pool.units[share.unit].cohorts;
    *std::find(on_unit.begin(), on_unit.end(), id) = *target;
  }
}

/// Bytes per second that the kernel's blocks would move at the speed their units allow.
double BlocksSharing::demand(const Kernel& kernel) const {
  std::uint64_t running = 0;  // blocks, times rate_one
  for (const std::uint32_t id : kernel.cohorts) {
    running += std::uint64_t{cohorts_[id].blocks} * cohorts_[id].unit_rate;
  }
  return kernel.block_bandwidth * (static_cast<double>(running) / rate_one);
}

double BlocksSharing::share_collectives(const DeviceState& state, double wanted) {
  constexpr double most_guaranteed = 255.0 / 256;  // as fluid's
  double all = 0.0;
  double guaranteed = 0.0;
  const auto here = [&](std::uint32_t index) {
    return &devices_[kernels_[index].request.device.value()] == &state;
  };
  for (const std::uint32_t index : engaged_) {
    if (!here(index)) continue;
    const KernelRequest& request = kernels_[index].request;
    all += demand(kernels_[index]);
    guaranteed += costs_->entry(request.task, request.device).estimate.share;
  }
  if (all == 0.0) return state.bandwidth;
  const double given = std::min(
      all,
      std::max(std::min(guaranteed, most_guaranteed) * state.bandwidth, state.bandwidth - wanted));
  const bool lacking = given < all * (1.0 - 1e-9);
  const double rate = lacking ? std::floor(given / all * rate_one) : rate_one;
  for (const std::uint32_t index : engaged_) {
    if (here(index)) set_bandwidth_rate(index, static_cast<std::uint32_t>(rate));
  }
  return state.bandwidth - given;
}

void BlocksSharing::share_bandwidth(DeviceState& state) {
  state.changed = false;
  if (state.bandwidth == 0.0) return;
  by_demand_.clear();
  double total = 0.0;
  for (const std::uint32_t index : state.running) {
    if (contend_ && kernels_[index].request.held) continue;
    by_demand_.push_back(index);
    total += demand(kernels_[index]);
  }
  double left = contend_ ? share_collectives(state, total) : state.bandwidth;
  if (total <= left + state.bandwidth * 1e-9) {
    if (!state.saturated) return;
    state.saturated = false;
    for (const std::uint32_t index : by_demand_) set_bandwidth_rate(index, rate_one);
    return;
  }
  state.saturated = true;
  // Max-min: the smallest demands are met in full, what is left is shared equally among the others.
  std::sort(by_demand_.begin(), by_demand_.end(), [this](std::uint32_t a, std::uint32_t b) {
    return std::make_tuple(demand(kernels_[a]), a) < std::make_tuple(demand(kernels_[b]), b);
  });
  auto others = static_cast<double>(by_demand_.size());
  for (const std::uint32_t index : by_demand_) {
    const double wanted = demand(kernels_[index]);
    const double given = std::min(wanted, left / others);
    left -= given;
    others -= 1.0;
    const double rate = wanted > given ? std::floor(given / wanted * rate_one) : rate_one;
    set_bandwidth_rate(index, static_cast<std::uint32_t>(rate));
  }
}

void BlocksSharing::set_bandwidth_rate(std::uint32_t index, std::uint32_t rate) {
  Kernel& kernel = kernels_[index];
  if (kernel.bandwidth_rate == rate) return;
  kernel.bandwidth_rate = rate;
  for (const std::uint32_t cohort : kernel.cohorts) mark(cohort);
}

/// Books the progress so far and finds the end at the present rate.
void BlocksSharing::catch_up(std::uint32_t id, Time now) {
  Cohort& cohort = cohorts_[id];
  cohort.marked = false;
  if (kernels_[cohort.kernel].request.held) {  // release() says when, also of split cohorts
    if (cohort.end == kernels_[cohort.kernel].release_at) return;
    cohort.end = kernels_[cohort.kernel].release_at;
    ends_.push(cohort.end, 0, id);
    return;
  }
  const std::uint64_t product =
      std::uint64_t{cohort.unit_rate} * kernels_[cohort.kernel].bandwidth_rate / rate_one;
  const auto rate = static_cast<std::uint32_t>(std::max<std::uint64_t>(1, product));
  if (rate == cohort.rate && cohort.end != Time::max()) return;
  const std::int64_t elapsed = (now - cohort.updated).count();
  const auto done = static_cast<std::int64_t>(Wide{elapsed} * cohort.rate / rate_one);
  cohort.left = std::max<std::int64_t>(0, cohort.left - done);
  cohort.updated = now;
  cohort.rate = rate;
  const auto needed = static_cast<std::int64_t>((Wide{cohort.left} * rate_one + rate - 1) / rate);
  const Time end = now + Duration{needed};
  if (end == cohort.end) return;
  cohort.end = end;
  ends_.push(end, 0, id);
}

}  // namespace schedlab
