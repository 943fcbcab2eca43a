// SPDX-License-Identifier: Apache-2.0
#include "sim/base/ceil_div.hpp"
#include "sim/engine/sharing/fluid.hpp"

#include <algorithm>
#include <bit>
#include <limits>

/// \file
/// Members of FluidSharing: what a run begins with, and a kernel.
namespace schedlab {
namespace {

constexpr std::size_t max_forms = 1024;
constexpr std::int64_t no_limit = std::numeric_limits<std::int64_t>::max() / 2;

/// What a block wants of the memory bandwidth, in units of demand; its time in ps.
double demand_of_block(double bytes, std::uint32_t blocks, double block_time, double bandwidth) {
  return bytes / (static_cast<double>(blocks) * block_time * 1e-12) / bandwidth *
         static_cast<double>(fluid::whole_bandwidth);
}

}  // namespace

void FluidSharing::reset(const Problem& problem) {
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
    // Of equal devices, which follow each other, one tells.
    if (id == DeviceId{0} || platform_->kind_of(id) != kind) {
      kind = platform_->kind_of(id);
      oversubscribed = may_oversubscribe(id);
    }
    state.share.reset(device, oversubscribed);
    state.events.clear();
    for (const UnitClass& unit_class : device.unit_classes) {
      pools_.push_back({.capacity_left = unit_class.count == 0
                                             ? no_limit
                                             : std::int64_t{unit_capacity} * unit_class.count,
                        .units = unit_class.count});
    }
    pools_.push_back({.capacity_left = no_limit});  // kernels of no class
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
    form.alone = waves_alone(form.residency, form.blocks, pool.units);
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
  kernel.pool =
      device.first_pool + (entry.unit_class.valid() ? entry.unit_class.value() : device.pools - 1);
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
                      ends_.memory_bytes() + arrived_.capacity() * sizeof(std::uint32_t) +
                      forms_.capacity() * sizeof(Form);
  for (const DeviceState& device : devices_) {
    bytes += device.share.memory_bytes() + device.events.memory_bytes();
  }
  return bytes;
}

}  // namespace schedlab
