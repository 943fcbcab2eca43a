// SPDX-License-Identifier: Apache-2.0
// Every rule is read off simulated machines whose parameters are known and differ from test to
// test.
#include "calibration/device_calibration.hpp"
#include "calibration/device_experiments.hpp"
#include "calibration/simulated_device_bench.hpp"
#include "hw_models/machine_spec.hpp"
#include "sim/base/error.hpp"
#include "sim/base/robust_statistics.hpp"

#include <doctest/doctest.h>

#include <algorithm>
#include <functional>
#include <string>
#include <string_view>
#include <utility>

namespace schedlab {
namespace {

using namespace std::chrono_literals;

/// An H200 with 16 multiprocessors and numbers of its own.
Platform made_up(SharingModel sharing = SharingModel::blocks) {
  Platform platform = load_machine("h200").platform;
  platform.sharing = sharing;
  Host& host = platform.hosts[HostId{0}];
  host.costs = {.launch = 2us,
                .record = 500ns,
                .wait = 600ns,
                .query = 400ns,
                .synchronize = 300ns,
                .wake_up = 5us,
                .graph_launch = 2500ns,
                .graph_launch_node = 10ns};
  host.launch_queue_depth = 1000;
  Device& device = platform.devices[DeviceId{0}];
  device.unit_classes[UnitClassId{0}].count = 16;
  device.launch_latency = 1200ns;
  device.stream_gap = 900ns;
  device.graph_node_gap = 550ns;
  device.event_latency = 1700ns;
  return platform;
}

/// A device of streams alone, as OpenCL's are where products are in the plan.
class StreamsAlone final : public DeviceBench {
 public:
  explicit StreamsAlone(Platform platform) : bench_(std::move(platform)) {}
  [[nodiscard]] DeviceFacts facts() const override {
    DeviceFacts facts = bench_.facts();
    facts.device_graphs = false;
    return facts;
  }
  [[nodiscard]] const SmLimits& limits() const override { return bench_.limits(); }
  void run(const Microbenchmark& benchmark,
           const std::function<bool(const BenchRun&)>& again) override {
    if (!benchmark.plan.graphs.empty()) throw InfeasibleError("no device graphs");
    bench_.run(benchmark, again);
  }

 private:
  SimulatedDeviceBench bench_;
};

RuleReading read(std::vector<RuleReading> (*measure)(DeviceBench&, const BenchEffort&),
                 std::string_view name,
                 const Platform& platform,
                 double variation = 0) {
  SimulatedDeviceBench bench{platform, variation};
  const auto readings = measure(bench, {.runs = variation > 0 ? 9U : 1U});
  const auto found = std::find_if(
      readings.begin(), readings.end(), [&](const RuleReading& one) { return one.name == name; });
  REQUIRE(found != readings.end());
  return *found;
}

double value(std::vector<RuleReading> (*measure)(DeviceBench&, const BenchEffort&),
             std::string_view name,
             const Platform& platform,
             double variation = 0) {
  const RuleReading reading = read(measure, name, platform, variation);
  CAPTURE(reading.note);
  REQUIRE(reading.measured());
  return median(reading.values);
}

}  // namespace

TEST_CASE("without device graphs copies and slow-downs beside others are read off streams") {
  Platform platform = made_up(SharingModel::fluid);
  StreamsAlone bench{platform};
  const auto readings = measure_copies(bench, {.runs = 1});
  REQUIRE(readings.size() == 6);
  const double rate =
      platform.device(DeviceId{0}).rates.host_to_device.count();  // bytes per second
  REQUIRE(readings[0].name == "host_to_device_bandwidth");
  CHECK(readings[0].values.front() == doctest::Approx(rate / 1e9).epsilon(0.01));
  constexpr CutRule cut{.flops_per_block = 1e6, .bytes_per_block = 65536};
  const CoRunSlowDown slow =
      measure_kernel_co_run(bench, {.runs = 1}, TaskKind::pointwise, 0, cut, bench.facts().units);
  CHECK(slow.kind == TaskKind::pointwise);
  CHECK(slow.factor >= 1.0);
}

TEST_CASE("costs of host calls are read off a row of calls") {
  Platform platform = made_up();
  CHECK(value(measure_calls, "host_launch", platform) == doctest::Approx(2.0));
  CHECK(value(measure_calls, "host_record", platform) == doctest::Approx(0.5));
  CHECK(value(measure_calls, "host_wait", platform) == doctest::Approx(0.6));
  CHECK(value(measure_calls, "host_query", platform) == doctest::Approx(0.4));
  platform.hosts[HostId{0}].costs.launch = 3700ns;
  CHECK(value(measure_calls, "host_launch", platform) == doctest::Approx(3.7));
}

TEST_CASE("launch latency and wake-up are told apart") {
  Platform platform = made_up();
  CHECK(value(measure_round_trip, "launch_latency", platform) == doctest::Approx(1.2));
  CHECK(value(measure_round_trip, "wake_up", platform) == doctest::Approx(5.0));
  CHECK(value(measure_round_trip, "host_synchronize", platform) == doctest::Approx(0.3));
  platform.hosts[HostId{0}].costs.wake_up = 12us;
  CHECK(value(measure_round_trip, "launch_latency", platform) == doctest::Approx(1.2));
  CHECK(value(measure_round_trip, "wake_up", platform) == doctest::Approx(12.0));
}

TEST_CASE("gaps are read off rows of kernels, eager and in a graph") {
  Platform platform = made_up();
  CHECK(value(measure_stream_gap, "stream_gap", platform) == doctest::Approx(0.9));
  CHECK(value(measure_device_graph, "graph_node_gap", platform) == doctest::Approx(0.55));
  CHECK(value(measure_device_graph, "graph_launch", platform) == doctest::Approx(2.5));
  CHECK(value(measure_device_graph, "graph_launch_node", platform) == doctest::Approx(0.01));
  platform.devices[DeviceId{0}].stream_gap = 2300ns;
  platform.devices[DeviceId{0}].graph_node_gap = 1300ns;
  platform.hosts[HostId{0}].costs.graph_launch_node = 200ns;
  CHECK(value(measure_stream_gap, "stream_gap", platform) == doctest::Approx(2.3));
  CHECK(value(measure_device_graph, "graph_node_gap", platform) == doctest::Approx(1.3));
  CHECK(value(measure_device_graph, "graph_launch_node", platform) == doctest::Approx(0.2));
}

TEST_CASE("the gap of programmatic launches is read off a row of them, or it is said why not") {
  Platform platform = made_up();
  for (const Duration gap : {Duration{70ns}, Duration{0}, Duration{450ns}}) {
    platform.devices[DeviceId{0}].programmatic_gap = gap;
    CHECK(value(measure_programmatic_gap, "programmatic_gap", platform) ==
          doctest::Approx(to_us(gap)));
    const Platform fluid = [&] {
      Platform other = platform;
      other.sharing = SharingModel::fluid;
      return other;
    }();
    CHECK(value(measure_programmatic_gap, "programmatic_gap", fluid) ==
          doctest::Approx(to_us(gap)));
  }
  platform.devices[DeviceId{0}].programmatic_gap.reset();
  const RuleReading none = read(measure_programmatic_gap, "programmatic_gap", platform);
  CHECK_FALSE(none.measured());
  CHECK(none.note.find("no programmatic launches") != std::string::npos);
}

TEST_CASE("kernels that scatter leave the gap within its error") {
  // 1 % of 8 us on each of 100 kernels: 0.08 us / sqrt(100), and the median of 9 runs.
  const double gap = value(measure_stream_gap, "stream_gap", made_up(), 0.01);
  CHECK(gap > 0.85);
  CHECK(gap < 0.95);
}

TEST_CASE("the latency of an event is read off hops between streams") {
  Platform platform = made_up();
  CHECK(value(measure_event_latency, "event_latency", platform) == doctest::Approx(1.7));
  platform.devices[DeviceId{0}].event_latency = 4us;
  CHECK(value(measure_event_latency, "event_latency", platform) == doctest::Approx(4.0));
}

TEST_CASE("the depth of the launch queue is the number of launches before the host is held up") {
  for (const std::uint32_t depth : {64U, 1000U, 1024U}) {
    Platform platform = made_up();
    platform.hosts[HostId{0}].launch_queue_depth = depth;
    CHECK(value(measure_launch_queue, "launch_queue_depth", platform) == depth);
    CHECK(value(measure_launch_queue, "launch_queue_per_stream", platform) == 1.0);
  }
  Platform unbounded = made_up();
  unbounded.hosts[HostId{0}].launch_queue_depth = 0;
  const RuleReading reading = read(measure_launch_queue, "launch_queue_depth", unbounded);
  CHECK(reading.at_least);
  CHECK(reading.values.front() == 4097.0);  // the blocker and 4096 more
  CHECK_FALSE(read(measure_launch_queue, "launch_queue_per_stream", unbounded).measured());
}

TEST_CASE("connections are the distance between streams that wait for one another") {
  for (const std::uint32_t connections : {1U, 2U, 8U, 32U}) {
    for (const SharingModel sharing : {SharingModel::blocks, SharingModel::fluid}) {
      CAPTURE(connections);
      Platform platform = made_up(sharing);
      platform.devices[DeviceId{0}].connections = connections;
      const RuleReading reading = read(measure_connections, "connections", platform);
      CHECK_FALSE(reading.at_least);
      CHECK(reading.values.front() == connections);
    }
  }
  Platform unlimited = made_up();
  unlimited.devices[DeviceId{0}].connections = 0;
  CHECK(read(measure_connections, "connections", unlimited).at_least);
}

TEST_CASE("levels of priority are counted by which kernel runs first") {
  for (const std::uint32_t levels : {1U, 2U, 3U, 6U}) {
    for (const SharingModel sharing : {SharingModel::blocks, SharingModel::fluid}) {
      CAPTURE(levels);
      Platform platform = made_up(sharing);
      platform.devices[DeviceId{0}].priority_levels = levels;
      const RuleReading reading = read(measure_priorities, "priority_levels", platform);
      CHECK_FALSE(reading.at_least);
      REQUIRE(reading.measured());
      CHECK(reading.values.front() == levels);
    }
  }
  Platform many = made_up();
  many.devices[DeviceId{0}].priority_levels = 20;
  const RuleReading bound = read(measure_priorities, "priority_levels", many);
  CHECK(bound.at_least);
  CHECK(bound.values.front() == 7.0);

  Platform narrow = made_up();
  narrow.devices[DeviceId{0}].connections = 2;
  const RuleReading unread = read(measure_priorities, "priority_levels", narrow);
  CHECK_FALSE(unread.measured());
  CHECK(unread.note == "needs 8 connections and there are 2");
}

TEST_CASE("a kernel that does not fit holds up one that would, also a less urgent one") {
  const Platform platform = made_up();
  CHECK(value(measure_blocking, "head_of_line_blocking", platform) == 1.0);
  CHECK(value(measure_blocking, "priority_blocking", platform) == 1.0);
  Platform flat = platform;
  flat.devices[DeviceId{0}].priority_levels = 1;
  CHECK_FALSE(read(measure_blocking, "priority_blocking", flat).measured());
}

TEST_CASE("blocking is not read where the small kernel would wait for the first one anyway") {
  // In `fluid` a kernel with a block on every unit leaves no slots.
  const RuleReading reading =
      read(measure_blocking, "priority_blocking", made_up(SharingModel::fluid));
  CHECK_FALSE(reading.measured());
  CHECK(reading.note ==
        "a small kernel does not start beside the first one even when nothing else waits");
}

namespace {

/// A device that lets kernels past those that do not fit: only the time of the last task, the small
/// one, is moved to just after its launch.
class WorkConserving final : public DeviceBench {
 public:
  explicit WorkConserving(Platform platform) : inner_(std::move(platform)) {}
  [[nodiscard]] DeviceFacts facts() const override { return inner_.facts(); }
  [[nodiscard]] const SmLimits& limits() const override { return inner_.limits(); }
  void run(const Microbenchmark& benchmark,
           const std::function<bool(const BenchRun&)>& again) override {
    inner_.run(benchmark, [&](const BenchRun& run) {
      BenchRun other = run;
      TaskSpan& small = other.trace.tasks.back();
      small.ended = small.submitted + small.duration() + 2us;
      return again(other);
    });
  }

 private:
  SimulatedDeviceBench inner_;
};

}  // namespace

TEST_CASE("a device that passes over what does not fit is told apart") {
  WorkConserving bench{made_up()};
  const auto readings = measure_blocking(bench, {.runs = 3});
  REQUIRE(readings.size() == 2);
  for (const RuleReading& reading : readings) {
    CAPTURE(reading.name);
    CHECK(reading.values == std::vector<double>{0.0, 0.0, 0.0});
  }
}

TEST_CASE("where blocks share units a kernel starts in the tail of another, whole units are kept") {
  CHECK(value(measure_tail, "starts_in_tail", made_up(SharingModel::blocks)) == 1.0);
  CHECK(value(measure_tail, "starts_in_tail", made_up(SharingModel::fluid)) == 1.0);
  CHECK(value(measure_tail, "starts_in_tail", made_up(SharingModel::exclusive)) == 0.0);
}

TEST_CASE("resident kernels are counted by when one more doubles the time") {
  for (const std::uint32_t limit : {16U, 32U, 128U}) {
    CAPTURE(limit);
    Platform platform = made_up();
    platform.devices[DeviceId{0}].resident_kernels = limit;
    CHECK(value(measure_resident_kernels, "resident_kernels", platform) == limit);
  }
  Platform unlimited = made_up();
  unlimited.devices[DeviceId{0}].resident_kernels = 0;
  CHECK(read(measure_resident_kernels, "resident_kernels", unlimited).at_least);
}

TEST_CASE("blocks go to empty units first where their places are seen") {
  CHECK(value(measure_placement, "empty_units_first", made_up(SharingModel::blocks)) == 1.0);
  const RuleReading unseen =
      read(measure_placement, "empty_units_first", made_up(SharingModel::fluid));
  CHECK_FALSE(unseen.measured());
  CHECK(unseen.note == "where blocks ran is not recorded here");
}

TEST_CASE("copies show bandwidth, fixed part and which of them overlap") {
  Platform platform = made_up(SharingModel::fluid);
  Device& device = platform.devices[DeviceId{0}];
  device.rates.host_to_device = Bandwidth{50e9};
  device.rates.device_to_host = Bandwidth{25e9};
  device.rates.copy_latency = 6us;
  CHECK(value(measure_copies, "host_to_device_bandwidth", platform) == doctest::Approx(50.0));
  CHECK(value(measure_copies, "device_to_host_bandwidth", platform) == doctest::Approx(25.0));
  CHECK(value(measure_copies, "host_to_device_latency", platform) ==
        doctest::Approx(6.0).epsilon(0.01));
  // Of 8 copies each way, at 50 and 25 GB/s, only the slower count: (1 + 2) / 2.
  CHECK(value(measure_copies, "copy_overlap", platform) == doctest::Approx(1.5).epsilon(0.02));
  CHECK(value(measure_copies, "copy_overlap_same_direction", platform) ==
        doctest::Approx(1.0).epsilon(0.02));
}

TEST_CASE("kernels that want the same slow each other down, others do not") {
  Platform platform = made_up(SharingModel::fluid);
  UnitClass& units = platform.devices[DeviceId{0}].unit_classes[UnitClassId{0}];
  units.count = 132;
  CHECK(value(measure_co_runs, "co_run_memory_memory", platform) ==
        doctest::Approx(2.0).epsilon(0.05));
  // A product of 1024 by 1024 fills the device, so two take nearly twice the time of one ...
  CHECK(value(measure_co_runs, "co_run_compute_compute", platform) > 1.8);
  // ... and on unlimited units two run as if alone.
  units.count = 0;
  CHECK(value(measure_co_runs, "co_run_compute_compute", platform) < 1.1);
}

}  // namespace schedlab
