// SPDX-License-Identifier: Apache-2.0
#include "sim/base/error.hpp"
#include "sim/base/rng.hpp"
#include "sim/trace/cut_work.hpp"
#include "sim/trace/document.hpp"
#include "sim/trace/utilization.hpp"
#include "tests/sim/trace_support.hpp"

#include <doctest/doctest.h>

#include <algorithm>
#include <cstdint>
#include <numeric>
#include <string>
#include <vector>

namespace schedlab {
namespace {

using namespace testing;

TEST_CASE("A document names tasks, streams, devices and hosts") {
  const TinyRun run = tiny_run();
  const TraceDocument document = make_document(run.problem(), run.plan, run.trace, "a title");
  CHECK(document.title == "a title");
  CHECK(document.origin == "simulated");
  CHECK(document.policy == "by_hand");
  CHECK(document.machine == "tiny");
  REQUIRE(document.tasks.size() == 4);
  CHECK(document.tasks[TaskId{1}].operation == "b");
  CHECK(document.tasks[TaskId{1}].critical);
  CHECK(document.tasks[TaskId{2}].share == doctest::Approx(0.6));
  CHECK_FALSE(document.tasks[TaskId{3}].critical);
  CHECK(document.streams[StreamId{0}].name == "main");
  CHECK(document.streams[StreamId{1}].name == "stream 1");
  CHECK(document.devices[DeviceId{0}] == "tiny device");
  CHECK(document.hosts[HostId{0}] == "host 0");
  CHECK(document.trace == run.trace);
}

TEST_CASE("A trace of another plan is refused by the name of the task") {
  TinyRun run = tiny_run();
  run.trace.tasks[1].stream = StreamId{9};
  CHECK_THROWS_AS((void)make_document(run.problem(), run.plan, run.trace, ""), ContractViolation);
}

TEST_CASE("Copies and host work hold no compute units") {
  TaskGraphBuilder builder;
  Operation copy;
  copy.name = "copy";
  copy.kind = TaskKind::copy_host_to_device;
  builder.add_task(builder.add_operation(copy));
  const TaskGraph graph = std::move(builder).build();
  const Platform platform = ideal_platform();
  const CostTable costs{graph, platform};
  CHECK(unit_share({graph, platform, costs}, OperationId{0}, DeviceId{0}) == 0.0);
}

/// Every operation on one of six units.
class OneOfSix final : public CostModel {
 public:
  [[nodiscard]] std::string_view name() const override { return "one_of_six"; }
  [[nodiscard]] Estimate estimate(const Operation& /*operation*/,
                                  const Device& /*device*/) const override {
    return {.duration = Duration{1000}, .share = 1.0 / 6, .bandwidth = {}, .bound = Bound::fixed};
  }
};

TEST_CASE("Units that run nothing but collectives do not count among those that can be used") {
  TaskGraphBuilder builder;
  builder.add_task(builder.add_operation({.name = "work", .kind = TaskKind::gemm}));
  const TaskGraph graph = std::move(builder).build();
  Platform platform = ideal_platform();
  Device& device = platform.devices[DeviceId{0}];
  const UnitClassId group = device.unit_classes.push_back({"core_group", 6});
  const UnitClassId manager = device.unit_classes.push_back({"mpe", 6});
  device.unit_class_of.fill(group);
  const auto share = [&] {
    const CostTable costs{graph, platform, OneOfSix{}};
    return unit_share({graph, platform, costs}, OperationId{0}, DeviceId{0});
  };
  device.unit_class_of[static_cast<std::size_t>(TaskKind::collective)] = manager;
  CHECK(share() == doctest::Approx(1.0 / 6));
  // Managers that also compute: one of twelve units.
  device.unit_class_of[static_cast<std::size_t>(TaskKind::pointwise)] = manager;
  CHECK(share() == doctest::Approx(1.0 / 12));
  // What runs on units that only drive messages uses none.
  device.unit_class_of[static_cast<std::size_t>(TaskKind::pointwise)] = group;
  TaskGraphBuilder messages;
  messages.add_task(messages.add_operation({.name = "message", .kind = TaskKind::collective}));
  const TaskGraph other = std::move(messages).build();
  const CostTable costs{other, platform, OneOfSix{}};
  CHECK(unit_share({other, platform, costs}, OperationId{0}, DeviceId{0}) == 0.0);
}

TEST_CASE("Copy engines do not count among the units that can be used") {
  TaskGraphBuilder builder;
  builder.add_task(builder.add_operation({.name = "work", .kind = TaskKind::gemm}));
  const TaskGraph graph = std::move(builder).build();
  Platform platform = ideal_platform();
  Device& device = platform.devices[DeviceId{0}];
  device.unit_class_of.fill(device.unit_classes.push_back({"sm", 6}));
  const UnitClassId engine = device.unit_classes.push_back({"copy_engine", 2});
  device.unit_class_of[static_cast<std::size_t>(TaskKind::copy_host_to_device)] = engine;
  device.unit_class_of[static_cast<std::size_t>(TaskKind::copy_device_to_host)] = engine;
  const CostTable costs{graph, platform, OneOfSix{}};
  CHECK(unit_share({graph, platform, costs}, OperationId{0}, DeviceId{0}) ==
        doctest::Approx(1.0 / 6));
}

TEST_CASE("Utilization over time has a point per change and ends with the trace") {
  const TinyRun run = tiny_run();
  const auto points = utilization_over_time(make_document(run.problem(), run.plan, run.trace, ""));
  // a 2..12 (0.4), w 12..22 (0.6), b 22..42 (1.0), v 50..55 (0.2), the end at 60.
  const std::vector<UtilizationPoint> expected{{at(0us), 0.0, 0, 0},
                                               {at(2us), 0.4, 1, 1},
                                               {at(12us), 0.6, 1, 0},
                                               {at(22us), 1.0, 1, 1},
                                               {at(42us), 0.0, 0, 0},
                                               {at(50us), 0.2, 1, 0},
                                               {at(55us), 0.0, 0, 0},
                                               {at(60us), 0.0, 0, 0}};
  REQUIRE(points.size() == expected.size());
  for (std::size_t i = 0; i < points.size(); ++i) {
    CAPTURE(i);
    CHECK(points[i].at == expected[i].at);
    CHECK(points[i].utilization == doctest::Approx(expected[i].utilization));
    CHECK(points[i].running == expected[i].running);
    CHECK(points[i].critical == expected[i].critical);
  }
}

TEST_CASE("Slices keep the mean of the curve") {
  const TinyRun run = tiny_run();
  const auto points = utilization_over_time(make_document(run.problem(), run.plan, run.trace, ""));
  const auto slices = utilization_in_slices(points, 6);  // of 10 us each
  REQUIRE(slices.size() == 6);
  CHECK(slices[0].utilization == doctest::Approx(8 * 0.4 / 10));
  CHECK(slices[1].utilization == doctest::Approx((2 * 0.4 + 8 * 0.6) / 10));
  CHECK(slices[4].utilization == doctest::Approx(2 * 1.0 / 10));
  CHECK(slices[5].running == doctest::Approx(0.5));
  for (const std::size_t count : {1U, 7U, 1000U}) {
    double mean = 0;
    for (const auto& slice : utilization_in_slices(points, count)) {
      mean += slice.utilization / static_cast<double>(count);
    }
    CAPTURE(count);
    CHECK(mean == doctest::Approx(310.0 / 600.0));
  }
  CHECK(utilization_in_slices({}, 5).empty());
}

TEST_CASE("Where mean shares add up to more than the device, the curve loses no work") {
  TinyRun run = tiny_run();
  TraceDocument document = make_document(run.problem(), run.plan, run.trace, "");
  document.trace.tasks = {span(0, 0, 0us, 10us), span(1, 1, 5us, 15us)};
  document.trace.ended = at(15us);
  const std::string operation = "gemm";
  for (const std::uint32_t task : {0U, 1U}) {
    document.tasks[TaskId{task}].operation = operation;
    document.tasks[TaskId{task}].share = 0.7;
  }
  // Both have 0.7: what an operation holds of units without limit. From 5 to 10 us 1.4 are cut off.
  const auto cut = utilization_over_time(document);
  REQUIRE(cut.size() == 4);
  CHECK(cut[0].utilization == doctest::Approx(0.7));
  CHECK(cut[1].utilization == doctest::Approx(1.0));
  CHECK(cut[2].utilization == doctest::Approx(0.7));
  // Different shares of one operation are means: the work, 10 us * 0.7 + 10 us * 0.8, fills the
  // 15 us. The second task is put off, but has ended before it got all, so that some of it is
  // brought forward to before 10 us and makes the first one use all of its first 5 us.
  document.tasks[TaskId{1}].share = 0.8;
  const auto points = utilization_over_time(document);
  REQUIRE(points.size() == 4);
  CHECK(points[0].utilization == doctest::Approx(1.0));
  CHECK(points[1].utilization == doctest::Approx(1.0));
  CHECK(points[2].utilization == doctest::Approx(1.0));
  CHECK(points[3].utilization == 0.0);
}

constexpr std::int64_t slots = 60;

/// The work of tasks that take random parts of a device, slot by slot; only their means are kept.
double draw_spans(Rng& rng, std::vector<SharedSpan>& spans) {
  for (SharedSpan& span : spans) {
    span.start = static_cast<std::int64_t>(rng.below(slots - 1));
    const auto rest = static_cast<std::uint64_t>(slots - span.start);
    span.end = span.start + 1 + static_cast<std::int64_t>(rng.below(rest));
  }
  double work = 0;
  for (std::int64_t slot = 0; slot < slots; ++slot) {
    double left = 1;
    for (SharedSpan& span : spans) {
      if (slot < span.start || slot >= span.end) continue;
      const double part = left * static_cast<double>(rng.below(5)) / 4;
      span.share += part / static_cast<double>(span.end - span.start);
      left -= part;
      work += part;
    }
  }
  return work;
}

TEST_CASE("Work that a device has run finds free units on it, whatever the means") {
  Rng rng{7};
  for (int round = 0; round < 50; ++round) {
    CAPTURE(round);
    std::vector<SharedSpan> spans(12);
    const double work = draw_spans(rng, spans);
    std::vector<double> level(slots, 0.0);
    const auto add = [&level](std::int64_t from, std::int64_t to, double share) {
      for (std::int64_t slot = from; slot < to; ++slot) {
        level[static_cast<std::size_t>(slot)] += share;
      }
    };
    for (const SharedSpan& span : spans) add(span.start, span.end, span.share);
    for (double& sum : level) sum = std::min(sum, 1.0);
    const double shown = std::accumulate(level.begin(), level.end(), 0.0);
    for (const HiddenUse& use : spread_cut_work(spans)) add(use.from, use.to, use.share);
    CHECK(shown < work - 0.01);  // means alone lose some
    CHECK(std::accumulate(level.begin(), level.end(), 0.0) == doctest::Approx(work));
    CHECK(*std::max_element(level.begin(), level.end()) <= doctest::Approx(1.0));
  }
}

TEST_CASE("Two devices share one curve, as a mean") {
  TinyRun run = tiny_run();
  TraceDocument document = make_document(run.problem(), run.plan, run.trace, "");
  document.devices.push_back("second");
  document.trace.tasks = {span(1, 0, 0us, 10us), span(0, 1, 0us, 10us)};
  document.trace.tasks[1].device = DeviceId{1};
  CHECK(utilization_over_time(document)[0].utilization == doctest::Approx((1.0 + 0.4) / 2));
}

}  // namespace
}  // namespace schedlab
