// SPDX-License-Identifier: Apache-2.0
// The host's front end: in the thread that calls the driver, or on a thread of its own.
#include "sim/base/error.hpp"
#include "sim/engine/simulator.hpp"
#include "sim/trace/lower_bounds.hpp"

#include <algorithm>
#include <vector>

using namespace schedlab;

namespace {

using C = HostCall;
constexpr StreamId s0{0};

struct Issue {
  Duration front_end{0};
  Duration launch{0};
  bool thread = true;
  std::uint32_t depth = 0;

  /// `count` tasks of no duration, or with `calls` whatever these say.
  [[nodiscard]] Trace run(std::uint32_t count, std::vector<HostCall> calls = {}) const {
    TaskGraphBuilder builder;
    const OperationId operation = builder.add_operation({.name = "task"});
    for (std::uint32_t i = 0; i < count; ++i) builder.add_task(operation);
    const TaskGraph graph = std::move(builder).build();
    Platform platform = ideal_platform();
    Host& host = platform.hosts[HostId{0}];
    host.costs.front_end = front_end;
    host.costs.launch = launch;
    host.front_end_thread = thread;
    host.front_end_queue_depth = depth;
    Plan plan;
    plan.streams.resize(1);
    if (calls.empty()) {
      for (std::uint32_t i = 0; i < count; ++i) calls.push_back(C::launch(s0, TaskId{i}));
    }
    plan.hosts[HostId{0}].calls = std::move(calls);
    const CostTable costs{graph, platform};
    const Problem problem{graph, platform, costs};
    CHECK(in_order_applies(problem, plan) == !thread);
    const Trace trace =
        simulate(problem, plan, {.engine = EngineKind::event, .record_hosts = true});
    if (!thread) CHECK(simulate(problem, plan, {.record_hosts = true}) == trace);
    CHECK(host_issue_time(problem, plan, HostId{0}) <= trace.makespan());
    return trace;
  }
  [[nodiscard]] Duration last_submitted(std::uint32_t count) const {
    return run(count).tasks.back().submitted.time_since_epoch();
  }
};

}  // namespace

TEST_CASE("one thread pays front end and driver for every launch") {
  CHECK(Issue{.front_end = 7us, .launch = 2us, .thread = false}.last_submitted(10) == 90us);
}

TEST_CASE("with two threads the slower stage sets the pace, the other shows once") {
  for (const std::uint32_t depth : {0U, 1U, 4U, 1000U}) {
    CAPTURE(depth);
    for (const std::int64_t n : {1, 2, 50}) {
      const auto count = static_cast<std::uint32_t>(n);
      CHECK(Issue{.front_end = 7us, .launch = 2us, .depth = depth}.last_submitted(count) ==
            n * 7us + 2us);
      CHECK(Issue{.front_end = 2us, .launch = 7us, .depth = depth}.last_submitted(count) ==
            2us + n * 7us);
    }
  }
}

TEST_CASE("without a front end a thread for it changes nothing") {
  const Issue with{.launch = 3us, .thread = true, .depth = 2};
  const Issue without{.launch = 3us, .thread = false};
  CHECK(with.run(8).tasks == without.run(8).tasks);
}

TEST_CASE("a synchronize drains the queue: the front end goes on after it") {
  // Prepared at 4, made until 14; the synchronize returns at 14, the next is prepared at 18.
  const Trace trace = Issue{.front_end = 4us, .launch = 10us}.run(
      2, {C::launch(s0, TaskId{0}), C::synchronize_all(), C::launch(s0, TaskId{1})});
  CHECK(trace.tasks[0].submitted == Time{14us});
  CHECK(trace.tasks[1].submitted == Time{28us});
}

TEST_CASE("a query takes its turn behind the launches in the queue") {
  const std::vector<HostCall> calls{
      C::launch(s0, TaskId{0}), C::launch(s0, TaskId{1}), C::launch(s0, TaskId{2}), C::query(s0)};
  const Trace bounded = Issue{.front_end = 1us, .launch = 10us, .depth = 1}.run(3, calls);
  CHECK(bounded.tasks[1].submitted == Time{21us});
  CHECK(bounded.tasks[2].submitted == Time{31us});
  CHECK(bounded.hosts[3].started == Time{31us});  // behind the launches, in the driver's thread
}

TEST_CASE("two threads are never slower than one, nor faster than the slower stage alone") {
  for (std::int64_t f = 0; f < 12; f += 3) {
    for (std::int64_t h = 0; h < 12; h += 2) {
      const Duration front = f * Duration{1us};
      const Duration driver = h * Duration{1us};
      const Duration two =
          Issue{.front_end = front, .launch = driver, .depth = 3}.last_submitted(20);
      const Duration one =
          Issue{.front_end = front, .launch = driver, .thread = false}.last_submitted(20);
      CHECK(two <= one);
      CHECK(two >= 20 * std::max(front, driver));
    }
  }
}

TEST_CASE("several hosts with a front end thread each are refused by name") {
  Platform platform = ideal_platform();
  platform.hosts[HostId{0}].front_end_thread = true;
  const TaskGraph graph = TaskGraphBuilder{}.build();
  const CostTable costs{graph, platform};
  Plan plan;
  plan.hosts.resize(2);
  CHECK_THROWS_WITH_AS(simulate({graph, platform, costs}, plan),
                       doctest::Contains("eager_two_thread"),
                       InfeasibleError);
}
