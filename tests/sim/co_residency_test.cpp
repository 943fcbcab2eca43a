// SPDX-License-Identifier: Apache-2.0
// The co-residency factor under fluid sharing.
#include "sim/base/ceil_div.hpp"
#include "sim/base/rng.hpp"
#include "sim/engine/sharing/device_share.hpp"
#include "tests/sim/sharing_scene.hpp"
#include "tests/support/random_plan.hpp"

#include <doctest/doctest.h>

#include <array>

using namespace schedlab;
using namespace schedlab::literals;
using test::grid;
using test::SharingScene;

namespace {

SharingScene scene_with(double factor,
                        std::uint32_t units,
                        SharingModel sharing = SharingModel::fluid) {
  SharingScene s{sharing, units};
  s.device().co_residency_factor = factor;
  return s;
}

/// Work done at `there_is` of `wanted` of the throughput, both in 2^-20.
Duration slowed(Duration work, std::int64_t there_is, std::int64_t wanted = 1 << 20) {
  return Duration{ceil_div(work.count() * wanted, there_is)};
}
constexpr std::int64_t four_fifths = 838860;  // 0.8 * 2^20, rounded down

Time at(Duration d) {
  return Time{d};
}

/// Kernels on units of one class, all running.
struct CoRunScene {
  Device device;
  std::vector<fluid::Kernel> kernels;
  std::vector<fluid::UnitNeed> needs;
  fluid::CoResidentShare share;

  explicit CoRunScene(Rng& rng) {
    device.unit_classes.push_back({"sm", static_cast<std::uint32_t>(4 + rng.below(100))});
    device.co_residency_factor = 0.3 + 0.6 * rng.uniform();
    share.reset(device, {});
    double capacity = device.unit_classes[UnitClassId{0}].count;
    for (std::uint32_t i = 0; i < 1 + rng.below(8); ++i) {
      const auto per_unit = static_cast<std::uint32_t>(1 + rng.below(4));
      const auto blocks = static_cast<std::uint32_t>(capacity * rng.uniform() * per_unit);
      if (blocks == 0) continue;
      capacity -= static_cast<double>(blocks) / per_unit;
      fluid::Kernel& kernel = kernels.emplace_back();
      kernel.blocks_running = blocks;
      kernel.block_demand = rng.below(fluid::whole_bandwidth / blocks);
      const double part = 0.5 + 0.5 * rng.uniform();
      needs.push_back({.unit_class = 0,
                       .residency = {.residents = per_unit,
                                     .throughput = static_cast<std::uint32_t>(
                                         part * unit_throughput / per_unit)}});
    }
    for (std::uint32_t i = 0; i < kernels.size(); ++i) {
      share.describe(i, needs[i]);
      share.update_demand(i, kernels, 0);
    }
    fluid::CollectiveBandwidth none;
    share.share(kernels, none, 0);
  }
};

/// Many kernels, each of whose blocks takes a whole unit, some short of bandwidth.
struct WholeUnits {
  Platform platform;
  TaskGraph graph;
  std::map<std::string, Estimate> estimates;

  WholeUnits(Rng& rng, std::uint64_t seed) : platform(test::random_platform(seed)) {
    platform.sharing = SharingModel::fluid;
    Device& device = platform.devices[DeviceId{0}];
    device.unit_class_of.fill(
        device.unit_classes.push_back({"sm", static_cast<std::uint32_t>(1 + rng.below(7))}));
    device.rates.memory = 100_GB_per_s;
    TaskGraphBuilder builder;
    for (int i = 0; i < 6; ++i) {
      const std::string name = std::to_string(i);
      Estimate e = grid(Duration{static_cast<std::int64_t>(1'000'000 + rng.below(30'000'000))},
                        static_cast<std::uint32_t>(1 + rng.below(20)));
      e.bandwidth = Bandwidth{rng.uniform() * 100e9};
      estimates[name] = e;
      const OperationId operation = builder.add_operation({.name = name});
      for (int k = 0; k < 6; ++k) builder.add_task(operation);
    }
    graph = std::move(builder).build();
  }
};

}  // namespace

TEST_CASE("a kernel that has ended leaves no demand to the next in its place") {
  // Which may run on a device that counts demands without CoResidentShare.
  Rng rng{3};
  for (int round = 0; round < 100; ++round) {
    CoRunScene scene{rng};
    for (std::uint32_t i = 0; i < scene.kernels.size(); ++i) {
      fluid::Kernel& kernel = scene.kernels[i];
      kernel.blocks_running = 0;
      scene.share.update_demand(i, scene.kernels, 10);
      CHECK(kernel.demand == 0);
      CHECK_FALSE(kernel.slowed);
    }
  }
}

TEST_CASE("fluid: kernels on the same units get done the co-residency factor, until one is alone") {
  // 2 units; each kernel's 2 blocks take half of one each, so together they fill both. At 0.8 the
  // first ends after 10 / 0.8 us; the second has done as much and goes on alone: 10 us more.
  SharingScene s = scene_with(0.8, 2);
  s.kernel("a", grid(10us, 2, 2));
  s.kernel("b", grid(20us, 2, 2));
  const Trace trace = s.run();
  CHECK(trace.tasks[0].ended == at(slowed(10us, four_fifths)));
  CHECK(trace.tasks[1].ended == at(slowed(10us, four_fifths) + 10us));
}

TEST_CASE("fluid: where all units are shared alike the factor is that of blocks") {
  for (const SharingModel sharing : {SharingModel::fluid, SharingModel::blocks}) {
    SharingScene s = scene_with(0.8, 2, sharing);
    s.kernel("a", grid(10us, 2, 2));
    s.kernel("b", grid(10us, 2, 2));
    const Duration took = s.run().makespan();
    CHECK(took >= slowed(10us, four_fifths));
    CHECK(took <= slowed(10us, four_fifths) + 2_ps);  // each rounds rates down
  }
}

TEST_CASE("fluid: blocks that take whole units do not share them") {
  // 4 units: two of `whole`, one each of a and b, whose 2 blocks take half of one each. `whole`
  // is not slowed down and leaves 2 units, which a and b fill for as long as it runs.
  SharingScene s = scene_with(0.8, 4);
  s.kernel("whole", grid(13us, 2, 1));
  s.kernel("a", grid(10us, 2, 2));
  s.kernel("b", grid(10us, 2, 2));
  const Trace trace = s.run();
  CHECK(trace.tasks[0].ended == at(13us));
  CHECK(trace.tasks[1].ended == at(slowed(10us, four_fifths)));
  CHECK(trace.tasks[2].ended == at(slowed(10us, four_fifths)));
}

TEST_CASE("fluid: a block that is one of several resident ones shares its unit, by its shape") {
  // One block a unit at full rate, 2 of 4 units each: of the shape of either 8 would reside.
  SharingScene s = scene_with(0.8, 4);
  s.device().sm_limits = test::volta_limits();
  Estimate e = grid(10us, 2);
  e.block = {256, 32, 0};
  s.kernel("a", e);
  s.kernel("b", e);
  CHECK(s.run().makespan() == slowed(10us, four_fifths));
}

TEST_CASE("fluid: throughput that kernels leave unused makes up for the factor") {
  // All 2 units' capacity is taken. Blocks that use 0.75 of it leave less than 0.8: none is slowed
  // down. Blocks that use 0.9 (of half a unit, 471859 of 2^20) progress at 0.8 / 0.9.
  for (const float compute_share : {0.75F, 0.9F}) {
    SharingScene s = scene_with(0.8, 2);
    Estimate e = grid(10us, 2, 2);
    e.compute_share = compute_share;
    s.kernel("a", e);
    s.kernel("b", e);
    CHECK(s.run().makespan() ==
          (compute_share < 0.8F ? 10us : slowed(10us, four_fifths, std::int64_t{2} * 471859)));
  }
}

TEST_CASE("fluid: a kernel slowed down by its units wants as much less bandwidth") {
  // 3 units, 100 GB/s; all want 40. a and b fill two units at factor 0.5, so they want 20 each and
  // none is short: they end at 20 us, `whole` at 30. At factor 1 each gets a third, 5/6 of what
  // it wants: 12 us, by when `whole` has done 10 of 30 and goes on alone: 32.
  for (const bool half : {true, false}) {
    CAPTURE(half);
    SharingScene s = scene_with(half ? 0.5 : 1.0, 3);
    s.device().rates.memory = 100_GB_per_s;
    Estimate whole = grid(30us, 1);
    Estimate part = grid(10us, 2, 2);
    whole.bandwidth = part.bandwidth = 40_GB_per_s;
    s.kernel("whole", whole);
    s.kernel("a", part);
    s.kernel("b", part);
    const Trace trace = s.run();
    const auto near = [](Time time, Duration expected) {  // demands are rounded down
      return time <= at(expected) && time > at(expected - 100_ps);
    };
    CHECK(near(trace.tasks[0].ended, half ? 30us : 32us));
    CHECK(near(trace.tasks[1].ended, half ? 20us : 12us));
    CHECK(near(trace.tasks[2].ended, half ? 20us : 12us));
  }
}

TEST_CASE("fluid: a kernel alone lasts what its cost says, whatever the factor") {
  Rng rng{31};
  for (int round = 0; round < 500; ++round) {
    CAPTURE(round);
    const auto units = static_cast<std::uint32_t>(1 + rng.below(130));
    Estimate e = grid(Duration{static_cast<std::int64_t>(1 + rng.below(200'000'000))},
                      static_cast<std::uint32_t>(1 + rng.below(2000)),
                      static_cast<std::uint32_t>(1 + rng.below(8)));
    e.bandwidth = Bandwidth{rng.uniform() * 100e9};
    std::array<Duration, 2> ends{};
    for (const std::size_t slow : {0U, 1U}) {
      SharingScene s = scene_with(slow != 0 ? 0.5 : 1.0, units);
      s.device().rates.memory = 100_GB_per_s;
      s.kernel("k", e);
      ends[slow] = s.run().makespan();
    }
    CHECK(ends[1] == ends[0]);
    CHECK(ends[0] >= e.duration);
  }
}

TEST_CASE("fluid: where every block takes a whole unit the factor changes nothing") {
  // Two ways to share bandwidth, with the factor and without, that must agree to the picosecond.
  for (std::uint64_t seed = 0; seed < 150; ++seed) {
    CAPTURE(seed);
    Rng rng{seed * 131 + 7};
    WholeUnits scene{rng, seed};
    const Plan plan = test::random_plan(scene.graph, seed, 5, true);
    const CostTable costs{scene.graph, scene.platform, test::GivenEstimates{scene.estimates}};
    const Trace without = simulate({scene.graph, scene.platform, costs}, plan);
    scene.platform.devices[DeviceId{0}].co_residency_factor = 0.5;
    CHECK(simulate({scene.graph, scene.platform, costs}, plan) == without);
  }
}

TEST_CASE(
    "fluid: of kernels that run side by side from the start none ends sooner when units get "
    "less done") {
  // With others that wait for capacity, or short of bandwidth, a slower kernel may well speed up
  // another; of those that all fit and want units alone each can only lose.
  for (std::uint64_t seed = 0; seed < 200; ++seed) {
    CAPTURE(seed);
    std::vector<Time> before;
    for (const double factor : {1.0, 0.9, 0.7, 0.5}) {
      Rng rng{seed * 17 + 3};
      SharingScene s = scene_with(factor, 40);
      for (const char* const name : {"a", "b", "c"}) {
        s.kernel(name,
                 grid(Duration{static_cast<std::int64_t>(1 + rng.below(50'000'000))},
                      static_cast<std::uint32_t>(1 + rng.below(26)),
                      static_cast<std::uint32_t>(2 + rng.below(3))));
      }
      const Trace trace = s.run();
      for (std::size_t i = 0; i < 3; ++i) {
        if (before.size() == 3) CHECK(trace.tasks[i].ended >= before[i]);
      }
      before = {trace.tasks[0].ended, trace.tasks[1].ended, trace.tasks[2].ended};
    }
  }
}

TEST_CASE("fluid: units and memory do no more than there is, and no block is slowed for nothing") {
  constexpr std::int64_t span = 1'000'000'000;
  std::uint32_t slowed_by_units = 0;
  std::uint32_t slowed_by_bandwidth = 0;
  for (std::uint64_t seed = 0; seed < 500; ++seed) {
    CAPTURE(seed);
    Rng rng{seed + 99};
    const CoRunScene c{rng};
    double moved = 0;   // of the bandwidth, times span
    double worked = 0;  // of what units get done that kernels may share
    double wanted = 0;
    double units = c.device.unit_classes[UnitClassId{0}].count;
    std::uint32_t sharing = 0;
    bool a_kernel_is_slow = false;
    for (std::size_t i = 0; i < c.kernels.size(); ++i) {
      bool ticked = false;
      const auto own = static_cast<double>(c.share.own_time(c.kernels[i], span, ticked));
      CHECK(own <= span);
      a_kernel_is_slow = a_kernel_is_slow || own < span - 1;
      const double blocks = c.kernels[i].blocks_running;
      moved += static_cast<double>(c.kernels[i].block_demand) * blocks * own;
      if (!c.needs[i].co_resides()) {
        units -= blocks;
        continue;
      }
      ++sharing;
      wanted += c.needs[i].residency.throughput * blocks;
      worked += c.needs[i].residency.throughput * blocks * own;
    }
    const double bandwidth = static_cast<double>(fluid::whole_bandwidth) * span;
    const double there_is = units * c.device.co_residency_factor * unit_throughput * span;
    // What each wants at the rate its units allow is rounded down to 2^-32 of all.
    CHECK(moved <= bandwidth + span * static_cast<double>(c.kernels.size()));
    if (sharing > 1) CHECK(worked <= there_is * (1 + 1e-12));
    const bool too_few_units = sharing > 1 && wanted * span > there_is;
    const bool too_little_bandwidth = moved > bandwidth * (1 - 1e-6);
    if (a_kernel_is_slow) CHECK((too_few_units || too_little_bandwidth));
    // Units that nothing else holds up are worked to the last.
    if (too_few_units && !too_little_bandwidth) {
      ++slowed_by_units;
      CHECK(worked >= there_is * (1 - 1e-5));
    }
    slowed_by_bandwidth += too_little_bandwidth ? 1U : 0U;
  }
  CHECK(slowed_by_units > 30);  // else this shows nothing
  CHECK(slowed_by_bandwidth > 30);
}

TEST_CASE("fluid: at factor 1 no kernel minds units that run all blocks that reside") {
  Device device;
  fluid::DeviceShare share;
  share.reset(device, {}, false);
  CHECK_FALSE(share.minds_units());
  CHECK_FALSE(share.saturated());
  share.reset(device, {}, true);
  CHECK(share.minds_units());
  CHECK(share.saturated());
  share.reset(device, {}, false);  // the same engine, another machine
  CHECK_FALSE(share.minds_units());
  device.co_residency_factor = 0.9;
  share.reset(device, {}, false);
  CHECK(share.minds_units());
  CHECK(share.saturated());
  device.co_residency_factor = 1.0;
  share.reset(device, {}, false);
  CHECK_FALSE(share.minds_units());
}
