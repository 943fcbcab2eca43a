// SPDX-License-Identifier: Apache-2.0
#include "sim/engine/sharing/fluid.hpp"

#include "sim/base/ceil_div.hpp"
#include "sim/engine/sharing/fluid_inline.hpp"
#include "sim/plan/partitions.hpp"

#include <algorithm>
#include <bit>
#include <limits>
#include <tuple>

/// \file
/// Members of FluidSharing: what a run begins with, and a kernel.
namespace schedlab {

/// Is no block started until blocks end that are looked at then? The first that waits has no
/// capacity and is the one whose own blocks, if any, are not looked at.
inline bool FluidSharing::holds_up(const Pool& pool) const {
  const DeviceState& device = devices_[pool.device];
  if (pool.waiting == 0 || limits(device, pool)) return false;
  const std::uint32_t first = queues_[pool.first_queue + pool.top].head;
  return first != nil && pool.capacity_left < kernels_[first].footprint &&
         (pool.cycling == nil || pool.cycling == first);
}

void FluidSharing::enqueue_arrived() {
  // All of one instant: submission order decides, whatever order their streams were looked at in.
  if (arrived_.size() > 1) [[unlikely]] {
    std::sort(arrived_.begin(), arrived_.end(), [this](std::uint32_t a, std::uint32_t b) {
      const KernelRequest& first = kernels_[a].request;
      const KernelRequest& second = kernels_[b].request;
      return std::tie(first.arrived, first.item) < std::tie(second.arrived, second.item);
    });
  }
  for (const std::uint32_t index : arrived_) {
    set_up(index);
    const KernelRequest& request = kernels_[index].request;
    const std::uint32_t number = kernels_[index].pool;
    Pool& pool = pools_[number];
    Queue& queue = queues_[pool.first_queue + request.level];
    if (queue.tail == nil) {
      queue.head = index;
    } else {
      kernels_[queue.tail].next_waiting = index;
    }
    queue.tail = index;
    const bool behind = pool.waiting != 0 && request.level >= pool.top;
    pool.top = behind ? pool.top : request.level;
    ++pool.waiting;
    // Behind one for whom there is no capacity it changes nothing.
    if (!behind || !holds_up(pool)) mark(number);
  }
  arrived_.clear();
}

void FluidSharing::dispatch_all(std::int64_t now) {
  if (dirty_pools_.size() > 1) [[unlikely]]
    std::sort(dirty_pools_.begin(), dirty_pools_.end());
  for (const std::uint32_t pool : dirty_pools_) dispatch_pool(pool, now);
  dirty_pools_.clear();
  if (!touched_.empty() || !changed_devices_.empty()) share_bandwidth(now);
  dispatched_at_ = now;
  dispatch_needed_ = false;
}

void FluidSharing::dispatch_pool(std::uint32_t index, std::int64_t now) {
  Pool& pool = pools_[index];
  pool.dirty = false;
  const std::uint32_t cycling = pool.cycling;
  DeviceState& device = devices_[pool.device];
  if (cycling != nil && holds_up(pool)) return;
  if (!device.share.saturated() && !limits(device, pool)) {
    if (pool.waiting != 0) refill(pool, nil, device, now);
    renew(pool.device, device);
    note_change(pool.device, device);
    return;
  }
  dispatch_waiting(pool, now);
}

/// The same where any kernel may be slowed down, or more wait than may be resident.
void FluidSharing::dispatch_waiting(Pool& pool, std::int64_t now) {
  const std::uint32_t cycling = pool.cycling;
  if (cycling != nil && kernels_[cycling].rounds != 0 && catch_up(cycling, now)) {
    touch(cycling, kernels_[cycling]);
  }
  pool.cycling = nil;
  if (pool.waiting != 0) dispatch_queues(pool, now);
  if (pool.cycling == cycling) return;
  if (cycling != nil) touch(cycling, kernels_[cycling]);
  if (pool.cycling != nil) touch(pool.cycling, kernels_[pool.cycling]);
}

// NOLINTNEXTLINE(readability-function-cognitive-complexity): one pass over the queues, for speed
void FluidSharing::dispatch_queues(Pool& pool, std::int64_t now) {
  DeviceState& device = devices_[pool.device];
  bool held_up = false;
  for (std::uint32_t level = pool.top; level < pool.levels && pool.waiting != 0; ++level) {
    Queue& queue = queues_[pool.first_queue + level];
    if (!held_up) pool.top = level;
    while (queue.head != nil) {
      const std::uint32_t index = queue.head;
      Kernel& kernel = kernels_[index];
      if (!kernel.started && device.resident_limit != 0 &&
          device.resident >= device.resident_limit) {
        held_up = true;
        break;  // it delays no resident kernel: they would never end
      }
      const std::uint32_t blocks = blocks_that_fit(pool.capacity_left, kernel);
      if (blocks != 0) {
        if (!kernel.started) begin(index, kernel, device, now);
        kernel.blocks_left -= blocks;
        kernel.blocks_running += blocks;
        if (pool.units != 0) pool.capacity_left -= std::int64_t{kernel.footprint} * blocks;
        touch(index, kernel);
        place_cohort(kernel, blocks, device, now);
      }
      if (kernel.blocks_left != 0) {
        if (kernel.started && kernel.block_time > 0) pool.cycling = index;
        return;
      }
      queue.head = kernel.next_waiting;
      if (queue.head == nil) queue.tail = nil;
      --pool.waiting;
      if (!kernel.request.quiet) notices_.push_back({index, Notice::What::placed});
    }
  }
}

/// Blocks that begin while some are short of bandwidth. In the place of blocks of their own kernel
/// that have just ended, they keep its phase; that is how it comes out by itself while none is.
void FluidSharing::append_in_phase(Kernel& kernel,
                                   std::uint32_t blocks,
                                   const DeviceState& device,
                                   std::int64_t now) {
  while (blocks != 0 && kernel.returned.first != nil) {
    Cohort& ended = cohorts_[kernel.returned.first];
    const std::uint32_t taken = std::min(blocks, ended.blocks);
    const std::int64_t end = ended.end + kernel.block_time;
    ended.blocks -= taken;
    blocks -= taken;
    if (ended.blocks == 0) free_cohort(take_first(kernel.returned));
    append(kernel.cohorts, end, taken);
  }
  if (blocks == 0) return;
  bool ticked = false;
  const std::int64_t own = device.share.own_time(kernel, now, ticked);
  append(kernel.cohorts, own + kernel.block_time - kernel.shift, blocks);
}

/// Works out what the kernel whose cohorts follow upon each other has done up to `now`. Blocks that
/// end at this very instant end: who comes next is about to be decided. False: nothing.
bool FluidSharing::catch_up(std::uint32_t index, std::int64_t now) {
  Kernel& kernel = kernels_[index];
  if (kernel.rounds == 0) return false;  // then each of its cohorts is an event
  bool ticked = false;
  const std::int64_t own = device_of(kernel).share.own_time(kernel, now, ticked);
  const std::int64_t first = cohorts_[kernel.cohorts.first].end + kernel.shift;
  if (own < first) return false;
  // All cohorts end within one block time, so all of them have been through these rounds.
  if (own - first >= kernel.block_time) {
    skip_rounds(kernel, static_cast<std::uint32_t>((own - first) / kernel.block_time));
  }
  const std::int64_t before = ticked && dispatched_at_ != now ? own - 1 : own;
  while (cohorts_[kernel.cohorts.first].end + kernel.shift <= before) {
    const std::uint32_t node = take_first(kernel.cohorts);
    const Cohort cohort = cohorts_[node];
    free_cohort(node);
    kernel.blocks_left -= cohort.blocks;
    append(kernel.cohorts, cohort.end + kernel.block_time, cohort.blocks);
  }
  kernel.rounds = 0;
  if (cohorts_[kernel.cohorts.first].end + kernel.shift == own) end_first_cohort(kernel);
  return true;
}

void FluidSharing::share_bandwidth(std::int64_t now) {
  for (const std::uint32_t index : touched_) {
    Kernel& kernel = kernels_[index];
    DeviceState& device = device_of(kernel);
    device.share.update_demand(index, kernels_, now);
    note_change(kernel.request.device.value(), device);
    schedule(index, kernel, device);
  }
  touched_.clear();
  if (!changed_devices_.empty()) share_changed_devices(now);
}

void FluidSharing::share_changed_devices(std::int64_t now) {
  for (const std::uint32_t number : changed_devices_) {
    DeviceState& device = devices_[number];
    device.changed = false;
    if (!device.share.saturated()) {
      if (!device.share.overbooked()) continue;
      device.share.begin(device.running, kernels_, now, [&](std::uint32_t index) {
        if (kernels_[index].request.held) return;  // its end is given, whatever it gets
        device.events.remove(index);
        device.share.set_event(kernels_[index], next_own_time(kernels_[index]));
      });
    }
    share_device(number, device, now);
  }
  changed_devices_.clear();
}

void FluidSharing::share_device(std::uint32_t number, DeviceState& device, std::int64_t now) {
  if (!device.share.share(kernels_, now)) {
    device.share.release([&](std::uint32_t index, std::int64_t /*time*/) {
      list_events(index, kernels_[index], device);
    });
  }
  renew(number, device);
  if (!device.engaged.empty()) [[unlikely]]
    note_rates(device);
}

void FluidSharing::note_rates(DeviceState& device) {
  const std::uint64_t rate = device.share.collectives().rate();
  if (rate == device.engaged_rate && !device.newly_engaged) return;
  device.engaged_rate = rate;
  device.newly_engaged = false;
  for (const Engaged& engaged : device.engaged) {
    notices_.push_back({engaged.kernel, Notice::What::rate});
  }
}

void FluidSharing::renew_of_several(std::uint32_t number, const DeviceState& device) {
  const std::int64_t next = next_time(device);
  next == KernelHeap::never ? ends_.remove(number) : ends_.set(number, next);
}

void FluidSharing::collect_due(std::int64_t now) {
  due_.clear();
  next_due_ = 0;
  event_time_ = now;
  do {
    const std::uint32_t number = next_device();
    DeviceState& device = devices_[number];
    if (device.share.saturated() && device.share.next_event() == now) device.share.take_due(due_);
    while (device.events.next_time() == now) due_.push_back(device.events.pop());
    renew(number, device);
  } while (next_time() == now);
  if (due_.size() < 2) return;
  std::sort(due_.begin(), due_.end(), [this](std::uint32_t a, std::uint32_t b) {
    return kernels_[a].request.item < kernels_[b].request.item;
  });
}

/// Ends a cohort of the kernel, or a held kernel. True: the kernel has completed.
inline bool FluidSharing::end_due(std::uint32_t index) {
  Kernel& kernel = kernels_[index];
  const bool other_events = kernel.rounds != 0 || kernel.request.held;
  skip_rounds(kernel, kernel.rounds);
  kernel.rounds = 0;
  end_first_cohort(kernel);
  // Whenever the blocks of a held kernel were placed, they end together.
  while (kernel.request.held && kernel.cohorts.first != nil) end_first_cohort(kernel);
  Pool& pool = pools_[kernel.pool];
  if (pool.waiting != 0) mark(kernel.pool);
  if (kernel.blocks_running != 0 || kernel.blocks_left != 0) {
    DeviceState& device = devices_[pool.device];
    if (other_events || device.share.saturated() || pool.cycling == index) {
      touch(index, kernel);
    } else {
      device.share.set_demand(kernel);
      dispatch_needed_ = true;
    }
    return false;
  }
  leave(index, kernel, device_of(kernel));
  return true;
}

/// It has completed.
inline void FluidSharing::leave(std::uint32_t index, Kernel& kernel, DeviceState& device) {
  if (device.share.saturated() || kernel.touched) {
    touch(index, kernel);
  } else {  // what sharing would come to
    device.share.set_demand(kernel);
    free_kernels_.push_back(index);
  }
  if (device.resident-- == device.resident_limit) [[unlikely]] {
    for (std::uint32_t i = 0; i < device.pools; ++i) {
      if (pools_[device.first_pool + i].waiting != 0) mark(device.first_pool + i);
    }
  }
  const std::uint32_t last = device.running.back();
  device.running[kernel.running_at] = last;
  kernels_[last].running_at = kernel.running_at;
  device.running.pop_back();
}

/// Does all that no other component can observe before `horizon`; the time of what is.
Time FluidSharing::advance_until(Time horizon) {
  const auto at = [](std::int64_t time) { return Time{Duration{time}}; };
  for (;;) {
    if (!notices_.empty()) return announced_ ? Time::max() : at(event_time_);
    if (next_due_ < due_.size()) return at(event_time_);
    std::int64_t next = next_time();
    if (at(next) >= horizon || next == KernelHeap::never || dispatch_needed()) return at(next);
    const Stop stop = advance(next, horizon.time_since_epoch().count());
    if (stop == Stop::changed) continue;
    if (stop == Stop::completes) return at(next);
    collect_due(next);
    for (const std::uint32_t index : due_) {
      if (completes(kernels_[index])) return at(next);
    }
    // Nothing else happens at this instant, so its blocks can be placed now.
    for (const std::uint32_t index : due_) (void)end_due(index);
    due_.clear();
    dispatch_all(next);
  }
}

/// end_due() of a kernel that completes, alone at its time, while no kernel is short of bandwidth.
inline void FluidSharing::complete_quietly(std::uint32_t index,
                                           Kernel& kernel,
                                           DeviceState& device) {
  Pool& pool = pools_[kernel.pool];
  pool.capacity_left += std::int64_t{kernel.footprint} * kernel.blocks_running;
  kernel.blocks_running = 0;
  free_cohort(kernel.cohorts.first);
  kernel.cohorts = {};
  if (pool.waiting != 0) mark(kernel.pool);
  leave(index, kernel, device);
}

bool FluidSharing::pop_completion(Time time, Completion& completed) {
  if (!notices_.empty()) [[unlikely]] {
    announced_ = true;
    dispatch_needed_ = true;
    return false;
  }
  const std::int64_t now = time.time_since_epoch().count();
  std::uint32_t index = nil;
  if (next_due_ == due_.size()) {
    const std::uint32_t number = next_device();
    DeviceState& device = devices_[number];
    if (!device.share.saturated() && device.events.alone() && next_device_alone()) [[likely]] {
      index = device.events.pop();
      renew(number, device);
      Kernel& kernel = kernels_[index];
      event_time_ = now;
      if (completes(kernel) && !kernel.request.held && !kernel.touched) {
        complete_quietly(index, kernel, device);
      } else if (!end_due(index)) {
        return false;
      }
    } else {
      collect_due(now);
    }
  }
  if (index == nil) {  // the first of several to have been submitted
    index = due_[next_due_++];
    if (!end_due(index)) return false;
  }
  const Kernel& kernel = kernels_[index];
  completed = {.task = kernel.request.task,
               .stream = kernel.request.stream,
               .quiet = kernel.request.quiet,
               .started = Time{Duration{kernel.started_at}}};
  return true;
}

void FluidSharing::release(StreamId stream, Time end) {
  const std::uint32_t index = held_[stream.value()];
  Kernel& kernel = kernels_[index];
  kernel.release_at = end.time_since_epoch().count();
  kernel.block_demand = kernel.held_demand;
  touch(index, kernel);
}

void FluidSharing::engage(StreamId stream) {
  const std::uint32_t index = held_[stream.value()];
  Kernel& kernel = kernels_[index];
  DeviceState& device = device_of(kernel);
  const CostTable::Entry& entry = costs_->entry(kernel.request.task, kernel.request.device);
  const Engaged& engaged = device.engaged.emplace_back(Engaged{
      .kernel = index,
      .wanted = kernel.blocks_running * kernel.held_demand,
      .guaranteed = static_cast<std::uint64_t>(entry.estimate.share *
                                               static_cast<double>(fluid::whole_bandwidth))});
  device.share.collectives().engage(engaged.wanted, engaged.guaranteed);
  device.newly_engaged = true;
  touch(index, kernel);
}

FluidSharing::Completion FluidSharing::end_held(StreamId stream, Time now) {
  const std::uint32_t index = held_[stream.value()];
  const Kernel& kernel = kernels_[index];
  DeviceState& device = device_of(kernel);
  const auto engaged = std::find_if(device.engaged.begin(),
                                    device.engaged.end(),
                                    [index](const Engaged& one) { return one.kernel == index; });
  device.share.collectives().disengage(engaged->wanted, engaged->guaranteed);
  *engaged = device.engaged.back();
  device.engaged.pop_back();
  std::erase_if(notices_, [index](const Notice& notice) {
    return notice.kernel == index && notice.what == Notice::What::rate;
  });
  event_time_ = now.time_since_epoch().count();
  dispatch_needed_ = true;
  (void)end_due(index);
  return {
      .task = kernel.request.task, .stream = stream, .started = Time{Duration{kernel.started_at}}};
}

namespace {

constexpr std::size_t max_forms = 1024;
constexpr std::int64_t no_limit = std::numeric_limits<std::int64_t>::max() / 2;

/// What a block wants of the memory bandwidth, in units of demand; its time in ps.
double demand_of_block(double bytes, std::uint32_t blocks, double block_time, double bandwidth) {
  return bytes / (static_cast<double>(blocks) * block_time * 1e-12) / bandwidth *
         static_cast<double>(fluid::whole_bandwidth);
}

}  // namespace

void FluidSharing::reset(const Problem& problem, const std::vector<std::uint32_t>& partitions) {
  costs_ = &problem.costs;
  platform_ = &problem.platform;
  graph_ = &problem.graph;
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
  new_rates_.clear();
  notices_.clear();
  dispatch_needed_ = false;
  announced_ = false;
  due_.clear();
  next_due_ = 0;
  dispatched_at_ = -1;
  ends_.clear();
  const std::size_t operations = std::max<std::size_t>(1, problem.graph.operations().size());
  forms_.assign(std::bit_ceil(std::min(operations, max_forms)), Form{});
  devices_.resize(platform_->device_count());  // keeps the memory of an earlier run
  device_count_ = static_cast<std::uint32_t>(devices_.size());
  DeviceId kind{0};
  bool oversubscribed = false;
  for (const DeviceId id : platform_->device_ids()) {
    const Device& device = platform_->device(id);
    DeviceState& state = devices_[id.value()];
    state.first_pool = static_cast<std::uint32_t>(pools_.size());
    state.bandwidth = device.rates.memory.count() * device.rates.memory_efficiency;
    state.resident = 0;
    state.resident_limit = device.resident_kernels;
    state.changed = false;
    state.running.clear();
    state.engaged.clear();
    state.engaged_rate = fluid::whole_rate;
    state.newly_engaged = false;
    // Of equal devices, which follow each other, one tells.
    if (id == DeviceId{0} || platform_->kind_of(id) != kind) {
      kind = platform_->kind_of(id);
      oversubscribed = may_oversubscribe(id);
    }
    state.share.reset(device, partitions, oversubscribed);
    state.events.clear();
    const auto add_pool = [&](std::uint32_t units, std::uint32_t whole) {
      const std::int64_t capacity = units == 0 ? no_limit : std::int64_t{unit_capacity} * units;
      pools_.push_back({.capacity_left = capacity, .units = units, .whole = whole});
    };
    state.divided = partitions.empty() ? nil : divided_class(device).value();
    for (const UnitClassId unit_class : device.unit_classes.ids()) {
      const std::uint32_t count = device.unit_classes[unit_class].count;
      add_pool(unit_class.value() == state.divided ? units_left(count, partitions) : count, count);
    }
    state.no_class = static_cast<std::uint32_t>(device.unit_classes.size());
    add_pool(0, 0);  // kernels of no class
    for (const std::uint32_t units : partitions) {
      add_pool(units, device.unit_classes[UnitClassId{state.divided}].count);
    }
    state.pools = static_cast<std::uint32_t>(pools_.size()) - state.first_pool;
    for (std::uint32_t i = state.first_pool; i < pools_.size(); ++i) {
      pools_[i].device = id.value();
      pools_[i].levels = device.priority_levels;
      pools_[i].first_queue = static_cast<std::uint32_t>(queues_.size());
      queues_.resize(queues_.size() + device.priority_levels);
    }
  }
}

/// May blocks on a unit of the device want more than it gets done?
bool FluidSharing::may_oversubscribe(DeviceId id) const {
  const SmLimits& limits = platform_->device(id).sm_limits;
  if (!limits.known()) return false;
  const auto operations = graph_->operations().ids();
  return std::any_of(operations.begin(), operations.end(), [&](OperationId operation) {
    return residency(costs_->entry(operation, id).estimate, limits).oversubscribes();
  });
}

void FluidSharing::make_form(Form& form, const CostTable::Entry& entry, const Pool& pool) const {
  form.entry = &entry;
  const Estimate& estimate = entry.estimate;
  const Device& device = platform_->device(DeviceId{pool.device});
  form.blocks = estimate.blocks != 0 ? estimate.blocks : std::max(1U, entry.units);
  form.residency = residency(estimate, device.sm_limits);
  if (pool.units == 0) {
    form.alone = {.wave = form.blocks, .first = unit_throughput, .whole = unit_throughput};
    form.footprint = 0;
  } else {
    form.alone = waves_alone(form.residency, form.blocks, pool.whole);
    form.footprint = unit_capacity / form.residency.residents;
  }
  form.waves = form.alone.whole % unit_throughput == 0
                   ? static_cast<std::uint32_t>(form.alone.whole / unit_throughput)
                   : 0;
  form.bytes = estimate.bandwidth.count() * to_seconds(estimate.duration);
  // Of its waves the first wants most.
  form.max_demand = static_cast<std::uint64_t>(fluid::Wide{fluid::whole_bandwidth} *
                                               static_cast<std::uint64_t>(form.alone.first) /
                                               (fluid::Wide{form.alone.wave} * unit_throughput));
  const double bandwidth = devices_[pool.device].bandwidth;
  form.demand_times =
      bandwidth > 0.0 ? demand_of_block(form.bytes, form.blocks, 1.0, bandwidth) : 0.0;
  form.duration = -1;
}

void FluidSharing::set_duration(Form& form, std::int64_t duration, const DeviceState& device) {
  form.duration = duration;
  if (form.waves == 1) {
    form.block_time = duration;
  } else if (form.waves != 0) {
    form.block_time = ceil_div(duration, form.waves);
  } else {
    __extension__ using Wide = __int128;
    const Wide whole = form.alone.whole;
    form.block_time =
        static_cast<std::int64_t>((Wide{duration} * unit_throughput + whole - 1) / whole);
  }
  form.block_demand = 0;
  if (form.block_time == 0 || device.bandwidth <= 0.0) return;
  const auto block_time = static_cast<double>(form.block_time);
  // This quotient is rounded in other places than the demand. Where it is below 2^34 the two are
  // less than 2^-16 apart, so that they have one whole part unless it is as near to a whole number.
  double wanted = form.demand_times / block_time;
  if (wanted >= 4.0 * static_cast<double>(form.max_demand)) {
    form.block_demand = form.max_demand;
    return;
  }
  const double part = wanted - static_cast<double>(static_cast<std::int64_t>(wanted));
  if (part < 1e-4 || part > 1 - 1e-4) {
    wanted = demand_of_block(form.bytes, form.blocks, block_time, device.bandwidth);
  }
  form.block_demand = std::min(static_cast<std::uint64_t>(wanted), form.max_demand);
}

/// What its request comes to.
void FluidSharing::set_up(std::uint32_t index) {
  Kernel& kernel = kernels_[index];
  const KernelRequest& request = kernel.request;
  DeviceState& device = devices_[request.device.value()];
  const CostTable::Entry& entry = costs_->entry(request.task, request.device);
  std::uint32_t pool = entry.unit_class.valid() ? entry.unit_class.value() : device.no_class;
  if (request.partition != 0 && pool == device.divided) pool = device.no_class + request.partition;
  kernel.pool = device.first_pool + pool;
  Form& form = forms_[graph_->operation_id(request.task).value() & (forms_.size() - 1)];
  if (form.entry != &entry) make_form(form, entry, pools_[kernel.pool]);
  const std::int64_t duration = costs_->duration(request.task, request.device).count();
  if (form.duration != duration) set_duration(form, duration, device);
  kernel.blocks_left = form.blocks;
  kernel.footprint = form.footprint;
  kernel.block_time = form.block_time;
  if (device.share.minds_units()) {
    device.share.describe(index, {kernel.pool - device.first_pool, form.residency});
  }
  if (!request.held) {
    kernel.block_demand = form.block_demand;
    return;
  }
  const std::uint32_t stream = request.stream.value();
  if (stream >= held_.size()) held_.resize(stream + 1, nil);
  held_[stream] = index;
  kernel.held_demand = form.block_demand;
}

std::optional<Time> FluidSharing::reveal(StreamId stream, std::uint32_t item) {
  for (Kernel& kernel : kernels_) {  // some are over, and had other calls
    KernelRequest& request = kernel.request;
    if (request.stream != stream || request.item != item || !request.quiet) continue;
    request.quiet = false;
    if (!kernel.started || kernel.blocks_left != 0) return std::nullopt;
    return Time{Duration{kernel.started_at}};
  }
  return std::nullopt;
}

std::size_t FluidSharing::memory_bytes() const {
  std::size_t bytes = kernels_.capacity() * sizeof(Kernel) + cohorts_.capacity() * sizeof(Cohort) +
                      ends_.memory_bytes() + arrived_.memory_bytes() +
                      forms_.capacity() * sizeof(Form);
  for (const DeviceState& device : devices_) {
    bytes += device.share.memory_bytes() + device.events.memory_bytes();
  }
  return bytes;
}

}  // namespace schedlab
