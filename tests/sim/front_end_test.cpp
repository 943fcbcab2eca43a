// SPDX-License-Identifier: Apache-2.0
// The host's front end: in the thread that calls the driver, or on a thread of its own.
#include "sim/base/error.hpp"
#include "sim/engine/simulator.hpp"
#include "sim/trace/lower_bounds.hpp"

#include <algorithm>
#include <utility>
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

namespace {

/// Host h puts task h, of no duration, into the stream that `streams` names; its front end needs
/// front_ends[h], its driver 2 us.
Trace run_hosts(const std::vector<Duration>& front_ends,
                const std::vector<std::uint32_t>& streams,
                const std::vector<std::vector<HostCall>>& before = {},
                std::vector<MessageSpec> messages = {}) {
  TaskGraphBuilder builder;
  const OperationId operation = builder.add_operation({.name = "task"});
  Platform platform = ideal_platform();
  platform.hosts.resize(front_ends.size());
  platform.devices.resize(front_ends.size(), platform.devices[DeviceId{0}]);
  Plan plan;
  plan.messages = std::move(messages);
  plan.hosts.resize(front_ends.size());
  for (std::uint32_t h = 0; h < front_ends.size(); ++h) {
    Host& host = platform.hosts[HostId{h}];
    host.costs = {.launch = 2us, .front_end = front_ends[h]};
    host.front_end_thread = true;
    plan.streams.push_back({.device = DeviceId{h}});
    auto& calls = plan.hosts[HostId{h}].calls;
    if (!before.empty()) calls = before[h];
    calls.push_back(C::launch(StreamId{streams[h]}, builder.add_task(operation)));
  }
  const TaskGraph graph = std::move(builder).build();
  const CostTable costs{graph, platform};
  return simulate({graph, platform, costs}, plan, {.record_hosts = true});
}

}  // namespace

TEST_CASE("several hosts with two threads each do as each does alone") {
  constexpr std::int64_t n = 20;
  Platform platform = ideal_platform();
  platform.hosts.resize(2);
  platform.hosts[HostId{0}].costs = {.launch = 2us, .front_end = 7us};
  platform.hosts[HostId{1}].costs = {.launch = 7us, .front_end = 2us};
  for (const std::uint32_t depth : {0U, 1U, 4U}) {
    CAPTURE(depth);
    TaskGraphBuilder builder;
    const OperationId operation = builder.add_operation({.name = "task"});
    Plan plan;
    plan.hosts.resize(2);
    for (const HostId host : {HostId{0}, HostId{1}}) {
      platform.hosts[host].front_end_thread = true;
      platform.hosts[host].front_end_queue_depth = depth;
      const StreamId stream = plan.streams.push_back({});
      for (std::int64_t i = 0; i < n; ++i) {
        plan.hosts[host].calls.push_back(C::launch(stream, builder.add_task(operation)));
      }
    }
    const TaskGraph graph = std::move(builder).build();
    const CostTable costs{graph, platform};
    const Trace trace = simulate({graph, platform, costs}, plan);
    // Spans are in the order of hosts. The slower stage n times, the other once.
    CHECK(trace.tasks[n - 1].submitted == Time{n * 7us + 2us});
    CHECK(trace.tasks[2 * n - 1].submitted == Time{2us + n * 7us});
  }
}

TEST_CASE("into a shared stream tasks go in the order in which the hosts launch them") {
  // Host 0 has prepared its task at 30 us, host 1 at 10 us: the later one waits behind none.
  const Trace trace = run_hosts({30us, 10us}, {0, 0});
  CHECK(trace.tasks[1].started == Time{12us});
  CHECK(trace.tasks[0].started == Time{32us});
}

TEST_CASE("an event that another host records before a prepared call begins is seen by it") {
  // Host 0 prepares its task until 6 us and launches it until 8 us, then records (free). Host 1
  // waits after a launch that begins at 10 us: behind the record.
  TaskGraphBuilder builder;
  const OperationId slow = builder.add_operation({.name = "slow", .fixed_duration = 100us});
  const OperationId quick = builder.add_operation({.name = "quick"});
  const TaskId first = builder.add_task(slow);
  const TaskId second = builder.add_task(quick);
  const TaskId third = builder.add_task(quick);
  const TaskGraph graph = std::move(builder).build();
  Platform platform = ideal_platform();
  platform.hosts.resize(2);
  for (Host& host : platform.hosts) host.front_end_thread = true;
  platform.hosts[HostId{0}].costs = {.launch = 2us, .front_end = 6us};
  platform.hosts[HostId{1}].costs = {.launch = 2us, .front_end = 10us};
  Plan plan;
  plan.streams.resize(2);
  plan.event_count = 1;
  plan.hosts.resize(2);
  const StreamId s1{1};
  plan.hosts[HostId{0}].calls = {C::launch(s0, first), C::record(s0, EventId{0})};
  plan.hosts[HostId{1}].calls = {
      C::launch(s1, second), C::wait(s1, EventId{0}), C::launch(s1, third)};
  const CostTable costs{graph, platform};
  const Trace trace = simulate({graph, platform, costs}, plan);
  CHECK(trace.tasks[1].started == Time{12us});
  CHECK(trace.tasks[2].started == Time{108us});  // the first ends at 8 + 100
}

TEST_CASE("a front end prepares nothing while its program waits for a message") {
  // Without a network both ends meet when the sender comes, at 20 us; then 6 + 2 us of host 1.
  const Trace trace = run_hosts({6us, 6us},
                                {0, 1},
                                {{C::sleep_ns(20'000), C::send(0)}, {C::receive(0)}},
                                {{.from = HostId{0}, .to = HostId{1}, .bytes = Bytes{8}}});
  CHECK(trace.tasks[0].submitted == Time{28us});
  CHECK(trace.tasks[1].submitted == Time{28us});
}
