// SPDX-License-Identifier: Apache-2.0
#include "sim/engine/sharing/exclusive.hpp"

#include <tuple>

namespace schedlab {
namespace {

bool device_is_limited(const Device& device) {
  if (device.resident_kernels != 0) return true;
  return std::any_of(device.unit_classes.begin(),
                     device.unit_classes.end(),
                     [](const UnitClass& c) { return c.count != 0; });
}

}  // namespace

void ExclusiveSharing::reset(const Problem& problem,
                             const std::vector<std::uint32_t>& /*partitions*/) {
  costs_ = &problem.costs;
  const Platform& platform = problem.platform;
  completions_.clear();
  arrived_.clear();
  touched_.clear();
  needed_ = false;
  devices_.clear();
  engines_.clear();
  std::uint32_t queues = 0;
  const auto add_engine = [&](std::uint32_t units, std::uint32_t levels) {
    Engine& engine = engines_.emplace_back();
    engine.free_units = units;
    engine.first_queue = queues;
    queues += levels;
  };
  for (const DeviceId id : platform.device_ids()) {
    const Device& device = platform.device(id);
    DeviceState& state = devices_.emplace_back();
    state.first_engine = static_cast<std::uint32_t>(engines_.size());
    state.resident_limit = device.resident_kernels;
    state.limited = device_is_limited(device);
    for (const UnitClass& unit_class : device.unit_classes) {
      add_engine(unit_class.count, device.priority_levels);
    }
    add_engine(std::numeric_limits<std::uint32_t>::max(), device.priority_levels);
    state.no_class = static_cast<std::uint32_t>(engines_.size() - 1);
  }
  queues_.assign(queues, Queue{});
}

void ExclusiveSharing::enqueue_arrived() {
  // Of one instant submission order decides, whatever order their streams were looked at in.
  if (arrived_.size() > 1) {
    std::sort(arrived_.begin(), arrived_.end(), [this](std::uint32_t a, std::uint32_t b) {
      const KernelRequest& first = kernels_[a].request;
      const KernelRequest& second = kernels_[b].request;
      return std::tie(kernels_[a].submitted, first.arrived, first.item) <
             std::tie(kernels_[b].submitted, second.arrived, second.item);
    });
  }
  for (const std::uint32_t stream : arrived_) {
    Kernel& kernel = kernels_[stream];
    const std::uint32_t level = kernel.request.level;
    Engine& engine = engines_[kernel.engine];
    Queue& queue = queues_[engine.first_queue + level];
    kernel.next_waiting = nil;
    (queue.tail == nil ? queue.head : kernels_[queue.tail].next_waiting) = stream;
    queue.tail = stream;
    const bool behind = engine.waiting != 0 && level >= engine.top;
    ++engine.waiting;
    if (behind) continue;  // behind one that cannot start, or is looked at anyway
    engine.top = level;
    touch(kernel.engine);
  }
  arrived_.clear();
}

void ExclusiveSharing::touch_waiting(const DeviceState& device) {
  for (std::uint32_t i = device.first_engine; i <= device.no_class; ++i) {
    if (engines_[i].waiting != 0) touch(i);
  }
}

std::size_t ExclusiveSharing::memory_bytes() const {
  return completions_.memory_bytes() + kernels_.capacity() * sizeof(Kernel) +
         devices_.capacity() * sizeof(DeviceState) + engines_.capacity() * sizeof(Engine) +
         queues_.capacity() * sizeof(Queue) +
         (arrived_.capacity() + touched_.capacity()) * sizeof(std::uint32_t);
}

}  // namespace schedlab
