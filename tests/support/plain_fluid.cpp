// SPDX-License-Identifier: Apache-2.0
#include "tests/support/plain_fluid.hpp"

#include "sim/machine/occupancy.hpp"

#include <algorithm>
#include <limits>
#include <tuple>

namespace schedlab::test {
namespace {

constexpr std::int64_t never = std::numeric_limits<std::int64_t>::max();
constexpr std::int64_t unit_capacity = 1441440;
constexpr std::int64_t whole = std::int64_t{1} << 32U;
constexpr std::int64_t unit_throughput = std::int64_t{1} << 20U;

}  // namespace

void PlainFluid::reset(const Problem& problem, const std::vector<std::uint32_t>& /*partitions*/) {
  problem_ = &problem;
  kernels_.clear();
  arrived_.clear();
  notices_.clear();
  level_.assign(problem.platform.device_count(), 0);
  now_ = 0;
  events_ = 0;
  changed_ = false;
}

PlainFluid::Kernel PlainFluid::make(const KernelRequest& request) const {
  const Device& device = problem_->platform.device(request.device);
  const CostTable::Entry& entry = problem_->costs.entry(request.task, request.device);
  Kernel kernel;
  kernel.request = request;
  kernel.unit_class =
      entry.unit_class.valid() ? entry.unit_class.value() : device.unit_classes.size();
  if (entry.unit_class.valid()) kernel.units = device.unit_classes[entry.unit_class].count;
  const Estimate& estimate = entry.estimate;
  kernel.residents = std::max(1U, estimate.blocks_per_unit);
  std::int64_t at_full_rate = kernel.residents;
  if (estimate.block.threads != 0 && device.sm_limits.known()) {
    kernel.residents = occupancy(estimate.block, device.sm_limits).blocks;
    at_full_rate = std::min(at_full_rate, kernel.residents);
  }
  kernel.unit_demand =
      static_cast<std::int64_t>(static_cast<double>(estimate.compute_share) *
                                static_cast<double>(unit_throughput / at_full_rate));
  kernel.blocks_left = estimate.blocks != 0 ? estimate.blocks : std::max(1U, entry.units);
  kernel.footprint = kernel.units == 0 ? 0 : unit_capacity / kernel.residents;
  // Alone: full waves and a last one, each as much slower than its blocks as the fullest unit is
  // asked for more than it gets done.
  const std::int64_t wave = kernel.units == 0
                                ? kernel.blocks_left
                                : std::min(kernel.blocks_left, kernel.units * kernel.residents);
  const auto time_of = [&](std::int64_t blocks) {
    if (kernel.units == 0) return unit_throughput;
    const std::int64_t on_one = (blocks + kernel.units - 1) / kernel.units;
    return std::max(unit_throughput, on_one * kernel.unit_demand);
  };
  std::int64_t alone = 0;
  for (std::int64_t left = kernel.blocks_left; left > 0; left -= wave) {
    alone += time_of(std::min(left, wave));
  }
  const std::int64_t duration = problem_->costs.duration(request.task, request.device).count();
  kernel.block_time =
      static_cast<std::int64_t>((Wide{duration} * unit_throughput + alone - 1) / alone);
  const double bandwidth = device.rates.memory.count() * device.rates.memory_efficiency;
  if (kernel.block_time > 0 && bandwidth > 0) {
    const double bytes = entry.estimate.bandwidth.count() * to_seconds(entry.estimate.duration);
    const double seconds = static_cast<double>(kernel.block_time) * 1e-12;
    const double block_share =
        bytes / (static_cast<double>(kernel.blocks_left) * seconds) / bandwidth;
    kernel.block_demand = std::min(
        static_cast<std::int64_t>(Wide{whole} * time_of(wave) / (Wide{wave} * unit_throughput)),
        static_cast<std::int64_t>(std::min(1.0, block_share) * double{whole}));
  }
  return kernel;
}

/// What a kernel gets in a picosecond, of what it `needs`.
PlainFluid::Wide PlainFluid::speed(const Kernel& kernel) const {
  switch (kernel.limit) {
    case Limit::none:
      return 1;
    case Limit::units:
      return kernel.unit_rate;
    case Limit::bandwidth:
      return level_[kernel.request.device.value()];
  }
  return 0;
}

void PlainFluid::advance(std::int64_t now) {
  for (Kernel& kernel : kernels_) kernel.got += speed(kernel) * (now - now_);
  now_ = now;
}

std::int64_t PlainFluid::next_end(const Kernel& kernel) const {
  if (kernel.running.empty()) return never;
  if (kernel.request.held) return kernel.release_at;
  const Wide left = Wide{kernel.running.front().end - kernel.own} * kernel.needs - kernel.got;
  return now_ + static_cast<std::int64_t>((left + speed(kernel) - 1) / speed(kernel));
}

Time PlainFluid::next_completion() {
  std::int64_t first = never;
  for (const Kernel& kernel : kernels_) first = std::min(first, next_end(kernel));
  return Time{Duration{first}};
}

bool PlainFluid::pop_completion(Time now, Completion& completed) {
  const std::int64_t time = now.time_since_epoch().count();
  Kernel* kernel = nullptr;
  for (Kernel& k : kernels_) {
    if (next_end(k) != time) continue;
    if (kernel == nullptr || k.request.item < kernel->request.item) kernel = &k;
  }
  advance(time);
  ++events_;
  changed_ = true;
  kernel->ended_now.push_back(kernel->running.front());
  kernel->running.erase(kernel->running.begin());
  while (kernel->request.held && !kernel->running.empty()) {
    kernel->ended_now.push_back(kernel->running.front());
    kernel->running.erase(kernel->running.begin());
  }
  if (!kernel->running.empty() || kernel->blocks_left != 0) return false;
  kernel->done = true;
  completed = {.task = kernel->request.task, .stream = kernel->request.stream};
  return true;
}

void PlainFluid::release(StreamId stream, Time end) {
  for (Kernel& kernel : kernels_) {
    if (kernel.request.held && !kernel.done && kernel.request.stream == stream) {
      kernel.release_at = end.time_since_epoch().count();
      changed_ = true;
    }
  }
}

std::int64_t PlainFluid::free_capacity(std::size_t device, std::size_t unit_class) const {
  const auto& classes =
      problem_->platform.device(DeviceId{static_cast<std::uint32_t>(device)}).unit_classes;
  if (unit_class == classes.size()) return never;
  const std::int64_t units = classes[UnitClassId{static_cast<std::uint32_t>(unit_class)}].count;
  if (units == 0) return never;
  std::int64_t capacity_left = units * unit_capacity;
  for (const Kernel& kernel : kernels_) {
    if (kernel.request.device.value() != device || kernel.unit_class != unit_class) continue;
    for (const Cohort& cohort : kernel.running) capacity_left -= cohort.blocks * kernel.footprint;
  }
  return capacity_left;
}

void PlainFluid::place(Kernel& kernel, std::int64_t blocks) {
  if (!kernel.started) {
    kernel.started = true;
    kernel.own = 0;
    kernel.got = 0;
  }
  kernel.blocks_left -= blocks;
  const auto add = [&](std::int64_t from, std::int64_t count) {
    const std::int64_t end = from + kernel.block_time;
    if (!kernel.running.empty() && kernel.running.back().end == end) {
      kernel.running.back().blocks += count;
    } else {
      kernel.running.push_back({end, count});
    }
  };
  for (Cohort& ended : kernel.ended_now) {
    const std::int64_t taken = std::min(blocks, ended.blocks);
    if (taken == 0) continue;
    ended.blocks -= taken;
    blocks -= taken;
    add(ended.end, taken);
  }
  if (blocks != 0) add(kernel.own_time(), blocks);
}

void PlainFluid::place_class(std::size_t device, std::size_t unit_class) {
  const Device& d = problem_->platform.device(DeviceId{static_cast<std::uint32_t>(device)});
  for (std::uint32_t level = 0; level < d.priority_levels; ++level) {
    for (std::size_t i = 0; i < kernels_.size(); ++i) {
      Kernel& kernel = kernels_[i];
      if (kernel.request.device.value() != device || kernel.unit_class != unit_class ||
          kernel.request.level != level || kernel.blocks_left == 0) {
        continue;
      }
      const auto resident = std::count_if(kernels_.begin(), kernels_.end(), [&](const Kernel& k) {
        return k.request.device.value() == device && k.started && !k.done;
      });
      if (!kernel.started && d.resident_kernels != 0 && resident >= d.resident_kernels) break;
      const std::int64_t fit = kernel.footprint == 0
                                   ? kernel.blocks_left
                                   : free_capacity(device, unit_class) / kernel.footprint;
      if (fit == 0) return;
      if (!kernel.started) notices_.emplace_back(i, true);
      place(kernel, std::min(fit, kernel.blocks_left));
      if (kernel.blocks_left != 0) return;
      notices_.emplace_back(i, false);
    }
  }
}

void PlainFluid::place_all(std::int64_t now) {
  advance(now);
  changed_ = false;
  std::sort(arrived_.begin(), arrived_.end(), [](const KernelRequest& a, const KernelRequest& b) {
    return std::tie(a.arrived, a.item) < std::tie(b.arrived, b.item);
  });
  for (const KernelRequest& request : arrived_) kernels_.push_back(make(request));
  arrived_.clear();
  for (const DeviceId device : problem_->platform.device_ids()) {
    const std::size_t classes = problem_->platform.device(device).unit_classes.size();
    for (std::size_t c = 0; c <= classes; ++c) place_class(device.value(), c);
    for (std::size_t c = 0; c < classes; ++c) share_units(device.value(), c);
    share(device.value());
  }
  for (Kernel& kernel : kernels_) kernel.ended_now.clear();
}

/// Units that no block takes whole are asked for by the blocks of all others, spread evenly in
/// whole blocks; the fullest of them sets the rate of all. While several kernels share them, they
/// get done the co-residency factor of what they do for one.
void PlainFluid::share_units(std::size_t device, std::size_t unit_class) {
  const Device& d = problem_->platform.device(DeviceId{static_cast<std::uint32_t>(device)});
  std::int64_t units = d.unit_classes[UnitClassId{static_cast<std::uint32_t>(unit_class)}].count;
  const bool unlimited = units == 0;
  std::vector<Kernel*> sharing;
  std::int64_t wanted = 0;
  std::int64_t blocks = 0;
  std::int64_t most = 0;
  for (Kernel& kernel : kernels_) {
    if (kernel.request.device.value() != device || kernel.unit_class != unit_class) continue;
    kernel.unit_rate = full_rate;
    if (kernel.running.empty()) continue;
    if (kernel.residents == 1) {
      units -= kernel.blocks_running();
      continue;
    }
    sharing.push_back(&kernel);
    blocks += kernel.blocks_running();
    wanted += kernel.blocks_running() * kernel.unit_demand;
    most = std::max(most, kernel.unit_demand * kernel.residents);
  }
  if (unlimited || wanted == 0) return;
  Wide rate = full_rate;
  const std::int64_t on_one = (blocks + units - 1) / units;
  const std::int64_t fullest = std::min((on_one * wanted + blocks - 1) / blocks, most);
  if (fullest > unit_throughput) rate = Wide{full_rate} * unit_throughput / fullest;
  const auto of_one = static_cast<std::int64_t>(d.co_residency_factor * unit_throughput);
  if (sharing.size() > 1 && of_one != unit_throughput && wanted > units * of_one) {
    rate = std::min(rate, Wide{units * of_one} * full_rate / wanted);
  }
  for (Kernel* kernel : sharing) {
    if (!kernel->request.held) kernel->unit_rate = rate;
  }
}

void PlainFluid::share(std::size_t device) {
  // Whoever wants no more than an equal share of what is left gets it, until none does.
  std::vector<Kernel*> others;
  for (Kernel& kernel : kernels_) {
    if (kernel.request.device.value() == device) others.push_back(&kernel);
  }
  Wide left = whole;
  std::vector<Kernel*> content;
  for (bool found = true; found;) {
    found = false;
    const Wide equal = static_cast<Wide>(others.size());
    for (auto k = others.begin(); k != others.end(); ++k) {
      if ((*k)->wanted() * equal > left) continue;
      left -= (*k)->wanted();
      content.push_back(*k);
      others.erase(k);
      found = true;
      break;
    }
  }
  const auto change = [](Kernel& kernel, Limit limit, Wide needs) {
    if (kernel.limit == limit && kernel.needs == needs) return;
    kernel.own = kernel.own_time();
    kernel.got = 0;
    kernel.needs = needs;
    kernel.limit = limit;
  };
  for (Kernel* kernel : content) {
    const bool slowed = kernel->unit_rate != full_rate;
    change(*kernel, slowed ? Limit::units : Limit::none, slowed ? full_rate : 1);
  }
  for (Kernel* kernel : others) change(*kernel, Limit::bandwidth, kernel->demand());
  if (!others.empty()) level_[device] = left / static_cast<Wide>(others.size());
}

}  // namespace schedlab::test
