// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "sim/engine/event_queue.hpp"
#include "sim/plan/policy.hpp"

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <tuple>
#include <vector>

namespace schedlab {

/// A kernel at the head of its stream, ready for the device.
struct KernelRequest {
  TaskId task;
  StreamId stream;
  DeviceId device;
  std::uint32_t connection = 0;
  std::uint32_t level = 0;  ///< priority level, 0 = most urgent
  Time arrived{};           ///< when it reached the stream; with `item` the order among equals
  std::uint32_t item = 0;   ///< number of the host call, in submission order
  bool held = false;        ///< lasts until release(): a collective, whose end others decide
  /// Nobody can pass it in its connection before it has completed: a model may tell of its start
  /// with its completion instead of by on_start and on_dispatched.
  bool quiet = false;

  /// Becomes the other, member by member: a copy at a stroke would wait for members just written.
  void set(const KernelRequest& other) {
    task = other.task;
    stream = other.stream;
    device = other.device;
    connection = other.connection;
    level = other.level;
    arrived = other.arrived;
    item = other.item;
    held = other.held;
    quiet = other.quiet;
  }
};

/// Exclusive compute sharing: a task holds whole units of one class from its start to its end and
/// runs at the speed it has alone. Classes run side by side (cube, vector and DMA of an NPU, core
/// groups, SMs); a class without a count never makes anybody wait.
///
/// Order: per class, the most urgent level first, within a level the order in which kernels reached
/// the head of their streams (submission order among equals). The first kernel that does not fit
/// blocks all behind it, lower levels included, as on GPUs (Amert et al., RTSS 2017, rules X1, P2).
///
/// A held kernel (of a collective) takes what any other takes and keeps it until release().
///
/// Every sharing model has these members; the engine is a template over them. A model owns the
/// completion times, because models with shared rates change them at every start and end.
class ExclusiveSharing {
 public:
  struct Completion {
    TaskId task;
    StreamId stream;
    bool quiet = false;  ///< on_start and on_dispatched were not called
    Time started{};      ///< then: at its first block
  };

  void reset(const Problem& problem);

  /// Starts the kernel now if no other kernel can ever compete with it. False: use submit().
  bool start_at_once(const KernelRequest& request, Time now) {
    if (limited_[request.device.value()] != 0) return false;
    begin(request, now);
    return true;
  }
  /// Queues the kernel; it starts in dispatch().
  void submit(const KernelRequest& request) {
    const std::uint32_t stream = request.stream.value();
    if (stream >= requests_.size()) requests_.resize(stream + 1);
    requests_[stream].set(request);
    arrived_.push_back(stream);
  }

  /// Starts all kernels that can start at `now`, calling on_start(request, when) when a
  /// kernel's first block is placed and on_dispatched(request) when its last is: here at once.
  template <class OnStart, class OnDispatched>
  void dispatch(Time now, OnStart&& on_start, OnDispatched&& on_dispatched);
  [[nodiscard]] bool dispatch_needed() const { return !touched_.empty() || !arrived_.empty(); }
  /// The held kernel of the stream completes at `end`, not before the present.
  void release(StreamId stream, Time end) { completions_.push(end, 0, stream.value()); }

  [[nodiscard]] Time next_completion() { return completions_.next_time(); }
  /// At next_completion(): true if a task has completed, and which. (Other models also wake up for
  /// parts of a task.)
  bool pop_completion(Time, Completion& completed) {
    const StreamId stream{completions_.pop().payload};
    const Running& running = running_[stream.value()];
    if (limited_[running.device.value()] != 0) free_units(running);
    completed = {.task = running.task, .stream = stream};
    return true;
  }

  [[nodiscard]] std::size_t waiting_kernels() const;
  [[nodiscard]] std::size_t memory_bytes() const;

 private:
  struct Running {
    TaskId task;
    DeviceId device;
  };
  // One per device and unit class, plus one per device for kernels of unlimited classes.
  struct Engine {
    std::uint32_t free_units = 0;
    std::uint32_t waiting = 0;                       // in all queues
    std::vector<std::vector<std::uint32_t>> queues;  // by level: streams
    std::vector<std::size_t> heads;

    void reset(std::uint32_t units, std::uint32_t levels);
  };

  void begin(const KernelRequest& request, Time now) {
    if (!request.held) {
      completions_.push(
          now + costs_->duration(request.task, request.device), 0, request.stream.value());
    }
    if (request.stream.value() >= running_.size()) running_.resize(request.stream.value() + 1);
    running_[request.stream.value()] = {request.task, request.device};
  }
  [[nodiscard]] Engine& engine_of(DeviceId device, const CostTable::Entry& entry);
  /// The device is looked at in the next dispatch().
  void touch(DeviceId device) {
    if (is_touched_[device.value()] != 0) return;
    is_touched_[device.value()] = 1;
    touched_.push_back(device.value());
  }
  void enqueue_arrived();
  void free_units(const Running& running);
  /// Forgets the served front of a queue once it is the larger part: queues that never run empty
  /// must not grow with the number of tasks.
  static void compact(std::vector<std::uint32_t>& queue, std::size_t& head) {
    if (head < 64 || 2 * head < queue.size()) return;
    queue.erase(queue.begin(), queue.begin() + static_cast<std::ptrdiff_t>(head));
    head = 0;
  }
  template <class OnStart, class OnDispatched>
  void dispatch_engine(Engine& engine, Time now, OnStart& on_start, OnDispatched& on_dispatched);

  const CostTable* costs_ = nullptr;
  const Platform* platform_ = nullptr;
  EventQueue completions_;
  std::vector<Running> running_;           // by stream
  std::vector<std::uint8_t> limited_;      // by device
  std::vector<std::size_t> first_engine_;  // by device, and the end of the last
  std::vector<std::uint32_t> resident_;    // by device: kernels running
  std::vector<Engine> engines_;
  std::vector<KernelRequest> requests_;   // by stream, which has one at a time
  std::vector<std::uint32_t> arrived_;    // streams
  std::vector<std::uint32_t> touched_;    // devices with new kernels or freed units
  std::vector<std::uint8_t> is_touched_;  // by device
  std::vector<std::uint32_t> looked_at_;  // by dispatch(), now
};

template <class OnStart, class OnDispatched>
void ExclusiveSharing::dispatch(Time now, OnStart&& on_start, OnDispatched&& on_dispatched) {
  while (dispatch_needed()) {
    enqueue_arrived();
    if (touched_.size() > 1) std::sort(touched_.begin(), touched_.end());
    looked_at_.swap(touched_);
    for (const std::uint32_t device : looked_at_) {
      is_touched_[device] = 0;
      for (std::size_t i = first_engine_[device]; i < first_engine_[device + 1]; ++i) {
        if (engines_[i].waiting != 0) dispatch_engine(engines_[i], now, on_start, on_dispatched);
      }
    }
    looked_at_.clear();
  }
}

template <class OnStart, class OnDispatched>
void ExclusiveSharing::dispatch_engine(Engine& engine,
                                       Time now,
                                       OnStart& on_start,
                                       OnDispatched& on_dispatched) {
  for (std::size_t level = 0; level < engine.queues.size(); ++level) {
    auto& queue = engine.queues[level];
    if (queue.empty()) continue;
    std::size_t& head = engine.heads[level];
    compact(queue, head);
    while (head < queue.size()) {
      const KernelRequest& request = requests_[queue[head]];
      const std::uint32_t units = costs_->entry(request.task, request.device).units;
      const Device& device = platform_->device(request.device);
      std::uint32_t& resident = resident_[request.device.value()];
      if (device.resident_kernels != 0 && resident >= device.resident_kernels) return;
      if (units > engine.free_units) return;
      ++head;
      --engine.waiting;
      ++resident;
      engine.free_units -= units;
      begin(request, now);
      on_start(request, now);
      on_dispatched(request);
    }
    queue.clear();
    head = 0;
  }
}

}  // namespace schedlab
