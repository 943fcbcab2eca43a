// SPDX-License-Identifier: Apache-2.0
// ExclusiveSharing against its rules written down plainly, to the picosecond.
#include "sim/base/error.hpp"
#include "sim/base/rng.hpp"
#include "sim/engine/sharing/exclusive.hpp"
#include "sim/engine/simulator.hpp"
#include "sim/engine/whole_engine.hpp"
#include "tests/support/random_plan.hpp"

#include <doctest/doctest.h>

#include <algorithm>
#include <array>
#include <string>
#include <tuple>
#include <vector>

namespace schedlab {
namespace {

/// All kernels in one list; after every event everybody who waits is looked at in order. It tells
/// of every start, whether anybody wants to know or not.
class PlainExclusive {
 public:
  using Completion = ExclusiveSharing::Completion;

  void reset(const Problem& problem, const std::vector<std::uint32_t>& /*partitions*/ = {}) {
    costs_ = &problem.costs;
    platform_ = &problem.platform;
    kernels_.clear();
    looked_at_ = true;
  }
  bool start_at_once(const KernelRequest&, Time now) {
    now_ = now;
    return false;
  }
  void submit(const KernelRequest& request) {
    kernels_.push_back({.request = request, .submitted = now_});
    looked_at_ = false;
  }
  [[nodiscard]] bool dispatch_needed() const { return !looked_at_; }

  template <class OnStart, class OnDispatched>
  void dispatch(Time now, OnStart&& on_start, OnDispatched&& on_dispatched) {
    looked_at_ = true;
    for (const DeviceId device : platform_->device_ids()) {
      const std::uint32_t classes =
          static_cast<std::uint32_t>(platform_->device(device).unit_classes.size());
      for (std::uint32_t i = 0; i <= classes; ++i) {
        const UnitClassId units = i < classes ? UnitClassId{i} : UnitClassId::none();
        for (const std::size_t k : waiting(device, units)) {
          if (!fits(kernels_[k])) break;  // blocks all behind it
          kernels_[k].running = true;
          if (!kernels_[k].request.held) {
            kernels_[k].end = now + costs_->duration(kernels_[k].request.task, device);
          }
          kernels_[k].started = ++starts_;
          on_start(kernels_[k].request, now);
          on_dispatched(kernels_[k].request);
        }
      }
    }
  }
  [[nodiscard]] Time next_completion() const {
    Time next = Time::max();
    for (const Kernel& kernel : kernels_) next = std::min(next, kernel.end);
    return next;
  }
  bool pop_completion(Time now, Completion& completed) {
    // Of those that end together the one that was started first.
    auto first = kernels_.end();
    for (auto k = kernels_.begin(); k != kernels_.end(); ++k) {
      if (k->end == now && (first == kernels_.end() || k->started < first->started)) first = k;
    }
    completed = {.task = first->request.task, .stream = first->request.stream};
    kernels_.erase(first);
    looked_at_ = false;
    return true;
  }
  void release(StreamId stream, Time end) {
    for (Kernel& kernel : kernels_) {
      if (kernel.request.stream == stream && kernel.running) kernel.end = end;
    }
  }
  // Collectives do not contend here.
  void engage(StreamId) {}
  template <class Changed>
  void changed_rates(Changed&&) {}
  Completion end_held(StreamId, Time) { return {}; }

 private:
  struct Kernel {
    KernelRequest request;
    Time submitted{};
    Time end = Time::max();
    bool running = false;
    std::uint64_t started = 0;
  };

  [[nodiscard]] const CostTable::Entry& entry(const Kernel& kernel) const {
    return costs_->entry(kernel.request.task, kernel.request.device);
  }
  /// Indices of those who wait, in the order in which they are served.
  [[nodiscard]] std::vector<std::size_t> waiting(DeviceId device, UnitClassId units) const {
    std::vector<std::size_t> found;
    for (std::size_t i = 0; i < kernels_.size(); ++i) {
      const Kernel& kernel = kernels_[i];
      if (!kernel.running && kernel.request.device == device && entry(kernel).unit_class == units) {
        found.push_back(i);
      }
    }
    const auto key = [&](std::size_t i) {
      const KernelRequest& request = kernels_[i].request;
      return std::tuple{request.level, kernels_[i].submitted, request.arrived, request.item};
    };
    std::sort(
        found.begin(), found.end(), [&](std::size_t a, std::size_t b) { return key(a) < key(b); });
    return found;
  }
  [[nodiscard]] bool fits(const Kernel& wanted) const {
    const Device& device = platform_->device(wanted.request.device);
    std::uint32_t held = 0;
    std::uint32_t resident = 0;
    for (const Kernel& kernel : kernels_) {
      if (!kernel.running || kernel.request.device != wanted.request.device) continue;
      ++resident;
      if (entry(kernel).unit_class == entry(wanted).unit_class) held += entry(kernel).units;
    }
    if (device.resident_kernels != 0 && resident >= device.resident_kernels) return false;
    const UnitClassId units = entry(wanted).unit_class;
    return !units.valid() || held + entry(wanted).units <= device.unit_classes[units].count;
  }

  const CostTable* costs_ = nullptr;
  const Platform* platform_ = nullptr;
  std::vector<Kernel> kernels_;
  std::uint64_t starts_ = 0;
  bool looked_at_ = true;
  Time now_{};
};

constexpr std::array kinds{TaskKind::gemm, TaskKind::pointwise, TaskKind::reduction};

/// Operation "k" wants (k + 1) / 6 of its units, for k + 1 us.
class Sixths final : public CostModel {
 public:
  [[nodiscard]] std::string_view name() const override { return "sixths"; }
  [[nodiscard]] Estimate estimate(const Operation& operation, const Device&) const override {
    const int wanted = 1 + operation.name.front() - '0';
    Estimate estimate;
    estimate.duration = wanted * Duration{std::chrono::microseconds{1}};
    estimate.share = wanted / 6.0;
    return estimate;
  }
};

struct Scene {
  TaskGraph graph;
  Platform platform;
  CostTable costs;
  Plan plan;

  [[nodiscard]] Problem problem() const { return {graph, platform, costs}; }
};

Scene draw(std::uint64_t seed) {
  Rng rng{seed ^ 0xE1U};
  const auto upto = [&rng](std::uint64_t n) { return static_cast<std::uint32_t>(rng.below(n)); };
  TaskGraphBuilder builder;
  for (std::uint32_t k = 0; k < 6; ++k) {
    builder.add_operation({.name = std::to_string(k), .kind = kinds.at(k % kinds.size())});
  }
  const std::uint32_t tasks = 12 + upto(40);
  for (std::uint32_t i = 0; i < tasks; ++i) {
    const TaskId task = builder.add_task(OperationId{upto(6)});
    if (i != 0 && rng.below(3) == 0) builder.add_edge(TaskId{i - 1 - upto(std::min(i, 6U))}, task);
  }
  Scene scene{.graph = std::move(builder).build(),
              .platform = test::random_platform(seed),
              .costs = {},
              .plan = {}};
  Device& device = scene.platform.devices[DeviceId{0}];
  if (rng.below(2) == 0) {  // whole microseconds: many things happen at one instant
    scene.platform.hosts[HostId{0}].costs = {};
    device.launch_latency = device.stream_gap = device.event_latency = Duration{0};
  }
  scene.platform.sharing = SharingModel::exclusive;
  device.resident_kernels = rng.below(3) == 0 ? 1 + upto(4) : 0;
  if (rng.below(2) == 0) device.connections = 1 + upto(4);
  for (std::size_t k = 0; k < kinds.size(); ++k) {  // the last without a class, so never full
    device.unit_class_of[static_cast<std::size_t>(kinds.at(k))] =
        k + 1 == kinds.size() ? UnitClassId::none()
                              : device.unit_classes.push_back({std::to_string(k), 1 + upto(8)});
  }
  const bool two_devices = rng.below(4) == 0;
  if (two_devices) scene.platform.devices.push_back(Device{device});
  scene.costs = CostTable{scene.graph, scene.platform, Sixths{}};
  scene.plan = test::random_plan(scene.graph, seed, 1 + upto(12), rng.below(2) == 0);
  if (two_devices) {
    for (StreamSpec& stream : scene.plan.streams) stream.device = DeviceId{upto(2)};
  }
  return scene;
}

}  // namespace

TEST_CASE("exclusive sharing is equal to its rules on random plans and machines") {
  Simulator simulator;  // one for all: nothing may be left over from the run before
  std::uint64_t shared_late = 0;
  for (std::uint64_t seed = 0; seed < 1500; ++seed) {
    CAPTURE(seed);
    const Scene scene = draw(seed);
    const SimulationOptions options{.engine = EngineKind::event, .record_hosts = true};
    Trace expected;
    PlainExclusive plain;
    engine::Scratch scratch;
    PlanSource source{scene.plan};
    engine::EventEngine{scene.problem(), source, plain, scratch, options, expected}.run();
    const Trace found = simulator.run(scene.problem(), scene.plan, options);
    REQUIRE(found.tasks == expected.tasks);
    REQUIRE(found.hosts == expected.hosts);
    REQUIRE(found.makespan() == expected.makespan());
    const std::uint32_t connections = scene.platform.devices[DeviceId{0}].connections;
    if (connections != 0 && scene.plan.streams.size() > connections) ++shared_late;
  }
  CHECK(shared_late > 300);  // else no connection gets a second stream while the first one works
}

}  // namespace schedlab
