// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "sim/engine/event_queue.hpp"
#include "sim/plan/policy.hpp"

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <optional>
#include <tuple>
#include <vector>

namespace schedlab {

/// A kernel at the head of its stream, ready for the device.
struct KernelRequest {
  TaskId task;
  StreamId stream;
  DeviceId device;
  std::uint32_t connection = 0;
  std::uint32_t level = 0;      ///< priority level, 0 = most urgent
  std::uint32_t partition = 0;  ///< of the device's units
  Time arrived{};               ///< when it reached the stream; with `item` the order among equals
  std::uint32_t item = 0;       ///< number of the host call, in submission order
  bool held = false;            ///< lasts until release(): a collective, whose end others decide
  /// No kernel can pass it in its connection before it has completed: a model may tell of its start
  /// with its completion instead of by on_start and on_dispatched.
  bool quiet = false;

  /// Becomes the other, member by member: a copy at a stroke would wait for members just written.
  void set(const KernelRequest& other) {
    task = other.task;
    stream = other.stream;
    device = other.device;
    connection = other.connection;
    level = other.level;
    partition = other.partition;
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
/// A held kernel (of a collective) takes what any other takes and keeps it until release(), or
/// until end_held() where collectives contend: nothing here slows it down, only links do.
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

  /// `partitions`: Plan::partitions; here there are none (expect_divided()).
  void reset(const Problem& problem, const std::vector<std::uint32_t>& partitions);

  /// Starts the kernel now if no other kernel can ever compete with it. False: use submit(), at
  /// this moment.
  bool start_at_once(const KernelRequest& request, Time now) {
    now_ = now;
    if (devices_[request.device.value()].limited) return false;
    Kernel& kernel = kernel_of(request.stream);
    kernel.request.task = request.task;
    kernel.request.device = request.device;
    kernel.request.stream = request.stream;
    kernel.request.held = request.held;
    kernel.request.quiet = false;
    begin(kernel, now);
    return true;
  }
  /// Queues the kernel; it starts in dispatch().
  void submit(const KernelRequest& request) {
    Kernel& kernel = kernel_of(request.stream);
    kernel.request.set(request);
    kernel.waits = true;
    kernel.submitted = now_;
    const CostTable::Entry& entry = costs_->entry(request.task, request.device);
    const DeviceState& device = devices_[request.device.value()];
    kernel.units = entry.units;
    kernel.engine =
        entry.unit_class.valid() ? device.first_engine + entry.unit_class.value() : device.no_class;
    arrived_.push_back(request.stream.value());
    needed_ = needed_ || fits(engines_[kernel.engine], kernel);
  }

  /// The stream's quiet kernel, of the host call `item`, is no longer quiet. When it started;
  /// nullopt if that is still to come, and to be told by dispatch().
  [[nodiscard]] std::optional<Time> reveal(StreamId stream, [[maybe_unused]] std::uint32_t item) {
    Kernel& kernel = kernels_[stream.value()];
    kernel.request.quiet = false;
    return kernel.waits ? std::nullopt : std::optional<Time>{kernel.started};
  }

  /// Starts all kernels that can start at `now`, calling on_start(request, when) when a
  /// kernel's first block is placed and on_dispatched(request) when its last is: here at once, and
  /// not for quiet kernels.
  template <class OnStart, class OnDispatched>
  void dispatch(Time now, OnStart&& on_start, OnDispatched&& on_dispatched);
  /// Might any start? Those for which units are missing wait until some are given back.
  [[nodiscard]] bool dispatch_needed() const { return needed_; }
  /// The held kernel of the stream completes at `end`, not before the present.
  void release(StreamId stream, Time end) { completions_.push(end, 0, stream.value()); }

  // Of collectives that contend, in every model:
  /// The stream's held kernel, all placed, begins to move data.
  void engage(StreamId /*stream*/) {}
  /// changed(stream, rate), in multiples of 2^-32, for engaged kernels whose device has shared what
  /// it has anew since the last call.
  template <class Changed>
  void changed_rates(Changed&& /*changed*/) {}
  /// The stream's held kernel ends now.
  Completion end_held(StreamId stream, Time /*now*/) {
    const Kernel& kernel = kernels_[stream.value()];
    if (devices_[kernel.request.device.value()].limited) free_units(kernel);
    return {.task = kernel.request.task, .stream = stream, .started = kernel.started};
  }

  [[nodiscard]] Time next_completion() { return completions_.next_time(); }
  /// At next_completion(): true if a task has completed, and which. (Other models also wake up for
  /// parts of a task.)
  bool pop_completion(Time, Completion& completed) {
    const Kernel& kernel = kernels_[completions_.pop().payload];
    if (devices_[kernel.request.device.value()].limited) free_units(kernel);
    completed.task = kernel.request.task;
    completed.stream = kernel.request.stream;
    completed.quiet = kernel.request.quiet;
    completed.started = kernel.started;
    return true;
  }

  [[nodiscard]] std::size_t memory_bytes() const;

 private:
  static constexpr std::uint32_t nil = std::numeric_limits<std::uint32_t>::max();

  /// The kernel of a stream, which has one at a time: waiting or running.
  struct Kernel {
    KernelRequest request;
    std::uint32_t engine = 0;
    std::uint32_t units = 0;
    std::uint32_t next_waiting = nil;  ///< a stream
    Time submitted{};
    Time started{};
    bool waits = false;  ///< it has been submitted and not started
  };
  struct Queue {
    std::uint32_t head = nil;  ///< streams
    std::uint32_t tail = nil;
  };
  // One per device and unit class, plus one per device for kernels of no class.
  struct Engine {
    std::uint32_t free_units = 0;
    std::uint32_t first_queue = 0;  ///< of level 0
    std::uint32_t waiting = 0;      ///< kernels in all queues
    std::uint32_t top = 0;          ///< no kernel waits at a more urgent level
    bool touched = false;
  };
  struct DeviceState {
    std::uint32_t first_engine = 0;
    std::uint32_t no_class = 0;        ///< the engine of kernels of no class, its last
    std::uint32_t resident = 0;        ///< kernels running
    std::uint32_t resident_limit = 0;  ///< 0 = none
    bool limited = false;              ///< kernels may have to wait
  };

  [[nodiscard]] Kernel& kernel_of(StreamId stream) {
    if (stream.value() >= kernels_.size()) kernels_.resize(stream.value() + 1);
    return kernels_[stream.value()];
  }
  void begin(Kernel& kernel, Time now) {
    kernel.started = now;
    kernel.waits = false;
    const KernelRequest& request = kernel.request;
    if (request.held) return;
    completions_.push(
        now + costs_->duration(request.task, request.device), 0, request.stream.value());
  }
  [[nodiscard]] bool fits(const Engine& engine, const Kernel& kernel) const {
    const DeviceState& device = devices_[kernel.request.device.value()];
    return kernel.units <= engine.free_units &&
           (device.resident_limit == 0 || device.resident < device.resident_limit);
  }
  /// The engine is looked at in the next dispatch(). Between two of them the first that waits in
  /// an untouched engine cannot start.
  void touch(std::uint32_t number) {
    if (engines_[number].touched) return;
    engines_[number].touched = true;
    touched_.push_back(number);
    needed_ = true;
  }
  void enqueue_arrived();
  void free_units(const Kernel& kernel) {
    DeviceState& device = devices_[kernel.request.device.value()];
    Engine& engine = engines_[kernel.engine];
    engine.free_units += kernel.units;
    needed_ = needed_ || !arrived_.empty();
    if (device.resident-- == device.resident_limit) {
      touch_waiting(device);  // whoever waits there, for whatever units, may have waited for this
    } else if (engine.waiting != 0) {
      touch(kernel.engine);
    }
  }
  void touch_waiting(const DeviceState& device);
  template <class OnStart, class OnDispatched>
  void dispatch_engine(Engine& engine, Time now, OnStart& on_start, OnDispatched& on_dispatched);
  template <class OnStart, class OnDispatched>
  void start(
      Engine& engine, Kernel& kernel, Time now, OnStart& on_start, OnDispatched& on_dispatched) {
    ++devices_[kernel.request.device.value()].resident;
    engine.free_units -= kernel.units;
    begin(kernel, now);
    if (kernel.request.quiet) return;
    on_start(kernel.request, now);
    on_dispatched(kernel.request);
  }

  const CostTable* costs_ = nullptr;
  EventQueue completions_;
  std::vector<Kernel> kernels_;  // by stream
  std::vector<DeviceState> devices_;
  std::vector<Engine> engines_;
  std::vector<Queue> queues_;           // [engine][level]
  std::vector<std::uint32_t> arrived_;  // streams whose kernel is in no queue yet
  std::vector<std::uint32_t> touched_;  // engines
  bool needed_ = false;
  Time now_{};
};

template <class OnStart, class OnDispatched>
void ExclusiveSharing::dispatch(Time now, OnStart&& on_start, OnDispatched&& on_dispatched) {
  if (arrived_.size() == 1 && touched_.empty()) {  // mostly alone, and often with none before it
    Kernel& kernel = kernels_[arrived_.front()];
    Engine& engine = engines_[kernel.engine];
    if (engine.waiting == 0 && fits(engine, kernel)) {
      arrived_.clear();
      needed_ = false;
      return start(engine, kernel, now, on_start, on_dispatched);
    }
  }
  if (!arrived_.empty()) enqueue_arrived();
  if (touched_.size() > 1) std::sort(touched_.begin(), touched_.end());
  for (const std::uint32_t number : touched_) {
    engines_[number].touched = false;
    dispatch_engine(engines_[number], now, on_start, on_dispatched);
  }
  touched_.clear();
  needed_ = false;
}

template <class OnStart, class OnDispatched>
void ExclusiveSharing::dispatch_engine(Engine& engine,
                                       Time now,
                                       OnStart& on_start,
                                       OnDispatched& on_dispatched) {
  while (engine.waiting != 0) {
    Queue& queue = queues_[engine.first_queue + engine.top];
    if (queue.head == nil) {
      ++engine.top;
      continue;
    }
    Kernel& kernel = kernels_[queue.head];
    if (!fits(engine, kernel)) return;
    queue.head = kernel.next_waiting;
    if (queue.head == nil) queue.tail = nil;
    --engine.waiting;
    start(engine, kernel, now, on_start, on_dispatched);
  }
}

}  // namespace schedlab
