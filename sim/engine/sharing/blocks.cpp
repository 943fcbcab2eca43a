// SPDX-License-Identifier: Apache-2.0
#include "sim/engine/sharing/blocks.hpp"

#include "sim/base/ceil_div.hpp"
#include "sim/plan/partitions.hpp"

#include <algorithm>
#include <cmath>
#include <tuple>

namespace schedlab {
namespace {

__extension__ using Wide = __int128;

}  // namespace

void BlocksSharing::reset(const Problem& problem, const std::vector<std::uint32_t>& partitions) {
  costs_ = &problem.costs;
  platform_ = &problem.platform;
  devices_.clear();
  pools_.clear();
  kernels_.clear();
  free_kernels_.clear();
  cohorts_.clear();
  free_cohorts_.clear();
  arrived_.clear();
  marked_.clear();
  ends_.clear();
  engaged_.clear();
  contend_ = platform_->network.collectives.contend;
  dirty_ = false;
  for (const DeviceId id : platform_->device_ids()) {
    const Device& device = platform_->device(id);
    DeviceState state;
    state.first_pool = pools_.size();
    state.bandwidth = device.rates.memory.count() * device.rates.memory_efficiency;
    if (!partitions.empty()) state.divided = divided_class(device);
    std::uint32_t next = 0;  // unit of the first partition
    for (const UnitClassId unit_class : device.unit_classes.ids()) {
      const std::uint32_t count = device.unit_classes[unit_class].count;
      const bool divides = state.divided.valid() && unit_class == state.divided;
      if (divides) next = units_left(count, partitions);
      add_pool(id, unit_class, divides ? next : count, 0);
    }
    add_pool(id, UnitClassId::none(), 0, 0);  // kernels of no class
    for (const std::uint32_t units : partitions) {
      add_pool(id, state.divided, units, next);
      next += units;
    }
    devices_.push_back(std::move(state));
  }
}

void BlocksSharing::add_pool(DeviceId id,
                             UnitClassId unit_class,
                             std::uint32_t units,
                             std::uint32_t first) {
  const Device& device = platform_->device(id);
  Pool pool;
  pool.device = id;
  pool.unit_class = unit_class;
  pool.first_unit = first;
  pool.whole = unit_class.valid() ? device.unit_classes[unit_class].count : 0;
  pool.units.resize(units);
  pool.free.assign(units, unit_resources(device.sm_limits));
  pool.queues.resize(device.priority_levels);
  pool.shared_throughput = std::max(
      1U, static_cast<std::uint32_t>(std::floor(device.co_residency_factor * unit_throughput)));
  pools_.push_back(std::move(pool));
}

std::uint32_t BlocksSharing::make_kernel(const KernelRequest& request) {
  auto index = static_cast<std::uint32_t>(kernels_.size());
  if (free_kernels_.empty()) {
    kernels_.emplace_back();
  } else {
    index = free_kernels_.back();
    free_kernels_.pop_back();
  }
  Kernel& kernel = kernels_[index];
  const CostTable::Entry& entry = costs_->entry(request.task, request.device);
  const Estimate& estimate = entry.estimate;
  const Device& device = platform_->device(request.device);
  kernel.request = request;
  const DeviceState& state = devices_[request.device.value()];
  const std::size_t no_class = device.unit_classes.size();
  std::size_t pool = entry.unit_class.valid() ? entry.unit_class.value() : no_class;
  if (request.partition != 0 && state.divided.valid() && entry.unit_class == state.divided) {
    pool = no_class + request.partition;
  }
  kernel.pool = state.first_pool + pool;
  kernel.blocks_left = estimate.blocks != 0 ? estimate.blocks : std::max(1U, entry.units);
  kernel.blocks_running = 0;
  std::uint32_t per_unit = std::max(1U, estimate.blocks_per_unit);
  if (estimate.block.threads != 0 && device.sm_limits.known()) {
    kernel.need = block_resources(estimate.block, device.sm_limits);
    per_unit = std::min(per_unit, occupancy(estimate.block, device.sm_limits).blocks);
  } else {
    kernel.need = part_of_unit(per_unit, device.sm_limits);
  }
  set_block_time(kernel, per_unit, estimate.compute_share);
  if (request.held) {
    const std::uint32_t stream = request.stream.value();
    if (stream >= held_.size()) held_.resize(stream + 1, nil);
    held_[stream] = index;
  }
  kernel.release_at = Time::max();
  kernel.bandwidth_rate = rate_one;
  kernel.cohorts.clear();
  kernel.started = false;
  kernel.next_waiting = nil;
  return index;
}

/// Alone, a kernel fills all units with as many blocks as can reside, wave after wave; the last
/// wave spreads the rest evenly. If the blocks on a unit want more than its throughput, the wave
/// takes longer in proportion. The time of a block at full rate is the estimate over the number of
/// block times that all this takes.
void BlocksSharing::set_block_time(Kernel& kernel,
                                   std::uint32_t per_unit,
                                   float compute_share) const {
  const KernelRequest& request = kernel.request;
  const Pool& pool = pools_[kernel.pool];
  const auto units = std::int64_t{pool.whole};
  const std::int64_t blocks = kernel.blocks_left;
  const std::int64_t duration = costs_->duration(request.task, request.device).count();
  const auto whole_share = unit_throughput / per_unit;  // of one block, rounded down
  kernel.demand =
      static_cast<std::uint32_t>(std::floor(static_cast<double>(compute_share) * whole_share));
  const auto rate_with = [&](std::int64_t on_unit) {
    const std::int64_t wanted = on_unit * kernel.demand;
    return wanted <= unit_throughput ? std::int64_t{rate_one}
                                     : std::int64_t{unit_throughput} * rate_one / wanted;
  };
  std::int64_t wave = blocks;
  std::int64_t full_waves = 0;
  std::int64_t full_rate = rate_one;
  std::int64_t last_rate = rate_one;
  if (units != 0) {
    const std::int64_t resident =
        unit_resources(platform_->device(request.device).sm_limits).times(kernel.need, nil);
    wave = std::min<std::int64_t>(blocks, units * std::min<std::int64_t>(resident, blocks));
    full_waves = blocks / wave;
    full_rate = rate_with(ceil_div(wave, units));
    if (blocks % wave != 0) last_rate = rate_with(ceil_div(blocks % wave, units));
  } else {
    full_waves = 1;
  }
  const std::int64_t last_wave = blocks % wave != 0 ? 1 : 0;
  if (full_rate == rate_one && last_rate == rate_one) {
    kernel.block_time = ceil_div(duration, full_waves + last_wave);
  } else {  // duration = block_time * (full_waves / full_rate + last_wave / last_rate)
    const Wide share = Wide{full_waves} * last_rate + Wide{last_wave} * full_rate;
    const Wide whole = Wide{full_rate} * last_rate;
    // (duration * whole) / (share * rate_one), rounded up; whole is below 2^61, so first by share.
    const Wide per_share = (Wide{duration} * whole + share - 1) / share;
    kernel.block_time = static_cast<std::int64_t>((per_share + rate_one - 1) / rate_one);
  }
  kernel.block_bandwidth = 0.0;
  if (kernel.block_time > 0) {
    const Estimate& estimate = costs_->entry(request.task, request.device).estimate;
    const double bytes = estimate.bandwidth.count() * to_seconds(estimate.duration);
    const double wanted =
        bytes / (static_cast<double>(blocks) * static_cast<double>(kernel.block_time) * 1e-12);
    // Alone, no wave wants more than there is; the first is the one that wants most.
    std::int64_t running = wave * rate_one;
    if (units != 0) {
      const std::int64_t low = wave / units;
      const std::int64_t high = wave % units;  // units with one block more
      running = high * (low + 1) * rate_with(low + 1) + (units - high) * low * rate_with(low);
    }
    const double bandwidth = devices_[request.device.value()].bandwidth;
    kernel.block_bandwidth =
        std::min(wanted, bandwidth / (static_cast<double>(running) / rate_one));
  }
}

void BlocksSharing::enqueue_arrived() {
  // All of one instant: submission order decides, whatever order their streams were looked at in.
  std::sort(arrived_.begin(), arrived_.end(), [](const KernelRequest& a, const KernelRequest& b) {
    return std::tie(a.arrived, a.item) < std::tie(b.arrived, b.item);
  });
  for (const KernelRequest& request : arrived_) {
    const std::uint32_t index = make_kernel(request);
    Queue& queue = pools_[kernels_[index].pool].queues[request.level];
    if (queue.tail == nil) {
      queue.head = index;
    } else {
      kernels_[queue.tail].next_waiting = index;
    }
    queue.tail = index;
  }
  arrived_.clear();
}

std::uint32_t BlocksSharing::make_cohort(std::uint32_t kernel, Time now) {
  auto index = static_cast<std::uint32_t>(cohorts_.size());
  if (free_cohorts_.empty()) {
    cohorts_.emplace_back();
  } else {
    index = free_cohorts_.back();
    free_cohorts_.pop_back();
  }
  Cohort& cohort = cohorts_[index];
  cohort.kernel = kernel;
  cohort.blocks = 0;
  cohort.left = kernels_[kernel].block_time;
  cohort.updated = now;
  cohort.unit_rate = rate_one;
  cohort.rate = 0;
  cohort.end = Time::max();
  cohort.marked = false;
  cohort.places.clear();
  kernels_[kernel].cohorts.push_back(index);
  return index;
}

void BlocksSharing::touch(Pool& pool, std::uint32_t unit) {
  if (pool.units[unit].touched) return;
  pool.units[unit].touched = true;
  pool.touched.push_back(unit);
}

void BlocksSharing::mark(std::uint32_t cohort) {
  if (cohorts_[cohort].marked) return;
  cohorts_[cohort].marked = true;
  marked_.push_back(cohort);
}

void BlocksSharing::log(
    const Pool& pool, TaskId task, const UnitShare& share, Time now, bool placed) const {
  const auto blocks = static_cast<std::int32_t>(share.blocks);
  log_->push_back({.at = now,
                   .task = task,
                   .device = pool.device,
                   .unit_class = pool.unit_class,
                   .unit = pool.first_unit + share.unit,
                   .blocks = placed ? blocks : -blocks});
}

std::uint32_t BlocksSharing::place(std::uint32_t index, Time now) {
  Kernel& kernel = kernels_[index];
  Pool& pool = pools_[kernel.pool];
  places_.clear();
  std::uint32_t blocks = kernel.blocks_left;
  if (!pool.units.empty()) {
    blocks = placement_.place(pool.free, kernel.need, kernel.blocks_left, places_);
    if (blocks == 0) return 0;
  }
  const std::uint32_t id = make_cohort(index, now);
  Cohort& cohort = cohorts_[id];
  cohort.blocks = blocks;
  cohort.places.assign(places_.begin(), places_.end());
  for (const UnitShare& share : places_) {
    Unit& unit = pool.units[share.unit];
    unit.demand += share.blocks * kernel.demand;
    unit.cohorts.push_back(id);
    touch(pool, share.unit);
    if (log_ != nullptr) log(pool, kernel.request.task, share, now, true);
  }
  kernel.blocks_left -= blocks;
  kernel.blocks_running += blocks;
  devices_[pool.device.value()].changed = true;
  mark(id);
  return blocks;
}

void BlocksSharing::release(StreamId stream, Time end) {
  Kernel& kernel = kernels_[held_[stream.value()]];
  kernel.release_at = end;
  for (const std::uint32_t cohort : kernel.cohorts) {
    cohorts_[cohort].end = end;
    ends_.push(end, 0, cohort);
  }
}

void BlocksSharing::drop_stale_ends() {
  while (!ends_.empty()) {
    const EventQueue::Top top = ends_.peek();
    if (cohorts_[top.payload].end == top.time) return;
    ends_.pop();
  }
}

Time BlocksSharing::next_completion() {
  drop_stale_ends();
  return ends_.next_time();
}

bool BlocksSharing::pop_completion(Time now, Completion& completed) {
  drop_stale_ends();
  return end_cohort(ends_.pop().payload, now, completed);
}

void BlocksSharing::engage(StreamId stream) {
  const std::uint32_t index = held_[stream.value()];
  engaged_.push_back(index);
  devices_[kernels_[index].request.device.value()].changed = true;
  dirty_ = true;
}

BlocksSharing::Completion BlocksSharing::end_held(StreamId stream, Time now) {
  const std::uint32_t index = held_[stream.value()];
  engaged_.erase(std::find(engaged_.begin(), engaged_.end(), index));
  Completion completed;
  while (!end_cohort(kernels_[index].cohorts.front(), now, completed)) {
  }
  return completed;
}

bool BlocksSharing::end_cohort(std::uint32_t id, Time now, Completion& completed) {
  Cohort& cohort = cohorts_[id];
  cohort.end = Time::max();
  const std::uint32_t index = cohort.kernel;
  Kernel& kernel = kernels_[index];
  Pool& pool = pools_[kernel.pool];
  for (const UnitShare& share : cohort.places) {
    Unit& unit = pool.units[share.unit];
    unit.demand -= share.blocks * kernel.demand;
    unit.cohorts.erase(std::find(unit.cohorts.begin(), unit.cohorts.end(), id));
    pool.free[share.unit].give(kernel.need, static_cast<std::int32_t>(share.blocks));
    touch(pool, share.unit);
    if (log_ != nullptr) log(pool, kernel.request.task, share, now, false);
  }
  kernel.blocks_running -= cohort.blocks;
  kernel.cohorts.erase(std::find(kernel.cohorts.begin(), kernel.cohorts.end(), id));
  free_cohorts_.push_back(id);
  DeviceState& state = devices_[pool.device.value()];
  state.changed = true;
  dirty_ = true;
  if (kernel.blocks_running != 0 || kernel.blocks_left != 0) return false;
  completed = {.task = kernel.request.task, .stream = kernel.request.stream};
  --state.resident;
  state.running.erase(std::find(state.running.begin(), state.running.end(), index));
  free_kernels_.push_back(index);
  return true;
}

std::size_t BlocksSharing::memory_bytes() const {
  std::size_t bytes = kernels_.capacity() * sizeof(Kernel) + cohorts_.capacity() * sizeof(Cohort) +
                      ends_.memory_bytes() + arrived_.capacity() * sizeof(KernelRequest);
  for (const Cohort& cohort : cohorts_) bytes += cohort.places.capacity() * sizeof(UnitShare);
  for (const Pool& pool : pools_) {
    bytes += pool.units.capacity() * sizeof(Unit) + pool.free.capacity() * sizeof(UnitResources);
  }
  return bytes;
}

}  // namespace schedlab
