// SPDX-License-Identifier: Apache-2.0
// What must hold of blocks sharing for any kernels, checked from the log of placements.
#include "sim/base/rng.hpp"
#include "sim/engine/sharing/blocks.hpp"
#include "sim/trace/lower_bounds.hpp"
#include "tests/sim/sharing_scene.hpp"
#include "tests/support/random_plan.hpp"

#include <cmath>
#include <numeric>

using namespace schedlab;
using namespace schedlab::literals;

namespace {

constexpr std::uint32_t operation_count = 12;

/// Kernels of all sorts on a device of `units` units: shapes known and unknown, one wave and many.
struct RandomScene {
  Platform platform;
  TaskGraph graph;
  Plan plan;
  std::map<std::string, Estimate> estimates;
  CostTable costs;

  RandomScene(std::uint64_t seed, bool all_busy) : platform(test::random_platform(seed)) {
    Rng rng{seed * 977 + 5};
    Device& device = platform.devices[DeviceId{0}];
    platform.sharing = SharingModel::blocks;
    device.unit_class_of.fill(
        device.unit_classes.push_back({"sm", static_cast<std::uint32_t>(1 + rng.below(7))}));
    device.sm_limits = test::volta_limits();
    if (rng.below(3) == 0) device.resident_kernels = static_cast<std::uint32_t>(2 + rng.below(4));
    if (!all_busy && rng.below(2) == 0) device.rates.memory = 100_GB_per_s;
    if (!all_busy && rng.below(2) == 0) device.co_residency_factor = 0.85;
    make_graph(rng, all_busy);
    plan = test::random_plan(graph, seed, 6, true);
    for (StreamSpec& stream : plan.streams) stream.priority = -static_cast<int>(rng.below(3));
    costs = CostTable{graph, platform, test::GivenEstimates{estimates}};
  }
  [[nodiscard]] Problem problem() const { return {graph, platform, costs}; }
  [[nodiscard]] const Device& device() const { return platform.devices[DeviceId{0}]; }

 private:
  // all_busy: every block wants the whole unit it runs on, and no bandwidth.
  static Estimate estimate(Rng& rng, bool all_busy) {
    Estimate e;
    e.duration = Duration{static_cast<std::int64_t>(1'000'000 + rng.below(50'000'000))};
    e.blocks = static_cast<std::uint32_t>(1 + rng.below(rng.below(4) == 0 ? 200 : 12));
    if (!all_busy) {
      e.blocks_per_unit = static_cast<std::uint32_t>(1 + rng.below(4));
      e.compute_share = static_cast<float>(rng.uniform());
      e.bandwidth = Bandwidth{rng.uniform() * 150e9};
    }
    if (all_busy || rng.below(2) == 0) {
      e.block = {static_cast<std::uint16_t>(32 + rng.below(700)),
                 static_cast<std::uint16_t>(rng.below(80)),
                 static_cast<std::uint32_t>(rng.below(40 * 1024))};
    }
    return e;
  }
  void make_graph(Rng& rng, bool all_busy) {
    TaskGraphBuilder builder;
    for (std::uint32_t i = 0; i < operation_count; ++i) {
      const std::string name = "k" + std::to_string(i);
      estimates[name] = estimate(rng, all_busy);
      builder.add_operation({.name = name});
    }
    constexpr std::uint32_t tasks = 60;
    for (std::uint32_t i = 0; i < tasks; ++i) {
      builder.add_task(OperationId{static_cast<std::uint32_t>(rng.below(operation_count))});
    }
    for (std::uint32_t to = 1; to < tasks; ++to) {
      if (rng.below(2) == 0) {
        builder.add_edge(TaskId{static_cast<std::uint32_t>(rng.below(to))}, TaskId{to});
      }
    }
    graph = std::move(builder).build();
  }
};

struct Run {
  Trace trace;
  std::vector<BlockPlacement> log;
};
Run run(const RandomScene& scene) {
  Run result;
  result.trace = simulate(scene.problem(), scene.plan, {.placements = &result.log});
  return result;
}

UnitResources need_of(const Estimate& e, const SmLimits& limits) {
  return e.block.threads != 0 ? block_resources(e.block, limits)
                              : part_of_unit(e.blocks_per_unit, limits);
}

bool fits(const UnitResources& free) {
  return free.slots >= 0 && free.warps >= 0 && free.blocks >= 0 && free.registers >= 0 &&
         free.shared_memory >= 0;
}

}  // namespace

TEST_CASE("blocks: on no unit and at no time is more taken than there is, and all is given back") {
  for (std::uint64_t seed = 0; seed < 150; ++seed) {
    CAPTURE(seed);
    const RandomScene scene{seed, false};
    const Run result = run(scene);
    const SmLimits& limits = scene.device().sm_limits;
    std::vector<UnitResources> free(scene.device().unit_classes[UnitClassId{0}].count,
                                    unit_resources(limits));
    bool respected = true;
    bool in_order = true;
    Time last{};
    for (const BlockPlacement& p : result.log) {
      free[p.unit].take(need_of(scene.costs.entry(p.task).estimate, limits), p.blocks);
      respected = respected && fits(free[p.unit]);
      in_order = in_order && p.at >= last;
      last = p.at;
    }
    CHECK(respected);
    CHECK(in_order);
    for (const UnitResources& unit : free) CHECK(unit == unit_resources(limits));
  }
}

TEST_CASE("blocks: every block is placed once and ends once, within its task's span") {
  for (std::uint64_t seed = 0; seed < 100; ++seed) {
    CAPTURE(seed);
    const RandomScene scene{seed, false};
    const Run result = run(scene);
    for (const TaskSpan& span : result.trace.tasks) {
      std::int64_t placed = 0;
      std::int64_t ended = 0;
      Time first = Time::max();
      Time last{};
      for (const BlockPlacement& p : result.log) {
        if (p.task != span.task) continue;
        (p.blocks > 0 ? placed : ended) += std::abs(p.blocks);
        first = std::min(first, p.at);
        last = std::max(last, p.at);
      }
      CHECK(placed == scene.costs.entry(span.task).estimate.blocks);
      CHECK(ended == placed);
      CHECK(first == span.started);
      CHECK(last == span.ended);
    }
  }
}

TEST_CASE("blocks: work is conserved: a unit is busy for the work of the blocks it got, no less") {
  // Every block wants its whole unit, so a unit with blocks on it works at its full throughput
  // however many they are. Alone the kernel is as long as its fullest unit, ceil(blocks / units)
  // blocks, so that is the time of one. Each change of rate may cost a picosecond.
  for (std::uint64_t seed = 0; seed < 100; ++seed) {
    CAPTURE(seed);
    const RandomScene scene{seed, true};
    const Run result = run(scene);
    const std::uint32_t units = scene.device().unit_classes[UnitClassId{0}].count;
    for (std::uint32_t unit = 0; unit < units; ++unit) {
      std::int64_t on_unit = 0;
      Duration busy{0};
      double work = 0;
      Time since{};
      std::int64_t changes = 0;
      for (const BlockPlacement& p : result.log) {
        if (p.unit != unit) continue;
        ++changes;
        if (on_unit == 0) since = p.at;
        on_unit += p.blocks;
        if (on_unit == 0) busy += p.at - since;
        if (p.blocks < 0) continue;
        const Estimate& e = scene.costs.entry(p.task).estimate;
        const double one = static_cast<double>(e.duration.count()) /
                           static_cast<double>((e.blocks + units - 1) / units);
        work += one * p.blocks;
      }
      CHECK(static_cast<double>(busy.count()) >= work);
      // At most 32 blocks share a unit, so 32 ps of the unit for one of a block.
      CHECK(static_cast<double>(busy.count()) <= work + 66.0 * static_cast<double>(changes));
    }
  }
}

TEST_CASE("blocks: no run beats its lower bounds, and full units of equal kernels come close") {
  for (std::uint64_t seed = 0; seed < 300; ++seed) {
    CAPTURE(seed);
    const RandomScene scene{seed, seed % 3 == 0};
    const LowerBounds bounds = graph_lower_bounds(scene.problem());
    CHECK(run(scene).trace.makespan() >= bounds.largest());
  }
  // Two units, twenty kernels of eight blocks of 128 threads that use half of a unit, four at a
  // time: each runs 10 us alone; two side by side fill both units.
  test::SharingScene s{SharingModel::blocks, 2};
  s.device().sm_limits = test::volta_limits();
  Estimate e = test::grid(10us, 8, 4);
  e.block = {128, 0, 0};
  e.compute_share = 0.5F;
  for (int i = 0; i < 20; ++i) s.kernel("k" + std::to_string(i), e);
  const TaskGraph graph = std::move(s.builder).build();
  const CostTable costs{graph, s.platform, test::GivenEstimates{s.estimates}};
  const Problem problem{graph, s.platform, costs};
  const Duration took = simulate(problem, s.plan).makespan();
  const Duration bound = graph_lower_bounds(problem).largest();
  CHECK(took >= bound);
  CHECK(to_us(bound) == doctest::Approx(20 * 10.0 / 2).epsilon(1e-4));
  CHECK(to_us(took) == doctest::Approx(100.0).epsilon(1e-4));
}

TEST_CASE("blocks: a kernel alone lasts what its cost says, rounded up by picoseconds a wave") {
  Rng rng{17};
  for (int round = 0; round < 2000; ++round) {
    CAPTURE(round);
    test::SharingScene s{SharingModel::blocks, static_cast<std::uint32_t>(1 + rng.below(130))};
    s.device().sm_limits = test::volta_limits();
    s.device().co_residency_factor = 0.9;
    s.device().rates.memory = 100_GB_per_s;
    Estimate e;
    e.duration = Duration{static_cast<std::int64_t>(1 + rng.below(200'000'000))};
    e.blocks = static_cast<std::uint32_t>(1 + rng.below(2000));
    e.blocks_per_unit = static_cast<std::uint32_t>(1 + rng.below(8));
    e.compute_share = static_cast<float>(rng.uniform());
    e.bandwidth = Bandwidth{rng.uniform() * 100e9};
    if (rng.below(3) != 0) {
      e.block = {static_cast<std::uint16_t>(1 + rng.below(512)),
                 static_cast<std::uint16_t>(rng.below(120)),
                 static_cast<std::uint32_t>(rng.below(48 * 1024))};
    }
    s.kernel("k", e);
    const Duration took = s.run().makespan();
    const std::int64_t max_waves = e.blocks;  // one block at a time
    CHECK(took >= e.duration);
    CHECK(took <= e.duration + Duration{34 * max_waves});
  }
}

TEST_CASE("blocks: runs repeat, with a fresh simulator and with a used one") {
  Simulator used;
  for (std::uint64_t seed = 0; seed < 30; ++seed) {
    CAPTURE(seed);
    const RandomScene scene{seed, false};
    const Run first = run(scene);
    Run second;
    second.trace = used.run(scene.problem(), scene.plan, {.placements = &second.log});
    CHECK(second.trace == first.trace);
    CHECK(second.log == first.log);
  }
}

TEST_CASE("blocks: one stream gets no faster when a kernel gets slower or a unit less capable") {
  Rng rng{23};
  for (std::uint64_t seed = 0; seed < 60; ++seed) {
    CAPTURE(seed);
    RandomScene scene{seed, false};
    for (StreamSpec& stream : scene.plan.streams) stream.priority = 0;
    Plan serial;
    const StreamId stream = serial.streams.push_back({.device = DeviceId{0}});
    for (const TaskId task : scene.graph.tasks()) {
      serial.hosts[HostId{0}].calls.push_back(HostCall::launch(stream, task));
    }
    const Duration before = simulate(scene.problem(), serial).makespan();
    auto& slower = scene.estimates["k" + std::to_string(rng.below(operation_count))];
    slower.duration += Duration{static_cast<std::int64_t>(rng.below(5'000'000))};
    scene.costs = CostTable{scene.graph, scene.platform, test::GivenEstimates{scene.estimates}};
    CHECK(simulate(scene.problem(), serial).makespan() >= before);
  }
  // Co-running: less throughput for those that share a unit.
  for (double factor = 1.0, last = 0; factor > 0.5; factor -= 0.1) {
    test::SharingScene s{SharingModel::blocks, 2};
    s.device().sm_limits = test::volta_limits();
    s.device().co_residency_factor = factor;
    Estimate e = test::grid(10us, 2);
    e.block = {128, 0, 0};
    s.kernel("a", e);
    s.kernel("b", e, 0, 3);
    const double now = to_us(s.run().makespan());
    CHECK(now > last);
    last = now;
  }
}

TEST_CASE("blocks is fluid where placement cannot matter: kernels of one block a unit") {
  for (std::uint64_t seed = 0; seed < 300; ++seed) {
    CAPTURE(seed);
    RandomScene scene{seed, false};
    Device& device = scene.platform.devices[DeviceId{0}];
    device.rates.memory = Bandwidth{};
    for (auto& [name, e] : scene.estimates) {
      e.block = {};
      e.blocks_per_unit = 1;
    }
    scene.costs = CostTable{scene.graph, scene.platform, test::GivenEstimates{scene.estimates}};
    const Trace blocks = simulate(scene.problem(), scene.plan);
    scene.platform.sharing = SharingModel::fluid;
    CHECK(simulate(scene.problem(), scene.plan) == blocks);
  }
}

TEST_CASE("blocks and fluid share bandwidth alike, up to the rounding of each change of rate") {
  for (std::uint64_t seed = 0; seed < 100; ++seed) {
    CAPTURE(seed);
    RandomScene scene{seed, false};
    Device& device = scene.platform.devices[DeviceId{0}];
    device.rates.memory = 100_GB_per_s;
    for (auto& [name, e] : scene.estimates) {
      e.block = {};
      e.blocks_per_unit = 1;
    }
    scene.costs = CostTable{scene.graph, scene.platform, test::GivenEstimates{scene.estimates}};
    const Trace blocks = simulate(scene.problem(), scene.plan);
    scene.platform.sharing = SharingModel::fluid;
    const Trace fluid = simulate(scene.problem(), scene.plan);
    const std::int64_t apart = (blocks.makespan() - fluid.makespan()).count();
    CHECK(std::abs(apart) <= 100);  // ps; the run has some hundred changes of rate
  }
}
