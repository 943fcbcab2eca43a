// SPDX-License-Identifier: Apache-2.0
#include "real_exec/cpu/cpu_executor.hpp"

#include "policies/registry.hpp"
#include "real_exec/cpu/proxy_work.hpp"
#include "sim/base/error.hpp"
#include "sim/plan/graph_capture.hpp"
#include "sim/plan/plan_builder.hpp"
#include "tests/real_exec/executor/fake_work.hpp"
#include "tests/support/random_plan.hpp"
#include "tests/support/scenes.hpp"

#include <doctest/doctest.h>

#include <algorithm>
#include <cstdint>
#include <set>
#include <string>
#include <thread>
#include <vector>

using namespace schedlab;
using schedlab::testing::FakeWork;
using schedlab::testing::Scene;

namespace {

CpuExecutorOptions options_for(std::uint32_t workers, HostPlacement host) {
  // Tests run beside others on machines with few cores: nothing is bound.
  return {.workers = workers, .host = host, .pin = false};
}

std::vector<TaskSpan> by_task(const Trace& trace) {
  std::vector<TaskSpan> spans = trace.tasks;
  std::sort(spans.begin(), spans.end(), [](const TaskSpan& a, const TaskSpan& b) {
    return a.task < b.task;
  });
  return spans;
}

void expect_order(const TaskGraph& graph, const Trace& trace) {
  const auto spans = by_task(trace);
  REQUIRE(spans.size() == graph.task_count());
  for (const TaskSpan& span : spans) {
    CHECK(span.submitted <= span.started);
    CHECK(span.started <= span.ended);
    CHECK(span.ended <= trace.ended);
    for (const TaskId needed : graph.predecessors(span.task)) {
      CHECK(spans[needed.value()].ended <= span.started);
    }
  }
}

}  // namespace

TEST_CASE(
    "the host spends the front end's time on every kernel it launches, and on no other call") {
  const Scene scene(schedlab::testing::gradient_grid(2, 3), Duration{1});
  constexpr Duration front_end = std::chrono::microseconds{50};
  CpuExecutor executor(options_for(1, HostPlacement::own_core));
  executor.run_options().front_end = front_end;
  FakeWork work(scene.graph);
  Execution run;
  const Plan plan = make_policy("diagonal")->plan(scene.problem());
  executor.run(scene.graph, plan, work, run);
  Time until{};
  for (const HostSpan& span : run.trace.hosts) {
    CHECK(span.started >= until);
    until = span.ended;
    if (span.what.kind() == HostCallKind::launch) CHECK(span.ended - span.started >= front_end);
  }
  // Six launches one after another are a lower bound of the run.
  CHECK(run.trace.makespan() >= 6 * front_end);

  // In a device graph nothing of it is left: one call, without a launch.
  executor.run(scene.graph, capture_graphs(plan), work, run);
  for (const HostSpan& span : run.trace.hosts) CHECK(span.what.kind() != HostCallKind::launch);
  CHECK(work.all_ran_once());
}

TEST_CASE("every policy's plan runs each task once and in order, wherever the host is") {
  const Scene scene(schedlab::testing::gradient_grid(4, 6), Duration{1});
  for (const HostPlacement host :
       {HostPlacement::own_core, HostPlacement::shares_core, HostPlacement::preloaded}) {
    CpuExecutor executor(options_for(3, host));
    for (const char* name : {"single_stream", "diagonal", "heft", "bottom_level", "random"}) {
      CAPTURE(name);
      CAPTURE(std::string{to_string(host)});
      FakeWork work(scene.graph, 3);
      Execution run;
      executor.run(scene.graph, make_policy(name)->plan(scene.problem()), work, run);
      CHECK(work.all_ran_once());
      CHECK(work.too_early == 0);
      expect_order(scene.graph, run.trace);
      CHECK(run.blocks.size() == 3 * scene.graph.task_count());
      CHECK(run.trace.hosts.empty() == (host == HostPlacement::preloaded));
    }
  }
}

TEST_CASE("an online policy decides in real time, and what it decided runs again") {
  const Scene scene(schedlab::testing::gradient_grid(3, 5), Duration{1});
  CpuExecutor executor(options_for(2, HostPlacement::own_core));
  const auto policy = make_policy("critical_first");
  const auto online = policy->online(scene.problem());
  REQUIRE(online != nullptr);
  FakeWork work(scene.graph);
  Execution run;
  executor.run(scene.problem(), *online, work, run);
  CHECK(work.all_ran_once());
  CHECK(work.too_early == 0);
  expect_order(scene.graph, run.trace);
  CHECK(run.plan.count(HostCallKind::launch) == scene.graph.task_count());
  const std::vector<HostCall>& made = run.plan.hosts[HostId{0}].calls;
  REQUIRE(run.trace.hosts.size() == made.size());
  // Answers of queries too: why a task was submitted late hangs on them.
  for (std::size_t i = 0; i < made.size(); ++i) CHECK(run.trace.hosts[i].what == made[i]);

  FakeWork again(scene.graph);
  Execution second;
  executor.run(scene.graph, run.plan, again, second);
  CHECK(again.all_ran_once());
  CHECK(again.too_early == 0);
  CHECK(second.plan == run.plan);

  // Captured into device graphs it needs no host while it runs.
  CpuExecutor preloaded(options_for(2, HostPlacement::preloaded));
  const Plan captured = capture_graphs(run.plan);
  preloaded.run(scene.graph, captured, work, second);
  CHECK(work.all_ran_once());
  CHECK(work.too_early == 0);
  Plan asking = run.plan;
  auto& calls = asking.hosts[HostId{0}].calls;
  calls.insert(calls.begin() + 1, HostCall::sleep_ns(10));
  CHECK_THROWS_WITH_AS(preloaded.run(scene.graph, asking, work, second),
                       doctest::Contains("graph_launch"),
                       InfeasibleError);
}

TEST_CASE("blocks of a kernel run side by side on several workers") {
  TaskGraphBuilder builder;
  builder.add_task(builder.add_operation({.name = "wide", .kernels = {}}));
  const Scene scene(std::move(builder).build(), Duration{1});
  CpuExecutor executor(options_for(4, HostPlacement::preloaded));
  FakeWork work(scene.graph, 4);
  std::atomic<int> inside{0};
  work.body = [&](TaskId, std::uint32_t) {
    // Ends only when all four are in: with fewer than four workers it never would.
    ++inside;
    while (inside.load() < 4) std::this_thread::yield();
  };
  Execution run;
  executor.run(scene.graph, make_policy("single_stream")->plan(scene.problem()), work, run);
  std::set<std::uint32_t> workers;
  for (const BlockSpan& span : run.blocks) workers.insert(span.worker);
  CHECK(workers.size() == 4);
  CHECK(run.trace.tasks.size() == 1);
}

TEST_CASE("synchronize returns when its stream, its event or everything is done") {
  const TaskGraph graph = schedlab::testing::random_dag(1, 3, 0.0);
  Plan plan;
  plan.streams.resize(2);
  plan.event_count = 1;
  plan.hosts[HostId{0}].calls = {HostCall::launch(StreamId{0}, TaskId{0}),
                                 HostCall::record(StreamId{0}, EventId{0}),
                                 HostCall::synchronize_event(EventId{0}),
                                 HostCall::launch(StreamId{1}, TaskId{1}),
                                 HostCall::synchronize_stream(StreamId{1}),
                                 HostCall::launch(StreamId{0}, TaskId{2}),
                                 HostCall::synchronize_all()};
  CpuExecutor executor(options_for(2, HostPlacement::own_core));
  FakeWork work(graph);
  work.body = [](TaskId, std::uint32_t) {
    std::this_thread::sleep_for(std::chrono::milliseconds{2});
  };
  Execution run;
  executor.run(graph, plan, work, run);
  const auto spans = by_task(run.trace);
  REQUIRE(spans.size() == 3);
  CHECK(spans[0].ended <= spans[1].submitted);
  CHECK(spans[1].ended <= spans[2].submitted);
  const HostSpan& last = run.trace.hosts.back();
  CHECK(last.ended >= spans[2].ended);
  CHECK(last.blocked > Duration{0});
}

TEST_CASE("tasks that spin last as long as they were told last") {
  const Scene scene(schedlab::testing::gradient_grid(2, 2), std::chrono::hours{1});
  ProxyWork work(scene.graph, scene.costs, {.kernels = ProxyKernels::spin});
  work.set_durations(IdVector<TaskId, Duration>(scene.graph.task_count(), Duration{0}));
  CpuExecutor executor(options_for(1, HostPlacement::preloaded));
  Execution run;
  executor.run(scene.graph, make_policy("diagonal")->plan(scene.problem()), work, run);  // returns
  CHECK(run.trace.tasks.size() == scene.graph.task_count());
}

TEST_CASE("a proxy of a graph spins as long as its costs say") {
  // Not the length of anything is checked, which a busy machine decides, but the ratio within one
  // run: 16 blocks on two workers, each of an eighth of the task.
  TaskGraphBuilder builder;
  Kernel kernel{.kind = TaskKind::pointwise};
  kernel.grid.blocks = 16;
  builder.add_task(builder.add_operation({.name = "wide", .kernels = {kernel}}));
  TaskGraph graph = std::move(builder).build();
  Scene scene(std::move(graph), Duration{std::chrono::microseconds{800}});
  ProxyWork work(scene.graph, scene.costs, {.kernels = ProxyKernels::spin, .workers = 2});
  CHECK(work.blocks(TaskId{0}, 0) == 16);
  CpuExecutor executor(options_for(2, HostPlacement::preloaded));
  Execution run;
  executor.run(scene.graph, make_policy("single_stream")->plan(scene.problem()), work, run);
  REQUIRE(run.blocks.size() == 16);
  for (const BlockSpan& span : run.blocks) CHECK(span.ended - span.started > Duration{0});
}
