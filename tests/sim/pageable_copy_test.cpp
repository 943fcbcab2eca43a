// SPDX-License-Identifier: Apache-2.0
#include "sim/base/error.hpp"
#include "sim/engine/simulator.hpp"

#include <doctest/doctest.h>

#include <string>
#include <utility>
#include <vector>

using namespace schedlab;
using namespace std::chrono_literals;
using C = schedlab::HostCall;

namespace {

constexpr TaskId in{0};
constexpr TaskId kernel{1};
constexpr TaskId out{2};
constexpr TaskId other{3};
constexpr StreamId s0{0};
constexpr StreamId s1{1};

/// A launch costs 1 us, a wake-up 2 us. Kernels last 10 us; copies are 100 kB over 10 GB/s, which
/// is 10 us as well.
struct Scene {
  Platform platform = ideal_platform();
  TaskGraph graph;
  Plan plan;

  explicit Scene(bool pageable) {
    platform.hosts[HostId{0}].costs.launch = 1us;
    platform.hosts[HostId{0}].costs.wake_up = 2us;
    DeviceRates& rates = platform.devices[DeviceId{0}].rates;
    rates.host_to_device = rates.device_to_host = Bandwidth{10e9};
    TaskGraphBuilder builder;
    const auto copy = [&](const char* name, TaskKind kind) {
      Kernel bytes{.kind = kind, .bytes_read = Bytes{100'000}, .bytes_written = Bytes{100'000}};
      bytes.pageable = pageable;
      return builder.add_operation({.name = name, .kind = kind, .kernels = {bytes}});
    };
    const OperationId compute = builder.add_operation({.name = "kernel"});
    builder.add_task(copy("in", TaskKind::copy_host_to_device), {}, "in");
    builder.add_task(compute, {}, "kernel");
    builder.add_task(copy("out", TaskKind::copy_device_to_host), {}, "out");
    builder.add_task(compute, {}, "other");
    graph = std::move(builder).build();
    plan.streams.resize(2);
    plan.hosts[HostId{0}].calls = {
        C::launch(s0, in), C::launch(s0, kernel), C::launch(s0, out), C::launch(s1, other)};
  }
  [[nodiscard]] Trace run(SharingModel sharing = SharingModel::exclusive) {
    struct Model final : CostModel {
      [[nodiscard]] std::string_view name() const override { return "model"; }
      [[nodiscard]] Estimate estimate(const Operation&, const Device&) const override {
        return {.duration = 10us, .share = 1.0, .bandwidth = {}};
      }
    };
    platform.sharing = sharing;
    const CostTable costs{graph, platform, Model{}};
    const Problem problem{graph, platform, costs};
    in_order = in_order_applies(problem, plan);
    return simulate(problem, plan, {.record_hosts = true});
  }
  bool in_order = false;
};

TaskSpan span_of(const Trace& trace, TaskId task) {
  for (const TaskSpan& span : trace.tasks) {
    if (span.task == task) return span;
  }
  return {};
}

Time at(Duration since_start) {
  return Time{} + since_start;
}

}  // namespace

TEST_CASE("copies of pinned memory cost the host their launch and no more") {
  Scene scene{false};
  const Trace trace = scene.run();
  CHECK(scene.in_order);
  CHECK(span_of(trace, in).started == at(1us));
  CHECK(span_of(trace, out).ended == at(31us));  // 1 + three times 10, one behind the other
  CHECK(span_of(trace, other).submitted == at(4us));
  CHECK(trace.ended == at(31us));
}

TEST_CASE("the host stages a copy from pageable memory, and waits for one to it") {
  for (const SharingModel sharing : {SharingModel::exclusive, SharingModel::fluid}) {
    CAPTURE(to_string(sharing));
    Scene scene{true};
    const Trace trace = scene.run(sharing);
    CHECK(!scene.in_order);
    CHECK(span_of(trace, in).submitted == at(11us));  // 1 of launch, 10 of staging
    CHECK(span_of(trace, in).started == at(11us));
    CHECK(span_of(trace, in).ended == at(21us));  // half the speed of a pinned copy
    CHECK(span_of(trace, kernel).submitted == at(12us));
    CHECK(span_of(trace, out).submitted == at(13us));
    CHECK(span_of(trace, out).started == at(31us));
    CHECK(span_of(trace, out).ended == at(41us));
    // Then 2 of wake-up and 10 from the buffer; only then the next launch.
    REQUIRE(trace.hosts.size() == 4);
    CHECK(trace.hosts[2].started == at(12us));
    CHECK(trace.hosts[2].ended == at(53us));
    CHECK(trace.hosts[2].blocked == 28us);  // from 13 to 41
    CHECK(span_of(trace, other).submitted == at(54us));
    CHECK(trace.ended == at(64us));
  }
}

TEST_CASE("the host may stage faster than the link") {
  Scene scene{true};
  scene.platform.devices[DeviceId{0}].rates.staging = Bandwidth{20e9};
  const Trace trace = scene.run();
  CHECK(span_of(trace, in).submitted == at(6us));
  CHECK(span_of(trace, out).ended == at(36us));
  CHECK(span_of(trace, other).submitted == at(44us));  // 36 + 2 + 5 + 1
}

TEST_CASE("a host that stages or waits holds up no other") {
  Scene scene{true};
  scene.plan.hosts[HostId{0}].calls.pop_back();
  scene.plan.hosts.push_back({"other", {C::launch(s1, other)}});
  const Trace trace = scene.run();
  CHECK(span_of(trace, other).started == at(1us));
  CHECK(trace.ended == at(53us));
}

TEST_CASE("with a full launch queue the host waits for a free slot before it stages") {
  Scene scene{true};
  scene.platform.hosts[HostId{0}].launch_queue_depth = 1;
  scene.plan.hosts[HostId{0}].calls = {
      C::launch(s0, kernel), C::launch(s0, in), C::launch(s0, out), C::launch(s0, other)};
  const Trace trace = scene.run();
  CHECK(span_of(trace, kernel).ended == at(11us));
  CHECK(span_of(trace, in).submitted == at(22us));  // 11 + 1 + 10
  CHECK(span_of(trace, out).submitted == at(33us));
  CHECK(span_of(trace, out).ended == at(43us));
  CHECK(span_of(trace, other).submitted == at(56us));  // 43 + 2 + 10 + 1
}

TEST_CASE("a device graph with a copy of pageable memory is refused") {
  Scene scene{true};
  DeviceGraph graph;
  graph.name = "step";
  for (std::uint32_t node = 0; node < 4; ++node) graph.add_node(s0, {});
  graph.add_launch(std::vector<TaskId>{in, kernel, out, other});
  scene.plan.graphs.push_back(graph);
  scene.plan.hosts[HostId{0}].calls = {C::graph_launch(s0, 0)};
  std::string message;
  try {
    static_cast<void>(scene.run());
  } catch (const InfeasibleError& error) {
    message = error.what();
  }
  CHECK(message.find("in copies pageable memory in step, which is not simulated") == 0);
}
