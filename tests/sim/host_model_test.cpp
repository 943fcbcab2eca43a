// SPDX-License-Identifier: Apache-2.0
// Closed forms of one stream that a host feeds, through the real simulator.
#include "sim/base/error.hpp"
#include "sim/base/rng.hpp"
#include "sim/engine/simulator.hpp"
#include "sim/plan/graph_capture.hpp"
#include "sim/trace/lower_bounds.hpp"
#include "sim/trace/metrics.hpp"

#include <doctest/doctest.h>

#include <algorithm>
#include <cstdint>
#include <utility>
#include <vector>

using namespace schedlab;

namespace {

constexpr StreamId s0{0};

/// Tasks of one stream in launch order: what each costs the host, and how long it runs.
struct Feed {
  std::vector<std::uint32_t> kernels;  ///< operators of each task
  std::vector<Duration> pauses;        ///< the host sleeps before the launch; empty: never
  std::vector<Duration> durations;
  Host host;

  [[nodiscard]] TaskGraph graph() const {
    TaskGraphBuilder builder;
    for (const std::uint32_t count : kernels) {
      Operation operation{.name = "task"};
      operation.kernels.resize(count);
      builder.add_task(builder.add_operation(std::move(operation)));
    }
    return std::move(builder).build();
  }
  [[nodiscard]] Plan plan() const {
    Plan plan;
    plan.streams.resize(1);
    auto& calls = plan.hosts[HostId{0}].calls;
    for (std::uint32_t i = 0; i < kernels.size(); ++i) {
      if (!pauses.empty()) {
        calls.push_back(HostCall::sleep_ns(static_cast<std::uint32_t>(pauses[i].count() / 1000)));
      }
      calls.push_back(HostCall::launch(s0, TaskId{i}));
    }
    return plan;
  }
  [[nodiscard]] Metrics run() const {
    const TaskGraph graph = this->graph();
    Platform platform = ideal_platform();
    platform.hosts[HostId{0}] = host;
    CostTable costs{graph, platform};
    IdVector<TaskId, Duration> lengths;
    for (const Duration duration : durations) lengths.push_back(duration);
    costs.set_task_durations(std::move(lengths));
    const Plan plan = this->plan();
    const Problem problem{graph, platform, costs};
    const Trace trace =
        simulate(problem, plan, {.engine = EngineKind::event, .record_hosts = true});
    if (!host.front_end_thread) {
      const Trace swept =
          simulate(problem, plan, {.engine = EngineKind::in_order, .record_hosts = true});
      CHECK(swept == trace);
      // Without recording another loop of the sweep makes the calls.
      CHECK(simulate(problem, plan, {.engine = EngineKind::in_order}).tasks == trace.tasks);
    }
    return compute_metrics(problem, plan, trace);
  }
};

/// max over i of (sum of h up to i) + (sum of d from i on): the host is the bottleneck up to task
/// i, the device from there on.
Duration closed_form(const std::vector<Duration>& h, const std::vector<Duration>& d) {
  Duration longest{0};
  for (std::size_t i = 0; i < h.size(); ++i) {
    Duration sum{0};
    for (std::size_t j = 0; j <= i; ++j) sum += h[j];
    for (std::size_t j = i; j < d.size(); ++j) sum += d[j];
    longest = std::max(longest, sum);
  }
  return longest;
}

Feed equal_tasks(std::uint32_t count, Duration duration, const Host& host) {
  return {.kernels = std::vector<std::uint32_t>(count, 1),
          .pauses = {},
          .durations = std::vector<Duration>(count, duration),
          .host = host};
}

Host staged_host() {
  Host host;
  host.costs.front_end = 5us;
  host.costs.conversion = 3us;
  host.costs.shape_inference = 2us;
  host.costs.tiling = 4us;
  host.costs.allocation = 1us;
  host.costs.launch = 6us;
  return host;
}

}  // namespace

TEST_CASE("one stream fed by a host lasts as long as its worst hand-over, on random costs") {
  for (std::uint64_t seed = 1; seed <= 40; ++seed) {
    CAPTURE(seed);
    Rng rng{seed};
    Feed feed{.kernels = {}, .pauses = {}, .durations = {}, .host = staged_host()};
    feed.host.operator_tasks = 1 + static_cast<std::uint32_t>(rng.below(3));
    // What an operator costs: 5 + 3 + 2 + 4 + 1 us, and 6 us for each of its device tasks.
    const Duration per_operator = 15us + std::int64_t{feed.host.operator_tasks} * 6us;
    std::vector<Duration> h;
    const std::size_t count = 1 + rng.below(60);
    for (std::size_t i = 0; i < count; ++i) {
      const auto kernels = 1 + static_cast<std::uint32_t>(rng.below(3));
      const Duration pause = std::chrono::nanoseconds{rng.below(40'000)};
      feed.kernels.push_back(kernels);
      feed.pauses.push_back(pause);
      feed.durations.emplace_back(static_cast<std::int64_t>(rng.below(150'000'000)));
      h.push_back(pause + per_operator * std::int64_t{kernels});
    }
    CHECK(feed.run().makespan == closed_form(h, feed.durations));
  }
}

TEST_CASE("the host is the bottleneck up to the operator size at which both cost the same") {
  constexpr std::uint32_t n = 100;
  const Host host = staged_host();  // 15 + 6 = 21 us an operator
  for (const std::int64_t us : {1, 20, 21, 22, 80}) {
    CAPTURE(us);
    const Duration d = us * Duration{1us};
    const Metrics metrics = equal_tasks(n, d, host).run();
    // Equal h and d: host-bound n*h + d, device-bound h + n*d; equal at d = h.
    CHECK(metrics.makespan == std::max(n * Duration{21us} + d, 21us + n * d));
    // The device waits for the first operator, and for each other one the rest of 21 us.
    const Duration waited = 21us + (n - 1) * std::max(21us - d, Duration{0});
    const auto whole = static_cast<double>(metrics.makespan.count());
    CHECK(metrics.host_bound_share == doctest::Approx(static_cast<double>(waited.count()) / whole));
    CHECK(metrics.host_busy_share ==
          doctest::Approx(static_cast<double>(Duration{n * 21us}.count()) / whole));
  }
}

TEST_CASE("with two threads the slower of preparation and launch sets the pace") {
  constexpr std::int64_t n = 200;
  for (const std::uint32_t tasks : {1U, 2U, 4U}) {
    CAPTURE(tasks);
    Host host = staged_host();
    host.front_end_thread = true;
    host.front_end_queue_depth = 8;
    host.operator_tasks = tasks;
    const Duration prepare = 15us;
    const Duration launch = std::int64_t{tasks} * 6us;
    const Metrics metrics = equal_tasks(n, Duration{0}, host).run();
    CHECK(metrics.makespan == std::min(prepare, launch) + n * std::max(prepare, launch));
    CHECK(metrics.bounds.host_issue == n * std::max(prepare, launch));
    // Both threads work: the share is that of the busier one, recorded or not.
    CHECK(metrics.host_busy_share ==
          doctest::Approx(static_cast<double>((n * std::max(prepare, launch)).count()) /
                          static_cast<double>(metrics.makespan.count())));
  }
}

TEST_CASE("without recording, too, a run ends when the last node of its graph does") {
  TaskGraphBuilder builder;
  const OperationId operation = builder.add_operation({.name = "task", .fixed_duration = 7us});
  for (int i = 0; i < 3; ++i) builder.add_task(operation);
  const TaskGraph graph = std::move(builder).build();
  Plan plan;
  plan.streams.resize(1);
  for (std::uint32_t i = 0; i < 3; ++i) {
    plan.hosts[HostId{0}].calls.push_back(HostCall::launch(s0, TaskId{i}));
  }
  plan = capture_graphs(plan);
  const Platform platform = ideal_platform();
  const CostTable costs{graph, platform};
  const Problem problem{graph, platform, costs};
  for (const EngineKind engine : {EngineKind::event, EngineKind::in_order}) {
    CHECK(simulate(problem, plan, {.engine = engine}).makespan() == 3 * 7us);
  }
}

TEST_CASE("each named stage adds its own time per operator, and no other") {
  constexpr std::int64_t n = 30;
  const Host whole = staged_host();
  const Duration all = equal_tasks(n, Duration{0}, whole).run().makespan;
  CHECK(all == n * 21us);
  const auto without = [&](Duration HostCosts::*stage) {
    Host host = whole;
    host.costs.*stage = Duration{0};
    return equal_tasks(n, Duration{0}, host).run().makespan;
  };
  CHECK(without(&HostCosts::front_end) == all - n * 5us);
  CHECK(without(&HostCosts::conversion) == all - n * 3us);
  CHECK(without(&HostCosts::shape_inference) == all - n * 2us);
  CHECK(without(&HostCosts::tiling) == all - n * 4us);
  CHECK(without(&HostCosts::allocation) == all - n * 1us);
  CHECK(without(&HostCosts::launch) == all - n * 6us);
}
