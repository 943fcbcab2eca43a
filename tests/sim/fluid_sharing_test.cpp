// SPDX-License-Identifier: Apache-2.0
#include "sim/engine/simulator.hpp"
#include "tests/sim/sharing_scene.hpp"
#include "tests/support/random_plan.hpp"

using namespace schedlab;
using test::grid;
using test::SharingScene;

namespace {

constexpr SharingModel fluid = SharingModel::fluid;

Time at(Duration d) {
  return Time{d};
}

}  // namespace

TEST_CASE("a kernel alone lasts what was estimated, whatever its waves") {
  for (const std::uint32_t blocks : {1U, 3U, 4U, 5U, 8U, 9U}) {
    CAPTURE(blocks);
    SharingScene b{fluid, 4};
    b.kernel("k", grid(12us, blocks));
    CHECK(b.run().makespan() == 12us);
  }
}

TEST_CASE("leftover: the next kernel starts in the tail wave of the one before") {
  // 4 units. First: 6 blocks, two waves of 10 us; the second wave needs 2 units, so the next
  // kernel's 2 blocks start at 10.
  SharingScene b{fluid, 4};
  b.kernel("first", grid(20us, 6));
  b.kernel("next", grid(5us, 2));
  const Trace trace = b.run();
  CHECK(trace.tasks[0].ended == at(20us));
  CHECK(trace.tasks[1].started == at(10us));
  CHECK(trace.tasks[1].ended == at(15us));
}

TEST_CASE("a kernel larger than what is left starts with what there is and grows") {
  // 4 units. First: 3 blocks of 10 us. Next: 4 blocks of 10 us: one at 0, three at 10 when the
  // first has ended.
  SharingScene b{fluid, 4};
  b.kernel("first", grid(10us, 3));
  b.kernel("next", grid(10us, 4));
  const Trace trace = b.run();
  CHECK(trace.tasks[1].started == at(0us));
  CHECK(trace.tasks[1].ended == at(20us));
}

TEST_CASE("the head of the queue blocks what would fit behind it") {
  // 4 units. First: 4 blocks for 10 us. Second: 8 blocks, waves 10..20 and 20..30. Third, one
  // block, waits for 20: only then is the second fully placed, and then no unit is left: 30.
  SharingScene b{fluid, 4};
  b.kernel("first", grid(10us, 4));
  b.kernel("second", grid(20us, 8));
  b.kernel("third", grid(1us, 1));
  CHECK(b.run().tasks[2].started == at(30us));
}

TEST_CASE("an urgent kernel takes units as blocks end, never at once") {
  // 4 units. Low: 12 blocks = three waves of 10 us. Urgent, 4 blocks of 5 us, arrives at 12: the
  // wave 10..20 runs on, then the urgent kernel has all units 20..25, then the last low
  // wave 25..35.
  SharingScene b{fluid, 4};
  b.kernel("low", grid(30us, 12));
  b.kernel("urgent", grid(5us, 4), -1, 12);
  const Trace trace = b.run();
  CHECK(trace.tasks[1].started == at(20us));
  CHECK(trace.tasks[1].ended == at(25us));
  CHECK(trace.tasks[0].ended == at(35us));
}

TEST_CASE("a kernel without a slot among the resident ones delays no kernel that has one") {
  // 4 units, one resident kernel. Low: three waves of 10 us. Urgent finds no slot before 30; if it
  // kept low from placing its second wave none would ever end.
  SharingScene b{fluid, 4};
  b.device().resident_kernels = 1;
  b.kernel("low", grid(30us, 12));
  b.kernel("urgent", grid(5us, 4), -1, 5);
  const Trace trace = b.run();
  CHECK(trace.tasks[0].ended == at(30us));
  CHECK(trace.tasks[1].started == at(30us));
}

TEST_CASE("an urgent kernel that arrives as a wave ends takes the capacity of that wave") {
  // 1 unit. Low: 8 waves of 10 us. Urgent arrives at 50, at the very end of the fifth wave.
  SharingScene b{fluid, 1};
  b.kernel("low", grid(80us, 8));
  b.kernel("urgent", grid(3us, 1), -1, 50);
  const Trace trace = b.run();
  CHECK(trace.tasks[1].started == at(50us));
  CHECK(trace.tasks[0].ended == at(83us));
}

TEST_CASE("several blocks share a unit, up to what each kernel's blocks leave of it") {
  // One unit. Two kernels with 2 blocks per unit: one block each fits beside the other.
  SharingScene b{fluid, 1};
  b.kernel("a", grid(10us, 1, 2));
  b.kernel("b", grid(10us, 1, 2));
  b.kernel("c", grid(10us, 1, 2));
  const Trace trace = b.run();
  CHECK(trace.tasks[1].started == at(0us));
  CHECK(trace.tasks[2].started == at(10us));
}

TEST_CASE("bandwidth is shared max-min: the small demand is met, the large ones share the rest") {
  // 100 GB/s. Alone: small wants 20 for 10 us; two large want 80 each for 10 us. Shares: 20, 40,
  // 40: the large run at half speed. At 10 us small ends; the large have 50 each: rate 50/80 on the
  // remaining 5 us of work: 8 us more, 18 us.
  SharingScene b{fluid, 3};
  b.device().rates.memory = 100_GB_per_s;
  Estimate small = grid(10us, 1);
  small.bandwidth = 20_GB_per_s;
  Estimate large = grid(10us, 1);
  large.bandwidth = 80_GB_per_s;
  b.kernel("small", small);
  b.kernel("large_1", large, -2);
  b.kernel("large_2", large);
  const Trace trace = b.run();
  CHECK(trace.tasks[0].ended == at(10us));
  CHECK(trace.tasks[1].ended == at(18us));  // priority does not matter for bandwidth
  CHECK(trace.tasks[2].ended == at(18us));
}

TEST_CASE("a block ends at the first picosecond at which its work is done") {
  // Three kernels of 1 us want 30 of 40 GB/s each. In multiples of 2^-32 of the bandwidth: demand
  // 3221225472, level floor(2^32 / 3) = 1431655765. 10^6 ps * 3221225472 / 1431655765 =
  // 2250000.0005..., so 2250001 ps.
  SharingScene b{fluid, 3};
  b.device().rates.memory = 40_GB_per_s;
  Estimate e = grid(1us, 1);
  e.bandwidth = 30_GB_per_s;
  b.kernel("a", e);
  b.kernel("b", e);
  b.kernel("c", e);
  CHECK(b.run().tasks[0].ended == at(Duration{2'250'001}));
}

TEST_CASE("without bandwidth limits and with whole-unit kernels of one wave, fluid is exclusive") {
  for (std::uint64_t seed = 0; seed < 200; ++seed) {
    CAPTURE(seed);
    const TaskGraph graph = test::random_graph(seed);
    Platform platform = test::random_platform(seed);
    Device& device = platform.devices[DeviceId{0}];
    device.unit_class_of.fill(device.unit_classes.push_back({"unit", 2}));
    Estimate one;
    one.share = 0.5;
    const CostTable costs{graph, platform, test::GivenEstimates{{{"task", one}}}};
    const Plan plan = test::random_plan(graph, seed, 6, true);
    const Trace exclusive = simulate({graph, platform, costs}, plan);
    platform.sharing = SharingModel::fluid;
    CHECK(simulate({graph, platform, costs}, plan) == exclusive);
  }
}
