// SPDX-License-Identifier: Apache-2.0
#include "sim/engine/sharing/fluid.hpp"

#include <algorithm>
#include <limits>
#include <tuple>

namespace schedlab {
namespace {

constexpr std::int64_t no_limit = std::numeric_limits<std::int64_t>::max() / 2;

std::int64_t ceil_div(std::int64_t a, std::int64_t b) {
  return (a + b - 1) / b;
}

}  // namespace

void FluidSharing::reset(const Problem& problem) {
  costs_ = &problem.costs;
  platform_ = &problem.platform;
  pools_.clear();
  queues_.clear();
  kernels_.clear();
  free_kernels_.clear();
  cohorts_.clear();
  free_cohort_ = nil;
  arrived_.clear();
  dirty_pools_.clear();
  touched_.clear();
  changed_devices_.clear();
  notices_.clear();
  announced_ = false;
  due_.clear();
  next_due_ = 0;
  dispatched_at_ = -1;
  ends_.clear();
  devices_.resize(platform_->device_count());  // keeps the memory of an earlier run
  for (const DeviceId id : platform_->device_ids()) {
    const Device& device = platform_->device(id);
    DeviceState& state = devices_[id.value()];
    state.first_pool = static_cast<std::uint32_t>(pools_.size());
    state.bandwidth = device.rates.memory.count() * device.rates.memory_efficiency;
    state.resident = 0;
    state.resident_limit = device.resident_kernels;
    state.changed = false;
    state.running.clear();
    state.share.reset();
    for (const UnitClass& unit_class : device.unit_classes) {
      pools_.push_back(
          {.room = unit_class.count == 0 ? no_limit : std::int64_t{unit_room} * unit_class.count,
           .units = unit_class.count});
    }
    pools_.push_back({.room = no_limit});  // kernels of no class
    state.pools = static_cast<std::uint32_t>(pools_.size()) - state.first_pool;
    for (std::uint32_t i = state.first_pool; i < pools_.size(); ++i) {
      pools_[i].device = id.value();
      pools_[i].levels = device.priority_levels;
      pools_[i].first_queue = static_cast<std::uint32_t>(queues_.size());
      queues_.resize(queues_.size() + device.priority_levels);
    }
  }
}

std::uint32_t FluidSharing::make_kernel(const KernelRequest& request) {
  std::uint32_t index = static_cast<std::uint32_t>(kernels_.size());
  if (free_kernels_.empty()) {
    kernels_.emplace_back();
  } else {
    index = free_kernels_.back();
    free_kernels_.pop_back();
    kernels_[index] = Kernel{};
  }
  Kernel& kernel = kernels_[index];
  const CostTable::Entry& entry = costs_->entry(request.task, request.device);
  const Estimate& estimate = entry.estimate;
  const DeviceState& state = devices_[request.device.value()];
  kernel.request = request;
  if (request.held) {
    const std::uint32_t stream = request.stream.value();
    if (stream >= held_.size()) held_.resize(stream + 1, nil);
    held_[stream] = index;
  }
  kernel.pool =
      state.first_pool + (entry.unit_class.valid() ? entry.unit_class.value() : state.pools - 1);
  const std::int64_t units = pools_[kernel.pool].units;
  const std::int64_t per_unit = std::max(1U, estimate.blocks_per_unit);
  const std::int64_t blocks = estimate.blocks != 0 ? estimate.blocks : std::max(1U, entry.units);
  const std::int64_t wave = units == 0 ? blocks : std::min(blocks, units * per_unit);
  const std::int64_t duration = costs_->duration(request.task, request.device).count();
  kernel.blocks_left = static_cast<std::uint32_t>(blocks);
  kernel.footprint = units == 0 ? 0 : unit_room / static_cast<std::uint32_t>(per_unit);
  kernel.block_time = wave == blocks ? duration : ceil_div(duration, ceil_div(blocks, wave));
  if (kernel.block_time > 0 && state.bandwidth > 0.0 && !request.held) {
    // A kernel alone gets all it wants.
    const std::uint64_t most = fluid::whole_bandwidth / static_cast<std::uint64_t>(wave);
    const double bytes = estimate.bandwidth.count() * to_seconds(estimate.duration);
    const double wanted =
        bytes / (static_cast<double>(blocks) * static_cast<double>(kernel.block_time) * 1e-12) /
        state.bandwidth * static_cast<double>(fluid::whole_bandwidth);
    kernel.block_demand =
        wanted < static_cast<double>(most) ? static_cast<std::uint64_t>(wanted) : most;
  }
  return index;
}

void FluidSharing::enqueue_arrived() {
  if (arrived_.empty()) return;
  // All of one instant: submission order decides, whatever order their streams were looked at in.
  if (arrived_.size() > 1) {
    std::sort(arrived_.begin(), arrived_.end(), [](const KernelRequest& a, const KernelRequest& b) {
      return std::tie(a.arrived, a.item) < std::tie(b.arrived, b.item);
    });
  }
  for (const KernelRequest& request : arrived_) {
    const std::uint32_t index = make_kernel(request);
    const std::uint32_t pool = kernels_[index].pool;
    Queue& queue = queues_[pools_[pool].first_queue + request.level];
    if (queue.tail == nil) {
      queue.head = index;
    } else {
      kernels_[queue.tail].next_waiting = index;
    }
    queue.tail = index;
    ++pools_[pool].waiting;
    mark(pool);
  }
  arrived_.clear();
}

void FluidSharing::append(CohortList& list, std::int64_t end, std::uint32_t blocks) {
  if (list.last != nil && cohorts_[list.last].end == end) {
    cohorts_[list.last].blocks += blocks;
    return;
  }
  std::uint32_t index = free_cohort_;
  if (index == nil) {
    index = static_cast<std::uint32_t>(cohorts_.size());
    cohorts_.emplace_back();
  } else {
    free_cohort_ = cohorts_[index].next;
  }
  cohorts_[index] = {.end = end, .blocks = blocks, .next = nil};
  if (list.last == nil) {
    list.first = index;
  } else {
    cohorts_[list.last].next = index;
  }
  list.last = index;
}

std::uint32_t FluidSharing::take_first(CohortList& list) {
  const std::uint32_t index = list.first;
  list.first = cohorts_[index].next;
  if (list.first == nil) list.last = nil;
  return index;
}

void FluidSharing::drop(CohortList& list) {
  if (list.first == nil) return;
  cohorts_[list.last].next = free_cohort_;
  free_cohort_ = list.first;
  list = {};
}

void FluidSharing::dispatch_all(std::int64_t now) {
  if (dirty_pools_.size() > 1) std::sort(dirty_pools_.begin(), dirty_pools_.end());
  for (const std::uint32_t pool : dirty_pools_) dispatch_pool(pool, now);
  dirty_pools_.clear();
  share_bandwidth(now);
  dispatched_at_ = now;
}

void FluidSharing::dispatch_pool(std::uint32_t index, std::int64_t now) {
  Pool& pool = pools_[index];
  pool.dirty = false;
  const std::uint32_t cycling = pool.cycling;
  if (cycling != nil) settle(cycling, now);
  pool.cycling = nil;
  if (pool.waiting != 0) dispatch_queues(pool, now);
  if (pool.cycling == cycling) return;
  if (cycling != nil) touch(cycling);
  if (pool.cycling != nil) touch(pool.cycling);
}

void FluidSharing::dispatch_queues(Pool& pool, std::int64_t now) {
  DeviceState& device = devices_[pool.device];
  for (std::uint32_t level = 0; level < pool.levels; ++level) {
    Queue& queue = queues_[pool.first_queue + level];
    while (queue.head != nil) {
      const std::uint32_t index = queue.head;
      Kernel& kernel = kernels_[index];
      if (!kernel.started && device.resident_limit != 0 &&
          device.resident >= device.resident_limit) {
        break;  // it holds up nobody who is resident: they would never end
      }
      const std::int64_t fit = kernel.footprint == 0          ? kernel.blocks_left
                               : pool.room < kernel.footprint ? 0
                                                              : pool.room / kernel.footprint;
      if (fit != 0) {
        place(index,
              static_cast<std::uint32_t>(std::min<std::int64_t>(fit, kernel.blocks_left)),
              now);
      }
      if (kernel.blocks_left != 0) {
        if (kernel.started && kernel.block_time > 0) pool.cycling = index;
        return;
      }
      queue.head = kernel.next_waiting;
      if (queue.head == nil) queue.tail = nil;
      --pool.waiting;
      notices_.push_back({index, false});
    }
  }
}

void FluidSharing::place(std::uint32_t index, std::uint32_t blocks, std::int64_t now) {
  Kernel& kernel = kernels_[index];
  DeviceState& device = device_of(kernel);
  Pool& pool = pools_[kernel.pool];
  if (!kernel.started) {
    kernel.started = true;
    kernel.own = -now;
    ++device.resident;
    device.running.push_back(index);
    notices_.push_back({index, true});
  }
  kernel.blocks_left -= blocks;
  kernel.blocks_running += blocks;
  if (pool.units != 0) pool.room -= std::int64_t{kernel.footprint} * blocks;
  touch(index);
  // In the place of blocks of its own that have just ended: these keep their phase.
  while (blocks != 0 && kernel.returned.first != nil) {
    Cohort& ended = cohorts_[kernel.returned.first];
    const std::uint32_t taken = std::min(blocks, ended.blocks);
    const std::int64_t end = ended.end + kernel.block_time;
    ended.blocks -= taken;
    blocks -= taken;
    if (ended.blocks == 0) {
      const std::uint32_t node = take_first(kernel.returned);
      cohorts_[node].next = free_cohort_;
      free_cohort_ = node;
    }
    append(kernel.cohorts, end, taken);
  }
  if (blocks == 0) return;
  bool ticked = false;
  const std::int64_t own = device.share.own_time(kernel, now, ticked);
  append(kernel.cohorts, own + kernel.block_time - kernel.shift, blocks);
}

void FluidSharing::skip_rounds(Kernel& kernel, std::uint32_t rounds) {
  kernel.shift += std::int64_t{rounds} * kernel.block_time;
  kernel.blocks_left -= rounds * kernel.blocks_running;
}

/// Works out what the kernel whose cohorts follow upon each other has done up to `now`. Blocks that
/// end at this very instant end: who comes next is about to be decided.
void FluidSharing::settle(std::uint32_t index, std::int64_t now) {
  Kernel& kernel = kernels_[index];
  if (kernel.rounds == 0) return;  // then each of its cohorts is an event
  bool ticked = false;
  const std::int64_t own = device_of(kernel).share.own_time(kernel, now, ticked);
  const std::int64_t first = cohorts_[kernel.cohorts.first].end + kernel.shift;
  if (own < first) return;
  // All cohorts end within one block time, so all of them have been through these rounds.
  skip_rounds(kernel, static_cast<std::uint32_t>((own - first) / kernel.block_time));
  const std::int64_t before = ticked && dispatched_at_ != now ? own - 1 : own;
  while (cohorts_[kernel.cohorts.first].end + kernel.shift <= before) {
    const std::uint32_t node = take_first(kernel.cohorts);
    const Cohort cohort = cohorts_[node];
    cohorts_[node].next = free_cohort_;
    free_cohort_ = node;
    kernel.blocks_left -= cohort.blocks;
    append(kernel.cohorts, cohort.end + kernel.block_time, cohort.blocks);
  }
  kernel.rounds = 0;
  touch(index);
  if (cohorts_[kernel.cohorts.first].end + kernel.shift == own) end_first_cohort(index);
}

void FluidSharing::end_first_cohort(std::uint32_t index) {
  Kernel& kernel = kernels_[index];
  const std::uint32_t node = take_first(kernel.cohorts);
  const Cohort cohort = cohorts_[node];
  cohorts_[node].next = free_cohort_;
  free_cohort_ = node;
  kernel.blocks_running -= cohort.blocks;
  if (kernel.blocks_left != 0) append(kernel.returned, cohort.end, cohort.blocks);
  Pool& pool = pools_[kernel.pool];
  if (pool.units != 0) pool.room += std::int64_t{kernel.footprint} * cohort.blocks;
  touch(index);
}

/// Own time of the kernel's next event.
std::int64_t FluidSharing::next_own_time(const Kernel& kernel) const {
  return cohorts_[kernel.cohorts.first].end + kernel.shift + kernel.rounds * kernel.block_time;
}

void FluidSharing::share_bandwidth(std::int64_t now) {
  for (const std::uint32_t index : touched_) {
    const std::uint32_t number = kernels_[index].request.device.value();
    DeviceState& device = devices_[number];
    if (!device.changed) {
      device.changed = true;
      changed_devices_.push_back(number);
    }
    device.share.update_demand(index, kernels_, now);
    schedule(index);
  }
  touched_.clear();
  for (const std::uint32_t number : changed_devices_) {
    DeviceState& device = devices_[number];
    device.changed = false;
    if (!device.share.saturated()) {
      if (!device.share.overbooked()) continue;
      device.share.begin(device.running, kernels_, now, [&](std::uint32_t index) {
        ends_.remove(heap_id(index));
        device.share.set_event(kernels_[index], next_own_time(kernels_[index]));
      });
    }
    if (device.share.share(kernels_, now)) {
      ends_.set(number, device.share.next_event());
      continue;
    }
    ends_.remove(number);
    device.share.release(
        [this](std::uint32_t index, std::int64_t time) { ends_.set(heap_id(index), time); });
  }
  changed_devices_.clear();
}

void FluidSharing::schedule(std::uint32_t index) {
  Kernel& kernel = kernels_[index];
  kernel.touched = false;
  drop(kernel.returned);
  if (kernel.blocks_running == 0) {
    ends_.remove(heap_id(index));
    if (kernel.blocks_left == 0) free_kernels_.push_back(index);
    return;
  }
  if (kernel.request.held) {  // release() says when
    if (kernel.release_at == fluid::no_release) {
      ends_.remove(heap_id(index));
    } else {
      ends_.set(heap_id(index), kernel.release_at);
    }
    return;
  }
  kernel.rounds =
      pools_[kernel.pool].cycling == index ? (kernel.blocks_left - 1) / kernel.blocks_running : 0;
  const std::int64_t own = next_own_time(kernel);
  fluid::BandwidthShare& share = device_of(kernel).share;
  if (share.holds(kernel)) {
    share.set_event(kernel, own);
  } else {
    ends_.set(heap_id(index), own - kernel.own);
  }
}

void FluidSharing::collect_due(std::int64_t now) {
  due_.clear();
  next_due_ = 0;
  event_time_ = now;
  const auto devices = static_cast<std::uint32_t>(devices_.size());
  while (ends_.next_time() == now) {
    const std::uint32_t id = ends_.top();
    ends_.remove(id);
    if (id < devices) {
      devices_[id].share.take_due(due_);
    } else {
      due_.push_back(id - devices);
    }
  }
  if (due_.size() < 2) return;
  std::sort(due_.begin(), due_.end(), [this](std::uint32_t a, std::uint32_t b) {
    return kernels_[a].request.item < kernels_[b].request.item;
  });
}

Time FluidSharing::next_completion(Time horizon) {
  const auto at = [](std::int64_t time) { return Time{Duration{time}}; };
  for (;;) {
    if (!notices_.empty()) return announced_ ? Time::max() : at(event_time_);
    if (next_due_ < due_.size()) return at(event_time_);
    const std::int64_t next = ends_.next_time();
    if (at(next) >= horizon || next == KernelHeap::never || dispatch_needed()) return at(next);
    collect_due(next);
    if (std::any_of(due_.begin(), due_.end(), [this](std::uint32_t k) { return completes(k); })) {
      return at(next);
    }
    // Nothing else happens at this instant, so its blocks can be placed now.
    Completion none;
    for (std::size_t i = due_.size(); i > 0; --i) (void)pop_completion(at(next), none);
    dispatch_all(next);
  }
}

bool FluidSharing::pop_completion(Time now, Completion& completed) {
  if (!notices_.empty()) {
    announced_ = true;
    return false;
  }
  if (next_due_ == due_.size()) collect_due(now.time_since_epoch().count());
  const std::uint32_t index = due_[next_due_++];
  Kernel& kernel = kernels_[index];
  skip_rounds(kernel, kernel.rounds);
  kernel.rounds = 0;
  end_first_cohort(index);
  // Whenever the blocks of a held kernel were placed, they end together.
  while (kernel.request.held && kernel.cohorts.first != nil) end_first_cohort(index);
  if (pools_[kernel.pool].waiting != 0) mark(kernel.pool);
  if (kernel.blocks_running != 0 || kernel.blocks_left != 0) return false;
  DeviceState& device = device_of(kernel);
  --device.resident;
  if (device.resident_limit != 0) {
    for (std::uint32_t i = 0; i < device.pools; ++i) {
      if (pools_[device.first_pool + i].waiting != 0) mark(device.first_pool + i);
    }
  }
  const auto at = std::find(device.running.begin(), device.running.end(), index);
  *at = device.running.back();
  device.running.pop_back();
  completed = {kernel.request.task, kernel.request.stream};
  return true;
}

void FluidSharing::release(StreamId stream, Time end) {
  const std::uint32_t index = held_[stream.value()];
  kernels_[index].release_at = end.time_since_epoch().count();
  ends_.set(heap_id(index), kernels_[index].release_at);
}

std::size_t FluidSharing::memory_bytes() const {
  std::size_t bytes = kernels_.capacity() * sizeof(Kernel) + cohorts_.capacity() * sizeof(Cohort) +
                      ends_.memory_bytes() + arrived_.capacity() * sizeof(KernelRequest);
  for (const DeviceState& device : devices_) bytes += device.share.memory_bytes();
  return bytes;
}

}  // namespace schedlab
