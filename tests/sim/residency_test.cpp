// SPDX-License-Identifier: Apache-2.0
// More blocks on a unit than it runs at full rate, under fluid sharing.
#include "sim/machine/residency.hpp"

#include "sim/base/rng.hpp"
#include "sim/trace/lower_bounds.hpp"
#include "tests/sim/sharing_scene.hpp"
#include "tests/support/random_plan.hpp"

#include <doctest/doctest.h>

using namespace schedlab;
using namespace schedlab::literals;
using test::grid;
using test::SharingScene;

namespace {

/// Of 256 threads with 128 registers, two to a unit of a V100; one runs at full rate.
constexpr BlockShape tile{256, 128, 16384};
constexpr std::int64_t one = unit_throughput;

Estimate tiles(Duration duration, std::uint32_t blocks) {
  Estimate e = grid(duration, blocks);
  e.block = tile;
  return e;
}

SharingScene volta(std::uint32_t units, SharingModel sharing = SharingModel::fluid) {
  SharingScene s{sharing, units};
  s.device().sm_limits = test::volta_limits();
  return s;
}

Time at(Duration d) {
  return Time{d};
}

/// Kernels of known and unknown shapes, few of them at full rate.
struct RandomScene {
  Platform platform;
  TaskGraph graph;
  Plan plan;
  CostTable costs;

  explicit RandomScene(std::uint64_t seed) : platform(test::random_platform(seed)) {
    Rng rng{seed + 3};
    platform.sharing = SharingModel::fluid;
    Device& device = platform.devices[DeviceId{0}];
    device.unit_class_of.fill(
        device.unit_classes.push_back({"sm", static_cast<std::uint32_t>(1 + rng.below(12))}));
    device.sm_limits = test::volta_limits();
    TaskGraphBuilder builder;
    std::map<std::string, Estimate> estimates;
    for (int i = 0; i < 6; ++i) {
      Estimate e = grid(Duration{static_cast<std::int64_t>(1'000'000 + rng.below(30'000'000))},
                        static_cast<std::uint32_t>(1 + rng.below(60)),
                        static_cast<std::uint32_t>(1 + rng.below(3)));
      if (rng.below(3) != 0) {
        e.block = {static_cast<std::uint16_t>(32 * (1 + rng.below(16))),
                   static_cast<std::uint16_t>(rng.below(120)),
                   0};
      }
      e.compute_share = static_cast<float>(0.3 + 0.7 * rng.uniform());
      const OperationId operation = builder.add_operation({.name = std::to_string(i)});
      estimates[std::to_string(i)] = e;
      for (int k = 0; k < 5; ++k) builder.add_task(operation);
    }
    graph = std::move(builder).build();
    plan = test::random_plan(graph, seed, 5, true);
    costs = CostTable{graph, platform, test::GivenEstimates{estimates}};
  }
  [[nodiscard]] Problem problem() const { return {graph, platform, costs}; }
};

}  // namespace

TEST_CASE("as many blocks reside as their shape allows, whatever runs at full rate") {
  const SmLimits limits = test::volta_limits();
  const Residency two = residency(tiles(10us, 1), limits);
  CHECK(two.residents == 2);
  CHECK(two.throughput == one);
  CHECK(two.oversubscribes());
  // Four at full rate cannot be, where two reside.
  Estimate four = tiles(10us, 1);
  four.blocks_per_unit = 4;
  CHECK(residency(four, limits).residents == 2);
  CHECK(residency(four, limits).throughput == one / 2);
  CHECK_FALSE(residency(four, limits).oversubscribes());
  // Of no known shape, or on a unit of no known limits: those at full rate.
  CHECK(residency(grid(10us, 1, 4), limits).residents == 4);
  CHECK(residency(grid(10us, 1, 4), limits).throughput == one / 4);
  CHECK(residency(tiles(10us, 1), SmLimits{}).residents == 1);
  // Blocks that use half of their part of a unit leave capacity for as many others.
  Estimate half = tiles(10us, 1);
  half.compute_share = 0.5F;
  CHECK(residency(half, limits).throughput == one / 2);
  CHECK_FALSE(residency(half, limits).oversubscribes());
}

TEST_CASE("the fullest unit has whole blocks of average want, and no more than can reside") {
  CHECK(on_fullest_unit(80, 80 * one, 80, 2 * one) == one);
  CHECK(on_fullest_unit(81, 81 * one, 80, 2 * one) == 2 * one);
  CHECK(on_fullest_unit(160, 160 * one, 80, 2 * one) == 2 * one);
  CHECK(on_fullest_unit(3, 0, 80, 2 * one) == 0);
  // Five halves on 2 units: three on one.
  CHECK(on_fullest_unit(5, 5 * one / 2, 2, 4 * one) == 3 * one / 2);
  // A whole one and two quarters on 2 units: two blocks of 1/2 on one.
  CHECK(on_fullest_unit(3, 3 * one / 2, 2, 4 * one) == one);
  // Where that is more than can reside, what can reside counts.
  CHECK(on_fullest_unit(3, 3 * 7 * one / 10, 2, one) == one);
}

TEST_CASE("a kernel alone takes its waves, each as long as the fullest unit makes it") {
  const Residency two{.residents = 2, .throughput = one};
  // 256 tiles on 80 units: 160 two by two, then 96, also two on the fullest.
  CHECK(waves_alone(two, 256, 80).wave == 160);
  CHECK(waves_alone(two, 256, 80).first == 2 * one);
  CHECK(waves_alone(two, 256, 80).whole == 4 * one);
  CHECK(waves_alone(two, 240, 80).whole == 3 * one);
  CHECK(waves_alone(two, 81, 80).whole == 2 * one);
  CHECK(waves_alone(two, 80, 80).whole == one);
  // None wants more than there is: waves of as many as reside.
  const Residency quarter{.residents = 4, .throughput = one / 4};
  CHECK(waves_alone(quarter, 8 * 4 + 1, 8).whole == 2 * one);
}

TEST_CASE("fluid: two kernels of tiles that fill most of the units each last twice as long") {
  // As under blocks: of 64 blocks each on 80 units 48 are two on a unit, and end last.
  for (const SharingModel sharing : {SharingModel::fluid, SharingModel::blocks}) {
    SharingScene s = volta(80, sharing);
    s.kernel("a", tiles(10us, 64));
    s.kernel("b", tiles(10us, 64));
    const Trace trace = s.run();
    CHECK(trace.tasks[0].ended == at(20us));
    CHECK(trace.tasks[1].ended == at(20us));
  }
}

TEST_CASE("fluid: kernels of tiles that find units of their own do not slow each other down") {
  SharingScene s = volta(80);
  s.kernel("a", tiles(10us, 64));
  s.kernel("b", tiles(10us, 16));
  const Trace trace = s.run();
  CHECK(trace.tasks[0].ended == at(10us));
  CHECK(trace.tasks[1].ended == at(10us));
}

TEST_CASE("fluid: a block that resides takes its part of the capacity, however slow it is") {
  // 2 units with capacity for 4 tiles. a's 4 fill it for 20 us, two on a unit; b's 2 blocks start
  // when they end and have a unit each.
  SharingScene s = volta(2);
  s.kernel("a", tiles(20us, 4));
  s.kernel("b", tiles(10us, 2));
  const Trace trace = s.run();
  CHECK(trace.tasks[0].ended == at(20us));
  CHECK(trace.tasks[1].started == at(20us));
  CHECK(trace.tasks[1].ended == at(30us));
}

TEST_CASE(
    "fluid: an urgent kernel waits for blocks that reside, and then shares units with others") {
  // 2 units, 4 tiles reside, two waves of 20 us each. At 5 us comes `urgent`; its 2 blocks take
  // capacity of the first that end, at 20, beside 2 of the others, and all four run at half rate.
  SharingScene s = volta(2);
  s.kernel("long", tiles(40us, 8), 0);
  s.kernel("urgent", tiles(10us, 2), -1, 5);
  const Trace trace = s.run();
  const TaskSpan& urgent = trace.tasks[0].task == TaskId{1} ? trace.tasks[0] : trace.tasks[1];
  CHECK(urgent.started == at(20us));
  CHECK(urgent.ended == at(40us));
}

TEST_CASE("fluid: a kernel alone lasts what its cost says, rounded up by picoseconds a wave") {
  Rng rng{5};
  for (int round = 0; round < 2000; ++round) {
    CAPTURE(round);
    SharingScene s = volta(static_cast<std::uint32_t>(1 + rng.below(130)));
    s.device().co_residency_factor = rng.below(2) == 0 ? 0.9 : 1.0;
    s.device().rates.memory = 100_GB_per_s;
    Estimate e = grid(Duration{static_cast<std::int64_t>(1 + rng.below(200'000'000))},
                      static_cast<std::uint32_t>(1 + rng.below(2000)),
                      static_cast<std::uint32_t>(1 + rng.below(8)));
    e.compute_share = static_cast<float>(rng.uniform());
    e.bandwidth = Bandwidth{rng.uniform() * 100e9};
    if (rng.below(3) != 0) {
      e.block = {static_cast<std::uint16_t>(1 + rng.below(512)),
                 static_cast<std::uint16_t>(rng.below(120)),
                 static_cast<std::uint32_t>(rng.below(48 * 1024))};
    }
    s.kernel("k", e);
    const Duration took = s.run().makespan();
    CHECK(took >= e.duration);
    // A block's time is rounded up to a picosecond, a wave lasts at most 32 of these.
    const Residency r = residency(e, s.device().sm_limits);
    const auto units = s.device().unit_classes[UnitClassId{0}].count;
    const std::int64_t block_times = waves_alone(r, e.blocks, units).whole / one + 1;
    CHECK(took <= e.duration + Duration{3 * block_times});
  }
}

TEST_CASE("fluid: no run beats its lower bounds where more blocks reside than run at full rate") {
  double closest = 0;
  for (std::uint64_t seed = 0; seed < 300; ++seed) {
    CAPTURE(seed);
    const RandomScene scene{seed};
    const Duration bound = graph_lower_bounds(scene.problem()).largest();
    const Duration took = simulate(scene.problem(), scene.plan).makespan();
    CHECK(took >= bound);
    closest = std::max(closest, to_us(bound) / to_us(took));
  }
  CHECK(closest > 0.8);  // else it says nothing
}
