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
  engines_.clear();
  dirty_ = false;
  resident_.assign(platform_->devices.size(), 0);
  for (const Device& device : platform_->devices) {
    limited_.push_back(device_is_limited(device) ? 1 : 0);
    first_engine_.push_back(engines_.size());
    for (const UnitClass& unit_class : device.unit_classes) {
      engines_.push_back({.free_units = unit_class.count, .queues = {}, .heads = {}});
    }
    engines_.push_back(
        {.free_units = std::numeric_limits<std::uint32_t>::max(), .queues = {}, .heads = {}});
    for (std::size_t i = first_engine_.back(); i < engines_.size(); ++i) {
      engines_[i].queues.resize(device.priority_levels);
      engines_[i].heads.assign(device.priority_levels, 0);
    }
  }
}

ExclusiveSharing::Engine& ExclusiveSharing::engine_of(const KernelRequest& request) {
  const std::size_t first = first_engine_[request.device.value()];
  const UnitClassId unit_class = costs_->entry(request.task, request.device).unit_class;
  const std::size_t classes = platform_->devices[request.device].unit_classes.size();
  return engines_[first + (unit_class.valid() ? unit_class.value() : classes)];
}

void ExclusiveSharing::enqueue_arrived() {
  // All of one instant: submission order decides, whatever order their streams were looked at in.
  std::sort(arrived_.begin(), arrived_.end(), [](const KernelRequest& a, const KernelRequest& b) {
    return std::tie(a.arrived, a.item) < std::tie(b.arrived, b.item);
  });
  for (const KernelRequest& request : arrived_) {
    engine_of(request).queues[request.level].push_back(request);
  }
  arrived_.clear();
}

void ExclusiveSharing::free_units(const Running& running) {
  KernelRequest request;
  request.task = running.task;
  request.device = running.device;
  engine_of(request).free_units += costs_->entry(running.task, running.device).units;
  --resident_[running.device.value()];
  dirty_ = true;
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
                      arrived_.capacity() * sizeof(KernelRequest);
  for (const Engine& engine : engines_) {
    for (const auto& queue : engine.queues) bytes += queue.capacity() * sizeof(KernelRequest);
  }
  return bytes;
}

}  // namespace schedlab
