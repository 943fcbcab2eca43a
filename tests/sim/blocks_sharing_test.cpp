// SPDX-License-Identifier: Apache-2.0
// Small scenes of blocks sharing, worked out by hand. Properties: blocks_property_test.cpp.
#include "sim/base/error.hpp"
#include "sim/base/rng.hpp"
#include "sim/engine/sharing/blocks.hpp"
#include "tests/sim/sharing_scene.hpp"

#include <numeric>

using namespace schedlab;
using namespace schedlab::literals;
using test::grid;
using test::SharingScene;
using test::spinning;

namespace {

constexpr SharingModel blocks = SharingModel::blocks;

Time at(Duration d) {
  return Time{d};
}

/// Two multiprocessors of 2048 threads, as of the Jetson TX2 of the published experiments.
SharingScene two_multiprocessors() {
  SharingScene scene{blocks, 2};
  scene.device().sm_limits = test::volta_limits();
  return scene;
}

}  // namespace

TEST_CASE("blocks: a kernel alone lasts what was estimated, whatever its waves") {
  for (const std::uint32_t count : {1U, 3U, 4U, 5U, 8U, 9U}) {
    CAPTURE(count);
    SharingScene s{blocks, 4};
    s.kernel("k", grid(12us, count));
    CHECK(s.run().makespan() == 12us);
  }
}

TEST_CASE("blocks: the next kernel starts in the tail wave of the one before") {
  // 4 units. First: 6 blocks, two waves of 10 us; the second wave needs units 0 and 1, so the next
  // kernel's 2 blocks start at 10 on units 2 and 3.
  SharingScene s{blocks, 4};
  s.kernel("first", grid(20us, 6));
  s.kernel("next", grid(5us, 2));
  const Trace trace = s.run();
  CHECK(trace.tasks[0].ended == at(20us));
  CHECK(trace.tasks[1].started == at(10us));
  CHECK(trace.tasks[1].ended == at(15us));
  CHECK(s.units_of(1) == std::vector<std::uint32_t>{2, 3});
}

TEST_CASE("blocks: the head of the queue blocks what would fit behind it") {
  // Two units of 96 KiB. The first kernel has 64 of them on each until 10 us, so that the second,
  // with 64 as well, waits. The third would fit from the beginning, but the second comes first.
  SharingScene s = two_multiprocessors();
  s.kernel("first", spinning(10us, 2, {1024, 0, 64 * 1024}));
  s.kernel("second", spinning(10us, 1, {32, 0, 64 * 1024}));
  s.kernel("third", spinning(1us, 1, {32, 0, 0}));
  const Trace trace = s.run();
  CHECK(trace.tasks[1].started == at(10us));
  CHECK(trace.tasks[2].started == at(10us));
}

TEST_CASE("blocks: an urgent kernel takes units as blocks end, never at once") {
  // 4 units. Low: 12 blocks = three waves of 10 us. Urgent, 4 blocks of 5 us, arrives at 12.
  SharingScene s{blocks, 4};
  s.kernel("low", grid(30us, 12));
  s.kernel("urgent", grid(5us, 4), -1, 12);
  const Trace trace = s.run();
  CHECK(trace.tasks[1].started == at(20us));
  CHECK(trace.tasks[1].ended == at(25us));
  CHECK(trace.tasks[0].ended == at(35us));
}

TEST_CASE("blocks: every resource of a unit is respected") {
  struct Row {
    BlockShape shape;
    std::uint32_t resident;  // on one unit
  };
  for (const Row& row : {Row{{1024, 0, 0}, 2},           // threads
                         Row{{32, 0, 0}, 32},            // blocks
                         Row{{256, 128, 0}, 2},          // registers
                         Row{{64, 0, 40 * 1024}, 2}}) {  // shared memory
    CAPTURE(row.resident);
    SharingScene s{blocks, 1};
    s.device().sm_limits = test::volta_limits();
    s.kernel("fits", spinning(10us, row.resident, row.shape));
    s.kernel("one_more", spinning(10us, 1, row.shape));
    const Trace trace = s.run();
    CHECK(trace.tasks[0].ended == at(10us));
    CHECK(trace.tasks[1].started == at(10us));
  }
}

TEST_CASE("blocks: free capacity of two units does not add up") {
  // Each unit has 512 threads left beside a block of 1536: a block of 1024 fits on neither,
  // although together they have the capacity. Shared by class (fluid) it would start at once.
  SharingScene s = two_multiprocessors();
  s.kernel("a", spinning(10us, 2, {768, 0, 0}));
  s.kernel("b", spinning(10us, 2, {768, 0, 0}));
  s.kernel("large", spinning(10us, 1, {1024, 0, 0}));
  CHECK(s.run().tasks[2].started == at(10us));
}

TEST_CASE("blocks: a unit does no more than its throughput") {
  // One unit, capacity for many blocks; a block alone uses all of the unit. Two kernels of one
  // block of 10 us: each at half speed, both end at 20. A third that arrives at 5 when each has 7.5
  // us left: a third of the speed each...
  SharingScene s{blocks, 1};
  s.device().sm_limits = test::volta_limits();
  Estimate full = grid(10us, 1);
  full.block = {256, 32, 0};
  s.kernel("a", full);
  s.kernel("b", full);
  const Trace trace = s.run();
  CHECK(trace.tasks[0].ended == at(20us));
  CHECK(trace.tasks[1].ended == at(20us));
}

TEST_CASE("blocks: who comes later gets its part from then on") {
  // a alone until 4 us (6 left). Then half speed each: a ends at 4 + 12 = 16, when b has done 6 and
  // has 4 left alone: 20.
  SharingScene s{blocks, 1};
  s.device().sm_limits = test::volta_limits();
  Estimate full = grid(10us, 1);
  full.block = {256, 32, 0};
  s.kernel("a", full);
  s.kernel("b", full, 0, 4);
  const Trace trace = s.run();
  CHECK(trace.tasks[0].ended == at(16us));
  CHECK(trace.tasks[1].ended == at(20us));
}

TEST_CASE("blocks: kernels that leave throughput unused do not disturb each other") {
  SharingScene s{blocks, 1};
  s.device().sm_limits = test::volta_limits();
  Estimate half = grid(10us, 1);
  half.block = {256, 32, 0};
  half.compute_share = 0.5F;
  s.kernel("a", half);
  s.kernel("b", half);
  const Trace trace = s.run();
  CHECK(trace.tasks[0].ended == at(10us));
  CHECK(trace.tasks[1].ended == at(10us));
}

TEST_CASE("blocks: the co-residency factor counts where kernels share a unit, and only there") {
  // 2 units, one block of each kernel on each, all want half of the unit. Factor 0.8 (2^20 * 0.8 =
  // 838860.8, so 838860 of 1048576): 10 us / (838860 / 1048576) = 12.50001... us.
  SharingScene s = two_multiprocessors();
  s.device().co_residency_factor = 0.8;
  Estimate half = grid(10us, 2);
  half.block = {256, 32, 0};
  half.compute_share = 0.5F;
  s.kernel("a", half);
  s.kernel("b", half);
  const Trace both = s.run();
  CHECK(both.tasks[0].ended >= at(12'500'000_ps));
  CHECK(both.tasks[0].ended < at(12'500'020_ps));

  SharingScene alone = two_multiprocessors();
  alone.device().co_residency_factor = 0.8;
  Estimate full = half;
  full.compute_share = 1.0F;
  alone.kernel("a", full);
  CHECK(alone.run().makespan() == 10us);
}

TEST_CASE("blocks: bandwidth is shared max-min: the small demand is met, the large ones share") {
  // 100 GB/s; alone small wants 20, large 80 each. See fluid_sharing_test.cpp for the arithmetic.
  SharingScene s{blocks, 3};
  s.device().rates.memory = 100_GB_per_s;
  Estimate small = grid(10us, 1);
  small.bandwidth = 20_GB_per_s;
  Estimate large = grid(10us, 1);
  large.bandwidth = 80_GB_per_s;
  s.kernel("small", small);
  s.kernel("large_1", large, -2);
  s.kernel("large_2", large);
  const Trace trace = s.run();
  CHECK(trace.tasks[0].ended == at(10us));
  CHECK(trace.tasks[1].ended == at(18us));  // priority does not matter for bandwidth
  CHECK(trace.tasks[2].ended == at(18us));
}

TEST_CASE("blocks: copies take their part of the memory bandwidth") {
  // 100 GB/s. A copy at 20 GB/s on its engine, a kernel that wants 100: it gets 80 for 10 us (8 us
  // of its work, a picosecond less as 0.8 is rounded down), then all.
  SharingScene s{blocks, 1};
  s.device().rates.memory = 100_GB_per_s;
  const UnitClassId engine = s.device().unit_classes.push_back({"copy_to_device", 1});
  s.device().unit_class_of[static_cast<std::size_t>(TaskKind::copy_host_to_device)] = engine;
  Estimate copy = grid(10us, 1);
  copy.bandwidth = 20_GB_per_s;
  Estimate kernel = grid(10us, 1);
  kernel.bandwidth = 100_GB_per_s;
  s.estimates["copy"] = copy;
  const StreamId stream = s.plan.streams.push_back({.device = DeviceId{0}, .priority = 0});
  s.plan.hosts[HostId{0}].calls.push_back(HostCall::launch(
      stream,
      s.builder.add_task(
          s.builder.add_operation({.name = "copy", .kind = TaskKind::copy_host_to_device}))));
  s.kernel("kernel", kernel);
  const Trace trace = s.run();
  CHECK(trace.tasks[0].ended == at(10us));
  CHECK(trace.tasks[1].ended == at(12'000'001_ps));
}

TEST_CASE("blocks: a block ends at the first picosecond at which its work is done") {
  // Rate floor(2/3 * 2^30) / 2^30, as in fluid_sharing_test.cpp: 1500000.0027... ps, so 1500001.
  SharingScene s{blocks, 2};
  s.device().rates.memory = 40_GB_per_s;
  Estimate e = grid(1us, 1);
  e.bandwidth = 30_GB_per_s;
  s.kernel("a", e);
  s.kernel("b", e);
  CHECK(s.run().tasks[0].ended == at(Duration{1'500'001}));

  // Three blocks that each want the whole unit: a third of 2^30 is rounded down to 357913941, so
  // 10^6 * 2^30 / 357913941 = 3000000.0028... ps.
  SharingScene t{blocks, 1};
  t.device().sm_limits = test::volta_limits();
  Estimate full = grid(1us, 1);
  full.block = {32, 0, 0};
  for (const char* name : {"a", "b", "c"}) t.kernel(name, full);
  CHECK(t.run().tasks[2].ended == at(Duration{3'000'001}));
}

TEST_CASE(
    "blocks: an urgent kernel that finds no capacity among the resident ones stops none of them") {
  // One unit, one kernel at most. Low has two waves to go when the urgent one arrives; were it to
  // wait for the urgent one, and that for it, nothing would move.
  SharingScene s{blocks, 1};
  s.device().resident_kernels = 1;
  s.kernel("low", grid(30us, 3));
  s.kernel("urgent", grid(5us, 1), -1, 5);
  const Trace trace = s.run();
  CHECK(trace.tasks[0].ended == at(30us));
  CHECK(trace.tasks[1].started == at(30us));
}

TEST_CASE("blocks: a block that fits on no unit is refused by name") {
  SharingScene s = two_multiprocessors();
  s.kernel("huge", spinning(10us, 1, {512, 200, 0}));
  CHECK_THROWS_WITH_AS(static_cast<void>(s.run()),
                       doctest::Contains("\"huge\" (512 threads, 200 registers"),
                       InfeasibleError);
}

TEST_CASE("least loaded: a block goes where the most further blocks of its kernel fit") {
  // Unit 0 has a block of 1024 threads, unit 1 one of 512, unit 2 none. Blocks of 256 threads:
  // capacity 4, 6, 8. In turn: 2 2 1 2 1 2 0 1 2...: the highest capacity, ties to the lowest
  // number.
  UnitResources unit = unit_resources(test::volta_limits());
  std::vector<UnitResources> free(3, unit);
  free[0].warps -= 32;
  free[1].warps -= 16;
  std::vector<UnitShare> placed;
  const UnitResources need = block_resources({256, 0, 0}, test::volta_limits());
  CHECK(LeastLoadedPlacement{}.place(free, need, 3, placed) == 3);
  CHECK(placed == std::vector<UnitShare>{{1, 1}, {2, 2}});  // 2, 2, then 1 and 2 have 6: 1
  placed.clear();
  CHECK(LeastLoadedPlacement{}.place(free, need, 100, placed) == 15);  // capacity 4 + 5 + 6
  CHECK(placed == std::vector<UnitShare>{{0, 4}, {1, 5}, {2, 6}});
  CHECK(LeastLoadedPlacement{}.place(free, need, 1, placed) == 0);
}

TEST_CASE("least loaded: placing in one go equals placing one by one") {
  Rng rng{3};
  for (int round = 0; round < 500; ++round) {
    CAPTURE(round);
    std::vector<UnitResources> free(1 + rng.below(12), unit_resources(test::volta_limits()));
    for (UnitResources& unit : free) {
      unit.warps -= static_cast<std::int32_t>(rng.below(65));
      unit.shared_memory -= static_cast<std::int32_t>(rng.below(96 * 1024));
    }
    const BlockShape shape{static_cast<std::uint16_t>(1 + rng.below(1024)),
                           0,
                           static_cast<std::uint32_t>(rng.below(20 * 1024))};
    const UnitResources need = block_resources(shape, test::volta_limits());
    const auto wanted = static_cast<std::uint32_t>(1 + rng.below(100));
    std::vector<UnitResources> expected = free;
    std::vector<std::uint32_t> count(free.size(), 0);
    std::uint32_t sum = 0;
    for (; sum < wanted; ++sum) {
      std::size_t best = 0;
      for (std::size_t i = 1; i < expected.size(); ++i) {
        if (expected[i].times(need, 9999) > expected[best].times(need, 9999)) best = i;
      }
      if (expected[best].times(need, 9999) == 0) break;
      expected[best].take(need, 1);
      ++count[best];
    }
    std::vector<UnitShare> placed;
    CHECK(LeastLoadedPlacement{}.place(free, need, wanted, placed) == sum);
    CHECK(free == expected);
    for (const UnitShare& share : placed) CHECK(share.blocks == count[share.unit]);
  }
}
