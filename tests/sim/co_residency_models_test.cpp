// SPDX-License-Identifier: Apache-2.0
// What the co-residency factor does under fluid against what it does under blocks, where it counts
// unit by unit.
#include "sim/base/rng.hpp"
#include "sim/machine/occupancy.hpp"
#include "tests/sim/sharing_scene.hpp"

#include <doctest/doctest.h>
#include <fmt/format.h>

#include <cmath>

using namespace schedlab;
using namespace schedlab::literals;

namespace {

constexpr std::uint32_t units = 80;

/// What random kernels have in common.
enum class Blocks : std::uint8_t {
  several_a_unit,      ///< 1 to 4 fill a unit; shapes unknown
  one_a_unit,          ///< one is at full rate, as many reside as their shapes allow
  as_many_as_reside,   ///< at full rate
  short_of_bandwidth,  ///< as several_a_unit; they use a part of their unit, and want bandwidth
};

struct RandomScene {
  Platform platform = ideal_platform(2);
  TaskGraph graph;
  Plan plan;
  std::map<std::string, Estimate> estimates;

  RandomScene(std::uint64_t seed, Blocks kind) {
    Rng rng{seed * 977 + 5};
    Device& device = platform.devices[DeviceId{0}];
    device.unit_class_of.fill(device.unit_classes.push_back({"sm", units}));
    device.sm_limits = test::volta_limits();
    if (kind == Blocks::short_of_bandwidth) device.rates.memory = 100_GB_per_s;
    constexpr std::uint32_t operations = 8;
    constexpr std::uint32_t tasks = 40;
    TaskGraphBuilder builder;
    for (std::uint32_t i = 0; i < operations; ++i) {
      estimates[std::to_string(i)] = draw(rng, kind, device.sm_limits);
      builder.add_operation({.name = std::to_string(i)});
    }
    const auto streams = static_cast<std::uint32_t>(2 + rng.below(4));
    for (std::uint32_t i = 0; i < streams; ++i) {
      plan.streams.push_back({.device = DeviceId{0}, .priority = -static_cast<int>(rng.below(2))});
    }
    for (std::uint32_t i = 0; i < tasks; ++i) {
      const TaskId task =
          builder.add_task(OperationId{static_cast<std::uint32_t>(rng.below(operations))});
      const StreamId stream{static_cast<std::uint32_t>(rng.below(streams))};
      plan.hosts[HostId{0}].calls.push_back(HostCall::launch(stream, task));
    }
    graph = std::move(builder).build();
  }
  double makespan(SharingModel sharing, double factor) {
    platform.sharing = sharing;
    platform.devices[DeviceId{0}].co_residency_factor = factor;
    const CostTable costs{graph, platform, test::GivenEstimates{estimates}};
    return to_us(simulate({graph, platform, costs}, plan).makespan());
  }

 private:
  static Estimate draw(Rng& rng, Blocks kind, const SmLimits& limits) {
    const auto upto = [&rng](std::uint64_t n) { return static_cast<std::uint32_t>(rng.below(n)); };
    Estimate e;
    e.duration = 5us + Duration{static_cast<std::int64_t>(rng.below(50'000'000))};
    e.blocks = 1 + upto(rng.below(4) == 0 ? 6 * units : 3 * units / 2);
    if (kind == Blocks::one_a_unit || kind == Blocks::as_many_as_reside) {
      e.block = rng.below(2) == 0 ? BlockShape{64, 128, 8192} : BlockShape{256, 128, 16384};
      if (kind == Blocks::as_many_as_reside) e.blocks_per_unit = occupancy(e.block, limits).blocks;
      return e;
    }
    e.blocks_per_unit = 1 + upto(4);
    if (kind == Blocks::short_of_bandwidth) {
      e.compute_share = static_cast<float>(rng.uniform());
      e.bandwidth = Bandwidth{rng.uniform() * 100e9};
    }
    return e;
  }
};

struct Spread {
  double median = 0;
  double worst = 0;
};
Spread spread(std::vector<double> values) {
  std::sort(values.begin(), values.end());
  return {.median = values[values.size() / 2], .worst = values.back()};
}

}  // namespace

TEST_CASE("the co-residency factor under fluid is near that under blocks") {
  struct Row {
    Blocks kind;
    const char* name;
  };
  std::string table =
      "\nblocks, factor: longer in blocks; fluid from blocks, median and worst: "
      "factor ignored; as it is\n";
  std::vector<double> all_ignored;
  std::vector<double> all_now;
  for (const Row& row : {Row{Blocks::several_a_unit, "several_a_unit"},
                         Row{Blocks::one_a_unit, "one_a_unit"},
                         Row{Blocks::as_many_as_reside, "as_many_as_reside"},
                         Row{Blocks::short_of_bandwidth, "short_of_bandwidth"}}) {
    double at_one = 0;
    for (const double factor : {1.0, 0.9, 0.8}) {
      std::vector<double> ignored;
      std::vector<double> now;
      std::vector<double> longer;
      for (std::uint64_t seed = 0; seed < 100; ++seed) {
        RandomScene scene{seed, row.kind};
        const double blocks = scene.makespan(SharingModel::blocks, factor);
        longer.push_back(blocks / scene.makespan(SharingModel::blocks, 1.0) - 1);
        ignored.push_back(std::abs(scene.makespan(SharingModel::fluid, 1.0) / blocks - 1));
        now.push_back(std::abs(scene.makespan(SharingModel::fluid, factor) / blocks - 1));
      }
      const Spread before = spread(ignored);
      const Spread after = spread(now);
      table += fmt::format("{:18} {:.1f}: {:4.1f} %; {:4.1f} %, {:4.1f} %; {:4.1f} %, {:4.1f} %\n",
                           row.name,
                           factor,
                           100 * spread(longer).median,
                           100 * before.median,
                           100 * before.worst,
                           100 * after.median,
                           100 * after.worst);
      if (factor == 1.0) {
        at_one = after.median;
        continue;
      }
      all_ignored.insert(all_ignored.end(), ignored.begin(), ignored.end());
      all_now.insert(all_now.end(), now.begin(), now.end());
      CHECK(after.median <= before.median);
      CHECK(after.median <= at_one + 0.01);  // the factor adds nothing to how far fluid is anyway
    }
  }
  table += fmt::format(
      "factors 0.9 and 0.8: median {:.1f} %, worst {:.1f} %; median {:.1f} %, "
      "worst {:.1f} %",
      100 * spread(all_ignored).median,
      100 * spread(all_ignored).worst,
      100 * spread(all_now).median,
      100 * spread(all_now).worst);
  MESSAGE(table);
  CHECK(spread(all_ignored).median > 0.05);  // else there was nothing to come nearer to
  CHECK(spread(all_now).median <= 0.035);
  CHECK(spread(all_now).worst <= spread(all_ignored).worst - 0.05);
}
