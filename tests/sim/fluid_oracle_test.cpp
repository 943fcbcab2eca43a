// SPDX-License-Identifier: Apache-2.0
// FluidSharing against its rules written down plainly, to the picosecond.
#include "sim/base/rng.hpp"
#include "sim/engine/sharing/fluid.hpp"
#include "sim/engine/simulator.hpp"
#include "sim/engine/whole_engine.hpp"
#include "tests/support/plain_fluid.hpp"
#include "tests/support/random_plan.hpp"

#include <array>

using namespace schedlab;

namespace {

constexpr std::uint32_t kinds = 6;

class Drawn final : public CostModel {
 public:
  explicit Drawn(const std::array<Estimate, kinds>& estimates) : estimates_(estimates) {}
  [[nodiscard]] std::string_view name() const override { return "drawn"; }
  [[nodiscard]] Estimate estimate(const Operation& operation, const Device&) const override {
    return estimates_.at(static_cast<std::size_t>(operation.name.front() - '0'));
  }

 private:
  std::array<Estimate, kinds> estimates_;
};

/// Everything that can matter to sharing, drawn at random.
struct Scene {
  TaskGraph graph;
  Platform platform;
  CostTable costs;
  Plan plan;

  [[nodiscard]] Problem problem() const { return {graph, platform, costs}; }
};

Scene draw(std::uint64_t seed) {
  Rng rng{seed ^ 0xF1U};
  const auto upto = [&rng](std::uint64_t n) { return static_cast<std::uint32_t>(rng.below(n)); };
  // Whole microseconds in half of the scenes: many things happen at one instant.
  const bool ties = rng.below(2) == 0;
  TaskGraphBuilder builder;
  for (std::uint32_t k = 0; k < kinds; ++k) builder.add_operation({.name = std::to_string(k)});
  const std::uint32_t tasks = 12 + upto(40);
  for (std::uint32_t i = 0; i < tasks; ++i) {
    const TaskId task = builder.add_task(OperationId{upto(kinds)});
    if (i != 0 && rng.below(3) == 0) builder.add_edge(TaskId{i - 1 - upto(std::min(i, 6U))}, task);
  }
  Scene scene{.graph = std::move(builder).build(),
              .platform = test::random_platform(seed),
              .costs = {},
              .plan = {}};
  if (ties) {
    scene.platform.hosts[HostId{0}].costs = {};
    Device& device = scene.platform.devices[DeviceId{0}];
    device.launch_latency = device.stream_gap = device.event_latency = Duration{0};
  }
  scene.platform.sharing = SharingModel::fluid;
  Device& device = scene.platform.devices[DeviceId{0}];
  device.resident_kernels = rng.below(3) == 0 ? 1 + upto(4) : 0;
  if (rng.below(4) != 0) device.rates.memory = 100_GB_per_s;
  const UnitClassId sm = device.unit_classes.push_back({"sm", 1 + upto(8)});
  const UnitClassId other = device.unit_classes.push_back({"other", upto(3)});
  device.unit_class_of.fill(rng.below(6) == 0 ? other : sm);
  std::array<Estimate, kinds> estimates;
  for (Estimate& e : estimates) {
    const std::int64_t us = 1 + upto(60);
    e.duration = Duration{us * 1'000'000 + (ties ? 0 : upto(1'000'000))};
    e.blocks = rng.below(2) == 0 ? 1 + upto(12) : 1 + upto(400);
    e.blocks_per_unit = 1 + upto(4);
    e.bandwidth = static_cast<double>(upto(100)) * 1_GB_per_s;
    e.share = 1.0;
  }
  const bool two_devices = rng.below(4) == 0;
  if (two_devices) scene.platform.devices.push_back(Device{device});
  estimates[0].duration = Duration{static_cast<std::int64_t>(upto(3))};  // shorter than its waves
  scene.costs = CostTable{scene.graph, scene.platform, Drawn{estimates}};
  scene.plan = test::random_plan(scene.graph, seed, 1 + upto(12), rng.below(2) == 0);
  if (two_devices) {
    for (StreamSpec& stream : scene.plan.streams) stream.device = DeviceId{upto(2)};
  }
  return scene;
}

Trace run_plainly(const Problem& problem,
                  const Plan& plan,
                  const SimulationOptions& options,
                  std::uint64_t& events) {
  Trace trace;
  test::PlainFluid plain;
  engine::Scratch scratch;
  PlanSource source{plan};
  engine::EventEngine{problem, source, plain, scratch, options, trace}.run();
  events += plain.events();
  return trace;
}

}  // namespace

TEST_CASE("fluid sharing is equal to its rules, wave by wave, on random plans and machines") {
  Simulator simulator;  // one for all: nothing may be left over from the run before
  std::uint64_t events = 0;
  std::uint64_t tasks = 0;
  for (std::uint64_t seed = 0; seed < 1500; ++seed) {
    CAPTURE(seed);
    const Scene scene = draw(seed);
    const SimulationOptions options{.engine = EngineKind::event, .record_hosts = true};
    const Trace expected = run_plainly(scene.problem(), scene.plan, options, events);
    const Trace found = simulator.run(scene.problem(), scene.plan, options);
    tasks += found.tasks.size();
    REQUIRE(found.tasks == expected.tasks);
    REQUIRE(found.hosts == expected.hosts);
    REQUIRE(found.makespan() == expected.makespan());
  }
  CHECK(events > 5 * tasks);  // else nothing is fast-forwarded
}
