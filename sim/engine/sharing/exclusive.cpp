// SPDX-License-Identifier: Apache-2.0
#include "sim/engine/sharing/exclusive.hpp"

#include <limits>

namespace schedlab {
namespace {

bool device_is_limited(const Device& device) {
  if (device.resident_kernels != 0) return true;
  return std::any_of(device.unit_classes.begin(),
                     device.unit_classes.end(),
                     [](const UnitClass& c) { return c.count != 0; });
}

}  // namespace

void ExclusiveSharing::reset(const Problem& problem) {
  costs_ = &problem.costs;
  platform_ = &problem.platform;
  completions_.clear();
  running_.clear();
  arrived_.clear();
  limited_.clear();
  first_engine_.clear();
  touched_.clear();
  resident_.assign(platform_->device_count(), 0);
  is_touched_.assign(platform_->device_count(), 0);
  std::size_t engines = 0;
  for (const DeviceId id : platform_->device_ids()) {
    const Device& device = platform_->device(id);
    limited_.push_back(device_is_limited(device) ? 1 : 0);
    first_engine_.push_back(engines);
    engines += device.unit_classes.size() + 1;
  }
  first_engine_.push_back(engines);
  engines_.resize(engines);  // queues of an earlier run keep their memory: small runs need no other
  std::size_t next = 0;
  for (const DeviceId id : platform_->device_ids()) {
    const Device& device = platform_->device(id);
    for (const UnitClass& unit_class : device.unit_classes) {
      engines_[next++].reset(unit_class.count, device.priority_levels);
    }
    engines_[next++].reset(std::numeric_limits<std::uint32_t>::max(), device.priority_levels);
  }
}

void ExclusiveSharing::Engine::reset(std::uint32_t units, std::uint32_t levels) {
  free_units = units;
  waiting = 0;
  queues.resize(levels);
  for (auto& queue : queues) queue.clear();
  heads.assign(levels, 0);
}

ExclusiveSharing::Engine& ExclusiveSharing::engine_of(DeviceId device,
                                                      const CostTable::Entry& entry) {
  const std::size_t first = first_engine_[device.value()];
  const std::size_t last = first_engine_[device.value() + 1] - 1;
  return engines_[entry.unit_class.valid() ? first + entry.unit_class.value() : last];
}

void ExclusiveSharing::enqueue_arrived() {
  // All of one instant: submission order decides, whatever order their streams were looked at in.
  if (arrived_.size() > 1) {
    std::sort(arrived_.begin(), arrived_.end(), [this](std::uint32_t a, std::uint32_t b) {
      const KernelRequest& first = requests_[a];
      const KernelRequest& second = requests_[b];
      return std::tie(first.arrived, first.item) < std::tie(second.arrived, second.item);
    });
  }
  for (const std::uint32_t stream : arrived_) {
    const KernelRequest& request = requests_[stream];
    Engine& engine = engine_of(request.device, costs_->entry(request.task, request.device));
    engine.queues[request.level].push_back(stream);
    ++engine.waiting;
    touch(request.device);
  }
  arrived_.clear();
}

void ExclusiveSharing::free_units(const Running& running) {
  const CostTable::Entry& entry = costs_->entry(running.task, running.device);
  engine_of(running.device, entry).free_units += entry.units;
  --resident_[running.device.value()];
  touch(running.device);
}

std::size_t ExclusiveSharing::waiting_kernels() const {
  std::size_t sum = arrived_.size();
  for (const Engine& engine : engines_) {
    for (std::size_t level = 0; level < engine.queues.size(); ++level) {
      sum += engine.queues[level].size() - engine.heads[level];
    }
  }
  return sum;
}

std::size_t ExclusiveSharing::memory_bytes() const {
  std::size_t bytes = completions_.memory_bytes() + running_.capacity() * sizeof(Running) +
                      requests_.capacity() * sizeof(KernelRequest) +
                      arrived_.capacity() * sizeof(std::uint32_t);
  for (const Engine& engine : engines_) {
    for (const auto& queue : engine.queues) bytes += queue.capacity() * sizeof(std::uint32_t);
  }
  return bytes;
}

}  // namespace schedlab
