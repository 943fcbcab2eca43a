// SPDX-License-Identifier: Apache-2.0
#include "sim/base/rng.hpp"
#include "sim/trace/attribution.hpp"
#include "sim/trace/metrics.hpp"
#include "sim/trace/summary.hpp"
#include "tests/sim/trace_support.hpp"

#include <doctest/doctest.h>

namespace schedlab {
namespace {

using namespace testing;

TEST_CASE("A summary adds up what ran when") {
  const TinyRun run = tiny_run();
  const Summary summary =
      Summarizer{}.summarize(run.problem(), run.plan, run.trace, graph_lower_bounds(run.problem()));

  CHECK(summary.makespan == 60us);
  // Units: a 4 * 10 + w 6 * 10 + b 10 * 20 + v 2 * 5 = 310 of 10 * 60.
  CHECK(summary.utilization == doctest::Approx(310.0 / 600.0));
  // Something runs in 2..42 and 50..55.
  CHECK(summary.busy_share == doctest::Approx(45.0 / 60.0));
  CHECK(summary.mean_concurrency == doctest::Approx((10 + 10 + 20 + 5) / 60.0));
  CHECK(summary.overlap_share == 0.0);
  CHECK(summary.hidden_share == 0.0);
  CHECK(summary.matrix_units == UnitClassUse{310.0 / 600.0, 45.0 / 60.0});  // one class for all
  // Idle 0..2 (a submitted at 2) and 42..50, of which v was not submitted until 48.
  CHECK(summary.host_bound_share == doctest::Approx((2 + 6) / 60.0));
  // 4 launches of 2, a record of 1, a wait of 0.5.
  CHECK(summary.bounds.host_issue == 9500ns);
  CHECK(summary.host_busy_share == doctest::Approx(9.5 / 60.0));
  // z 7 and x 100 together from 2 to 22, y later.
  CHECK(summary.peak_memory == 107_B);
  CHECK(summary.tasks == 4);
  CHECK(summary.launches == 4);
  CHECK(summary.host_calls == 6);
  CHECK(summary.records == 1);
  CHECK(summary.waits == 1);
  CHECK(summary.events == 1);
  CHECK(summary.streams == 2);
}

TEST_CASE("Idle time before tasks of no duration counts once") {
  TinyRun run = tiny_run();
  run.trace.tasks = {span(0, 0, 10us, 10us, 10us),
                     span(2, 1, 10us, 10us, 10us),
                     span(1, 0, 10us, 10us, 10us),
                     span(3, 1, 40us, 50us, 30us)};
  const Metrics metrics = compute_metrics(run.problem(), run.plan, run.trace);
  CHECK(metrics.host_bound_share == doctest::Approx((10 + 20) / 60.0));  // 0 to 10, 10 to 30
  const Attribution where = attribute(run.problem(), run.plan, run.trace, metrics.critical_path);
  CHECK(where.share(DeviceBound::host_bound) == doctest::Approx(metrics.host_bound_share));
}

TEST_CASE("Lower bounds are the longest path, the work over the units and the host's calls") {
  const TinyRun run = tiny_run();
  const LowerBounds bounds = graph_lower_bounds(run.problem());
  CHECK(bounds.critical_path == 30us);  // a, b
  CHECK(bounds.work == 31us);           // 310 unit-us on 10 units
  CHECK(bounds.host_issue == Duration{0});
  CHECK(bounds.largest() == 31us);
  CHECK(bounds.largest_name() == "work");
  const Summary summary = Summarizer{}.summarize(run.problem(), run.plan, run.trace, bounds);
  CHECK(summary.gap == doctest::Approx(60.0 / 31.0));
}

TEST_CASE("Overlap is the part of critical time in which something else runs as well") {
  TinyRun run = tiny_run();
  // v moves into b: critical 2..12 and 22..42, other 12..22 and 30..35, so 5 of 30.
  run.trace.tasks[3] = span(3, 1, 30us, 35us, 8us);
  const Metrics metrics = compute_metrics(run.problem(), run.plan, run.trace);
  CHECK(metrics.overlap == 5us);
  CHECK(metrics.critical_busy == 30us);
  CHECK(metrics.overlap_share == doctest::Approx(5.0 / 30.0));
  // Of the other tasks' 10 + 5 us the 5 of v lie beneath b.
  CHECK(metrics.hidden_share == doctest::Approx(5.0 / 15.0));
}

TEST_CASE("Each class of units has a utilization and a busy share of its own") {
  TinyRun run = tiny_run();
  TaskGraphBuilder builder;
  const auto add = [&](const char* name, TaskKind kind, Duration duration) {
    return builder.add_task(
        builder.add_operation({.name = name, .kind = kind, .fixed_duration = duration}));
  };
  static_cast<void>(add("a", TaskKind::gemm, 10us));
  static_cast<void>(add("b", TaskKind::pointwise, 20us));
  static_cast<void>(add("w", TaskKind::gemm, 10us));
  static_cast<void>(add("copy", TaskKind::copy_host_to_device, 5us));
  run.graph = std::move(builder).build();
  Device& device = run.platform.devices[DeviceId{0}];
  device.unit_classes.push_back({.name = "vector", .count = 4});
  device.unit_classes.push_back({.name = "dma", .count = 1});
  device.unit_class_of[static_cast<std::size_t>(TaskKind::pointwise)] = UnitClassId{1};
  device.unit_class_of[static_cast<std::size_t>(TaskKind::copy_host_to_device)] = UnitClassId{2};
  run.costs = CostTable{run.graph, run.platform, TinyModel{}};
  run.trace.tasks = {
      span(0, 0, 0us, 10us), span(1, 1, 5us, 25us), span(2, 1, 8us, 18us), span(3, 0, 30us, 35us)};
  run.trace.ended = at(40us);
  const Summary summary = Summarizer{}.summarize(run.problem(), run.plan, run.trace, {});
  // a holds 4 and w 6 of 10 units for 10 us each: 0..18 busy. b holds all 4, the copy its engine.
  REQUIRE(summary.matrix_units.has_value());
  CHECK(summary.matrix_units->utilization == doctest::Approx((4 * 10 + 6 * 10) / (10 * 40.0)));
  CHECK(summary.matrix_units->busy_share == doctest::Approx(18 / 40.0));
  CHECK(summary.vector_units.value().utilization == doctest::Approx(20 / 40.0));
  CHECK(summary.vector_units->busy_share == doctest::Approx(20 / 40.0));
  CHECK(summary.copy_engines.value().busy_share == doctest::Approx(5 / 40.0));
  // All compute units together: 100 of 10 units' and 80 of 4 units' time.
  CHECK(summary.utilization == doctest::Approx((100 + 80) / (14 * 40.0)));
  device.unit_class_of[static_cast<std::size_t>(TaskKind::pointwise)] = UnitClassId::none();
  run.costs = CostTable{run.graph, run.platform, TinyModel{}};
  CHECK_FALSE(
      Summarizer{}.summarize(run.problem(), run.plan, run.trace, {}).vector_units.has_value());
}

TEST_CASE("Shares on unlimited units are capped at the whole device") {
  TinyRun run = tiny_run();
  run.platform.devices[DeviceId{0}].unit_class_of.fill(UnitClassId::none());
  run.costs = CostTable{run.graph, run.platform, TinyModel{}};
  // a (0.4) and w (0.6) and b (1.0) at once in 0..10, then b alone to 20, v (0.2) in 20..25.
  run.trace.tasks = {
      span(0, 0, 0us, 10us), span(2, 1, 0us, 10us), span(1, 0, 0us, 20us), span(3, 1, 20us, 25us)};
  run.trace.ended = at(40us);
  const Summary summary = Summarizer{}.summarize(run.problem(), run.plan, run.trace, {});
  CHECK(summary.utilization == doctest::Approx((20 * 1.0 + 5 * 0.2) / 40.0));
  CHECK(graph_lower_bounds(run.problem()).work == Duration{0});
}

TEST_CASE("Where blocks share units, a slowed task counts with the work it has") {
  TinyRun run = tiny_run();
  run.platform.sharing = SharingModel::fluid;
  run.costs = CostTable{run.graph, run.platform, TinyModel{}};
  const Summary before = Summarizer{}.summarize(run.problem(), run.plan, run.trace, {});
  // b takes 36 us instead of 20: co-running, for the same work.
  run.trace.tasks[2].ended += 16us;
  const Summary after = Summarizer{}.summarize(run.problem(), run.plan, run.trace, {});
  CHECK(after.utilization == doctest::Approx(before.utilization));
  CHECK(after.busy_share == doctest::Approx((56 + 0) / 60.0));  // 2..58, v within
  // As long as every task were alone the shares of its class would add up to no more than the
  // bound.
  const LowerBounds bounds = graph_lower_bounds(run.problem());
  CHECK(to_us(bounds.work) == doctest::Approx(60 * before.utilization));
}

TEST_CASE("Memory that is freed at an instant can be used again at that instant") {
  TinyRun run = tiny_run();
  // w ends (x is freed) exactly when v starts (y comes to life).
  run.trace.tasks[3] = span(3, 0, 22us, 27us);
  CHECK(Summarizer{}.summarize(run.problem(), run.plan, run.trace, {}).peak_memory == 107_B);
  // One picosecond earlier both are alive.
  run.trace.tasks[3].started -= 1_ps;
  CHECK(Summarizer{}.summarize(run.problem(), run.plan, run.trace, {}).peak_memory == 137_B);
}

TEST_CASE("A tensor lives to the end of its last writer when it has no reader") {
  TinyRun run = tiny_run();
  run.trace.tasks[3] = span(3, 1, 3us, 8us);  // y in 3..8, x in 2..22
  CHECK(Summarizer{}.summarize(run.problem(), run.plan, run.trace, {}).peak_memory == 137_B);
}

TEST_CASE("A tensor that is last read on another device is freed where it lives") {
  TinyRun run = tiny_run();
  run.platform.devices.push_back(run.platform.devices[DeviceId{0}]);
  run.costs = CostTable{run.graph, run.platform, TinyModel{}};
  // w reads x on device 1 until 22; on device 0 y comes to life at 50, when x is gone.
  run.trace.tasks[1].device = DeviceId{1};
  CHECK(Summarizer{}.summarize(run.problem(), run.plan, run.trace, {}).peak_memory == 107_B);
  run.trace.tasks[3] = span(3, 1, 15us, 20us);  // while x is alive
  CHECK(Summarizer{}.summarize(run.problem(), run.plan, run.trace, {}).peak_memory == 137_B);
}

TEST_CASE("A task of no length holds no units and leaves no memory behind") {
  TinyRun run = tiny_run();
  run.trace.tasks[3] = span(3, 1, 30us, 30us);
  const Summary summary = Summarizer{}.summarize(run.problem(), run.plan, run.trace, {});
  CHECK(summary.utilization == doctest::Approx(300.0 / 600.0));
  CHECK(summary.peak_memory == 107_B);
}

TEST_CASE("An empty run has an empty summary") {
  const TaskGraph graph;
  const Platform platform = ideal_platform();
  const CostTable costs{graph, platform};
  const Summary summary = Summarizer{}.summarize({graph, platform, costs}, {}, {}, {});
  CHECK(summary.makespan == Duration{0});
  CHECK(summary.utilization == 0.0);
  CHECK(summary.gap == 0.0);
}

TEST_CASE("A summarizer carries nothing from one run to the next") {
  const TinyRun run = tiny_run();
  Summarizer reused;
  TinyRun other = tiny_run();
  other.trace.tasks.pop_back();
  const Summary first = reused.summarize(run.problem(), run.plan, run.trace, {});
  const Summary between = reused.summarize(other.problem(), other.plan, other.trace, {});
  CHECK(between != first);
  CHECK(reused.summarize(run.problem(), run.plan, run.trace, {}) == first);
}

TEST_CASE("Streams are busy or idle, before, between and after their tasks") {
  const TinyRun run = tiny_run();
  const Metrics metrics = compute_metrics(run.problem(), run.plan, run.trace);
  REQUIRE(metrics.stream_use.size() == 2);
  const StreamUse& main = metrics.stream_use[0];  // 2..12, 22..42
  CHECK(main.tasks == 2);
  CHECK(main.busy == 30us);
  CHECK(main.idle == 30us);
  CHECK(main.idle_before == 2us);
  CHECK(main.idle_between == 10us);
  CHECK(main.idle_after == 18us);
  const StreamUse& other = metrics.stream_use[1];  // 12..22, 50..55
  CHECK(other.busy == 15us);
  CHECK(other.idle_before == 12us);
  CHECK(other.idle_between == 28us);
  CHECK(other.idle_after == 5us);
}

TEST_CASE("Recorded host calls say how long hosts were busy and blocked") {
  TinyRun run = tiny_run();
  run.trace.hosts = {{HostId{0}, 0, HostCall::launch(StreamId{0}, TaskId{0}), at(0us), at(2us), {}},
                     {HostId{0}, 1, HostCall::synchronize_all(), at(2us), at(48us), 44us}};
  const Metrics metrics = compute_metrics(run.problem(), run.plan, run.trace);
  CHECK(metrics.host_blocked == 44us);
  CHECK(metrics.host_busy_share == doctest::Approx((2 + 46 - 44) / 60.0));
}

TEST_CASE("Times are ordered as a stable sort orders them, whatever their spread") {
  TimeOrder order;
  Rng rng{7};
  for (const std::int64_t spread : {1, 3, 50, 1'000'000}) {
    for (const std::size_t count : {0U, 1U, 2U, 33U, 1000U}) {
      CAPTURE(spread);
      CAPTURE(count);
      std::vector<std::int64_t> times(count);
      for (std::int64_t& time : times) {
        time = static_cast<std::int64_t>(rng.below(static_cast<std::uint64_t>(spread)));
      }
      if (count > 2) times[1] = 1'000'000'000'000;  // all others crowd into one bucket
      std::vector<std::uint32_t> expected(count);
      for (std::uint32_t i = 0; i < count; ++i) expected[i] = i;
      std::stable_sort(expected.begin(),
                       expected.end(),
                       [&times](std::uint32_t a, std::uint32_t b) { return times[a] < times[b]; });
      const auto result = order.by_time(times);
      CHECK(std::vector<std::uint32_t>(result.begin(), result.end()) == expected);
    }
  }
}

}  // namespace
}  // namespace schedlab
