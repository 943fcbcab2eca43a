// SPDX-License-Identifier: Apache-2.0
// FluidSharing against its rules written down plainly, to the picosecond.
#include "sim/base/error.hpp"
#include "sim/base/rng.hpp"
#include "sim/engine/sharing/fluid.hpp"
#include "sim/engine/simulator.hpp"
#include "sim/engine/whole_engine.hpp"
#include "tests/sim/sharing_scene.hpp"
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
  [[nodiscard]] Estimate estimate_collective(const Operation& operation,
                                             const CollectiveSpec&,
                                             std::span<const std::uint32_t>,
                                             const Platform& platform,
                                             DeviceId kind) const override {
    const Device& device = platform.devices[kind];
    Estimate e = estimate(operation, device);
    const UnitClassId units = device.unit_class_of[static_cast<std::size_t>(operation.kind)];
    // More than fit at once would wait for each other for ever.
    const std::uint32_t count = units.valid() ? device.unit_classes[units].count : 0;
    if (count != 0) e.blocks = std::min(e.blocks, count * e.blocks_per_unit);
    return e;
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

/// A factor below 1, blocks of which more reside than run at full rate, or both.
void draw_units(Device& device, std::array<Estimate, kinds>& estimates, Rng& rng) {
  if (rng.below(2) == 0) device.co_residency_factor = 0.3 + 0.7 * rng.uniform();
  if (rng.below(3) != 0) device.sm_limits = test::volta_limits();
  for (Estimate& e : estimates) {
    if (rng.below(2) == 0) e.compute_share = static_cast<float>(rng.uniform());
    switch (rng.below(4)) {
      case 0:  // 4 reside, by their registers
        e.block = {.threads = 256, .registers = 64, .shared_memory = 0};
        break;
      case 1:  // 17, by their registers: no divisor of a unit's capacity
        e.block = {.threads = 96, .registers = 40, .shared_memory = 0};
        break;
      case 2:  // 1
        e.block = {.threads = 1024, .registers = 64, .shared_memory = 0};
        break;
      default:  // of unknown shape
        break;
    }
  }
}

Scene draw(std::uint64_t seed, bool with_residency) {
  Rng rng{seed ^ 0xF1U};
  const auto upto = [&rng](std::uint64_t n) { return static_cast<std::uint32_t>(rng.below(n)); };
  // Whole microseconds in half of the scenes: many things happen at one instant.
  const bool ties = rng.below(2) == 0;
  TaskGraphBuilder builder;
  for (std::uint32_t k = 0; k < kinds; ++k) builder.add_operation({.name = std::to_string(k)});
  // Of one rank: they hold their units from the first block on, and all blocks end together.
  // Those that have some of their units may wait for ever, for each other or for a more urgent
  // kernel that needs more capacity than is left beside them: then both say so.
  const bool with_collectives = rng.below(3) == 0;
  const OperationId collective = builder.add_operation({.name = "1", .kind = TaskKind::collective});
  const std::uint32_t tasks = 12 + upto(40);
  for (std::uint32_t i = 0; i < tasks; ++i) {
    const bool joins = with_collectives && rng.below(6) == 0;
    const TaskId task = builder.add_task(joins ? collective : OperationId{upto(kinds)});
    if (joins) {
      builder.joins(task, builder.add_collective({.op = CollectiveOp::all_reduce, .bytes = 1_MiB}));
    }
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
  if (with_residency) draw_units(device, estimates, rng);
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

/// What came of a run, or why it could not go on.
struct Outcome {
  Trace trace;
  std::string stuck;
};

/// Without the time: blocks that end unobserved are events of the rules alone.
std::string what_waits(const InfeasibleError& error) {
  const std::string text = error.what();
  return text.substr(text.find(';'));
}

Outcome run_plainly(const Problem& problem,
                    const Plan& plan,
                    const SimulationOptions& options,
                    std::uint64_t& events) {
  Outcome outcome;
  test::PlainFluid plain;
  engine::Scratch scratch;
  PlanSource source{plan};
  try {
    engine::EventEngine{problem, source, plain, scratch, options, outcome.trace}.run();
  } catch (const InfeasibleError& error) {
    outcome.stuck = what_waits(error);
  }
  events += plain.events();
  return outcome;
}

void compare_with_rules(std::uint64_t first_seed, std::uint64_t last_seed, bool with_residency) {
  Simulator simulator;  // one for all: nothing may be left over from the run before
  std::uint64_t events = 0;
  std::uint64_t tasks = 0;
  std::uint64_t collectives = 0;
  std::uint64_t slowed = 0;          // scenes in which any of it matters
  std::uint64_t oversubscribed = 0;  // at factor 1
  for (std::uint64_t seed = first_seed; seed < last_seed; ++seed) {
    CAPTURE(seed);
    const Scene scene = draw(seed, with_residency);
    const SimulationOptions options{.engine = EngineKind::event, .record_hosts = true};
    const Outcome expected = run_plainly(scene.problem(), scene.plan, options, events);
    Outcome found;
    try {
      found.trace = simulator.run(scene.problem(), scene.plan, options);
    } catch (const InfeasibleError& error) {
      found.stuck = what_waits(error);
    }
    REQUIRE(found.stuck == expected.stuck);
    if (!found.stuck.empty()) continue;
    tasks += found.trace.tasks.size();
    collectives += scene.graph.collectives().size();
    REQUIRE(found.trace.tasks == expected.trace.tasks);
    REQUIRE(found.trace.hosts == expected.trace.hosts);
    REQUIRE(found.trace.makespan() == expected.trace.makespan());
    if (!with_residency) continue;
    Scene full = scene;
    const bool at_one = scene.platform.devices[DeviceId{0}].co_residency_factor == 1.0;
    for (Device& device : full.platform.devices) {
      device.co_residency_factor = 1.0;
      device.sm_limits = {};
    }
    try {
      if (simulator.run(full.problem(), full.plan, options).tasks == found.trace.tasks) continue;
      ++slowed;
      oversubscribed += at_one ? 1U : 0U;
    } catch (const InfeasibleError&) {  // a collective that finds no capacity at other times
    }
  }
  CHECK(events > 5 * tasks);                         // else nothing is fast-forwarded
  CHECK(15 * collectives > last_seed - first_seed);  // one in 15 scenes at least
  if (!with_residency) return;
  CHECK(3 * slowed > last_seed - first_seed);
  CHECK(6 * oversubscribed > last_seed - first_seed);
}

}  // namespace

TEST_CASE("fluid sharing is equal to its rules, wave by wave, on random plans and machines") {
  compare_with_rules(0, 300, false);
}

TEST_CASE("fluid sharing is equal to its rules on more random plans and machines") {
  compare_with_rules(300, 1500, false);
}

TEST_CASE(
    "fluid sharing is equal to its rules where more blocks reside than run at full rate, or "
    "kernels "
    "that share units get less done") {
  compare_with_rules(1500, 1800, true);
}

TEST_CASE(
    "fluid sharing is equal to its rules on more machines whose units are asked for too much") {
  compare_with_rules(1800, 3000, true);
}
