// SPDX-License-Identifier: Apache-2.0
// What summaries and critical paths say of random runs, tasks of no duration among them.
#include "policies/registry.hpp"
#include "sim/base/rng.hpp"
#include "sim/engine/simulator.hpp"
#include "sim/trace/attribution.hpp"
#include "sim/trace/metrics.hpp"
#include "tests/policies/planning_policies.hpp"

#include <doctest/doctest.h>

#include <numeric>
#include <string>
#include <utility>

namespace schedlab {
namespace {

/// Up to 40 tasks, a third of them of no duration, with few or many edges.
TaskGraph random_graph(Rng& rng) {
  TaskGraphBuilder builder;
  const std::uint64_t rare = 2 + rng.below(12);
  const auto tasks = static_cast<std::uint32_t>(1 + rng.below(40));
  for (std::uint32_t i = 0; i < tasks; ++i) {
    const Duration duration{rng.below(3) == 0 ? 0
                                              : static_cast<std::int64_t>(rng.below(20'000'000))};
    const OperationId operation =
        builder.add_operation({.name = "op" + std::to_string(i),
                               .kind = rng.below(2) == 0 ? TaskKind::gemm : TaskKind::pointwise,
                               .fixed_duration = duration});
    const TaskId task = builder.add_task(operation);
    for (std::uint32_t before = 0; before < i; ++before) {
      if (rng.below(rare) == 0) builder.add_edge(TaskId{before}, task);
    }
  }
  return std::move(builder).build();
}

Duration time(Rng& rng, std::uint64_t max_us) {
  return Duration{static_cast<std::int64_t>(rng.below(max_us + 1)) * 1'000'000};
}

Platform random_platform(Rng& rng) {
  Platform platform = ideal_platform(3);
  platform.sharing = static_cast<SharingModel>(rng.below(3));
  Device& device = platform.devices[DeviceId{0}];
  device.unit_class_of.fill(device.unit_classes.push_back(
      {.name = "unit", .count = static_cast<std::uint32_t>(1 + rng.below(8))}));
  device.launch_latency = time(rng, 5);
  device.stream_gap = time(rng, 2);
  device.event_latency = time(rng, 4);
  platform.hosts[HostId{0}].costs = {.launch = time(rng, 9),
                                     .record = time(rng, 2),
                                     .wait = time(rng, 2),
                                     .query = time(rng, 2),
                                     .synchronize = time(rng, 3),
                                     .wake_up = time(rng, 5)};
  return platform;
}

void check_share(double share) {
  CHECK(share >= 0);
  CHECK(share <= 1 + 1e-12);  // sums of rounded parts
}

TEST_CASE("shares of random runs lie between 0 and 1, and paths add up to the makespan") {
  for (std::uint64_t seed = 0; seed < 60; ++seed) {
    Rng rng{seed};
    const TaskGraph graph = random_graph(rng);
    const Platform platform = random_platform(rng);
    const CostTable costs{graph, platform};
    const Problem problem{graph, platform, costs};
    for (const PolicyInfo& info : testing::planning_policies()) {
      CAPTURE(seed);
      CAPTURE(info.name);
      const Plan plan = make_policy(info.name)->plan(problem);
      const Trace trace = simulate(problem, plan, {.record_hosts = true, .record_flows = true});
      const Metrics metrics = compute_metrics(problem, plan, trace);
      for (const double share : {metrics.utilization,
                                 metrics.busy_share,
                                 metrics.overlap_share,
                                 metrics.hidden_share,
                                 metrics.matrix_units.value_or(UnitClassUse{}).utilization,
                                 metrics.matrix_units.value_or(UnitClassUse{}).busy_share,
                                 metrics.matmul_share,
                                 metrics.host_busy_share,
                                 metrics.host_bound_share}) {
        check_share(share);
      }
      const Attribution where = attribute(problem, plan, trace, metrics.critical_path);
      CHECK(where.share(DeviceBound::host_bound) == doctest::Approx(metrics.host_bound_share));
      const TraceCriticalPath& path = metrics.critical_path;
      CHECK(std::accumulate(path.bound.begin(), path.bound.end(), Duration{0}) == trace.makespan());
      CHECK(path.running + path.tail +
                std::accumulate(path.waited.begin(), path.waited.end(), Duration{0}) ==
            trace.makespan());
      Time until{};
      for (const PathSpan& span : path.spans) {
        CHECK(span.begin == until);
        CHECK(span.end > span.begin);
        until = span.end;
      }
      CHECK(until == trace.ended);
    }
  }
}

}  // namespace
}  // namespace schedlab
