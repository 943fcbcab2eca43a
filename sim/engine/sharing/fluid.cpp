// SPDX-License-Identifier: Apache-2.0
#include "sim/engine/sharing/fluid.hpp"

#include <algorithm>
#include <cmath>
#include <limits>
#include <tuple>

namespace schedlab {
namespace {

__extension__ using Wide = __int128;

constexpr std::int64_t no_limit = std::numeric_limits<std::int64_t>::max() / 2;

std::int64_t ceil_div(std::int64_t a, std::int64_t b) {
  return (a + b - 1) / b;
}

}  // namespace

void FluidSharing::reset(const Problem& problem) {
  costs_ = &problem.costs;
  platform_ = &problem.platform;
  devices_.clear();
  pools_.clear();
  kernels_.clear();
  free_kernels_.clear();
  arrived_.clear();
  ends_.clear();
  dirty_ = false;
  for (const Device& device : platform_->devices) {
    DeviceState state;
    state.first_pool = pools_.size();
    state.bandwidth = device.rates.memory.count() * device.rates.memory_efficiency;
    for (const UnitClass& unit_class : device.unit_classes) {
      const bool limited = unit_class.count != 0;
      pools_.push_back({.room = limited ? unit_room * unit_class.count : no_limit,
                        .units = unit_class.count,
                        .queues = std::vector<Queue>(device.priority_levels)});
    }
    pools_.push_back({.room = no_limit,  // kernels of no class
                      .units = 0,
                      .queues = std::vector<Queue>(device.priority_levels)});
    devices_.push_back(std::move(state));
  }
}

std::uint32_t FluidSharing::make_kernel(const KernelRequest& request) {
  std::uint32_t index = static_cast<std::uint32_t>(kernels_.size());
  if (free_kernels_.empty()) {
    kernels_.emplace_back();
  } else {
    index = free_kernels_.back();
    free_kernels_.pop_back();
  }
  Kernel& kernel = kernels_[index];
  const CostTable::Entry& entry = costs_->entry(request.task, request.device);
  const Estimate& estimate = entry.estimate;
  const DeviceState& state = devices_[request.device.value()];
  const std::size_t classes = platform_->devices[request.device].unit_classes.size();
  kernel.request = request;
  kernel.pool = state.first_pool + (entry.unit_class.valid() ? entry.unit_class.value() : classes);
  const std::int64_t units = pools_[kernel.pool].units;
  const std::int64_t per_unit = std::max(1U, estimate.blocks_per_unit);
  const std::int64_t blocks = estimate.blocks != 0 ? estimate.blocks : std::max(1U, entry.units);
  const std::int64_t wave = units == 0 ? blocks : std::min(blocks, units * per_unit);
  const std::int64_t duration = costs_->duration(request.task, request.device).count();
  kernel.blocks_left = static_cast<std::uint32_t>(blocks);
  kernel.blocks_running = 0;
  kernel.footprint = units == 0 ? 0 : unit_room / per_unit;
  kernel.block_time = ceil_div(duration, ceil_div(blocks, wave));
  kernel.block_bandwidth = 0.0;
  if (kernel.block_time > 0) {
    const double bytes = estimate.bandwidth.count() * to_seconds(estimate.duration);
    const double wanted =
        bytes / (static_cast<double>(blocks) * static_cast<double>(kernel.block_time) * 1e-12);
    kernel.block_bandwidth = std::min(wanted, state.bandwidth / static_cast<double>(wave));
  }
  kernel.rate = rate_one;
  kernel.own_time = 0;
  kernel.next_end = Time::max();
  kernel.cohorts.clear();
  kernel.first_cohort = 0;
  kernel.next_waiting = nil;
  return index;
}

void FluidSharing::enqueue_arrived() {
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

void FluidSharing::advance(Kernel& kernel, Time now) {
  const std::int64_t elapsed = (now - kernel.updated).count();
  kernel.updated = now;
  kernel.own_time += kernel.rate == rate_one
                         ? elapsed
                         : static_cast<std::int64_t>((Wide{elapsed} * kernel.rate) / rate_one);
}

void FluidSharing::schedule_next_end(std::uint32_t index) {
  Kernel& kernel = kernels_[index];
  Time end = Time::max();
  if (kernel.first_cohort < kernel.cohorts.size()) {
    const std::int64_t left = kernel.cohorts[kernel.first_cohort].end - kernel.own_time;
    const std::int64_t needed =
        kernel.rate == rate_one
            ? left
            : static_cast<std::int64_t>((Wide{left} * rate_one + kernel.rate - 1) / kernel.rate);
    end = kernel.updated + Duration{std::max<std::int64_t>(0, needed)};
  }
  if (end == kernel.next_end) return;
  kernel.next_end = end;
  if (end != Time::max()) ends_.push(end, 0, index);
}

void FluidSharing::place(std::uint32_t index, std::uint32_t blocks, Time now) {
  Kernel& kernel = kernels_[index];
  if (kernel.blocks_running == 0 && kernel.blocks_left == 0) return;
  if (kernel.cohorts.empty()) {
    kernel.updated = now;
  } else {
    advance(kernel, now);
  }
  const std::int64_t end = kernel.own_time + kernel.block_time;
  if (kernel.first_cohort < kernel.cohorts.size() && kernel.cohorts.back().end == end) {
    kernel.cohorts.back().blocks += blocks;
  } else {
    kernel.cohorts.push_back({end, blocks});
  }
  kernel.blocks_left -= blocks;
  kernel.blocks_running += blocks;
  Pool& pool = pools_[kernel.pool];
  if (pool.units != 0) pool.room -= kernel.footprint * blocks;
  devices_[kernel.request.device.value()].changed = true;
  schedule_next_end(index);
}

void FluidSharing::set_rate(std::uint32_t index, std::uint32_t rate, Time now) {
  Kernel& kernel = kernels_[index];
  if (kernel.rate == rate) return;
  advance(kernel, now);
  kernel.rate = rate;
  schedule_next_end(index);
}

void FluidSharing::share_bandwidth(DeviceState& state, Time now) {
  state.changed = false;
  const auto demand = [this](std::uint32_t index) {
    return kernels_[index].block_bandwidth * kernels_[index].blocks_running;
  };
  double total = 0.0;
  for (const std::uint32_t index : state.running) total += demand(index);
  if (state.bandwidth == 0.0 || total <= state.bandwidth * (1.0 + 1e-9)) {
    if (!state.saturated) return;
    state.saturated = false;
    for (const std::uint32_t index : state.running) set_rate(index, rate_one, now);
    return;
  }
  state.saturated = true;
  // Max-min: the smallest demands are met in full, what is left is shared equally among the others.
  by_demand_ = state.running;
  std::sort(by_demand_.begin(), by_demand_.end(), [&](std::uint32_t a, std::uint32_t b) {
    return std::make_tuple(demand(a), a) < std::make_tuple(demand(b), b);
  });
  double left = state.bandwidth;
  auto others = static_cast<double>(by_demand_.size());
  for (const std::uint32_t index : by_demand_) {
    const double wanted = demand(index);
    const double given = std::min(wanted, left / others);
    left -= given;
    others -= 1.0;
    const double rate = wanted > given ? std::floor(given / wanted * rate_one) : rate_one;
    set_rate(index, std::max(1U, static_cast<std::uint32_t>(rate)), now);
  }
}

void FluidSharing::drop_stale_ends() {
  while (!ends_.empty()) {
    const EventQueue::Top top = ends_.peek();
    if (kernels_[top.payload].next_end == top.time) return;
    ends_.pop();
  }
}

Time FluidSharing::next_completion() {
  drop_stale_ends();
  return ends_.next_time();
}

bool FluidSharing::pop_completion(Time now, Completion& completed) {
  drop_stale_ends();
  const std::uint32_t index = ends_.pop().payload;
  Kernel& kernel = kernels_[index];
  DeviceState& state = devices_[kernel.request.device.value()];
  kernel.next_end = Time::max();
  advance(kernel, now);
  const Cohort cohort = kernel.cohorts[kernel.first_cohort++];
  kernel.blocks_running -= cohort.blocks;
  Pool& pool = pools_[kernel.pool];
  if (pool.units != 0) pool.room += kernel.footprint * cohort.blocks;
  state.changed = true;
  dirty_ = true;
  if (kernel.blocks_running != 0 || kernel.blocks_left != 0) {
    schedule_next_end(index);
    return false;
  }
  completed = {kernel.request.task, kernel.request.stream};
  --state.resident;
  state.running.erase(std::find(state.running.begin(), state.running.end(), index));
  free_kernels_.push_back(index);
  return true;
}

std::size_t FluidSharing::memory_bytes() const {
  std::size_t bytes = kernels_.capacity() * sizeof(Kernel) + ends_.memory_bytes() +
                      arrived_.capacity() * sizeof(KernelRequest);
  for (const Kernel& kernel : kernels_) bytes += kernel.cohorts.capacity() * sizeof(Cohort);
  return bytes;
}

}  // namespace schedlab
