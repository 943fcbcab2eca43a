// SPDX-License-Identifier: Apache-2.0
#include "policies/registry.hpp"
#include "real_exec/cpu/cpu_executor.hpp"
#include "sim/base/error.hpp"
#include "tests/real_exec/executor/fake_work.hpp"
#include "tests/support/scenes.hpp"

#include <doctest/doctest.h>

#include <chrono>
#include <new>
#include <stdexcept>
#include <thread>

using namespace schedlab;
using schedlab::testing::FakeWork;
using schedlab::testing::Scene;

namespace {

CpuExecutorOptions two_workers(const StopFlag* stop = nullptr,
                               HostPlacement host = HostPlacement::own_core) {
  return {.workers = 2, .host = host, .pin = false, .stop = stop};
}

}  // namespace

TEST_CASE("a task that throws ends the run with its name, and what ran before is kept") {
  const Scene scene(schedlab::testing::gradient_grid(3, 4), Duration{1});
  const Plan plan = make_policy("diagonal")->plan(scene.problem());
  for (const HostPlacement host : {HostPlacement::own_core, HostPlacement::preloaded}) {
    CpuExecutor executor(two_workers(nullptr, host));
    FakeWork work(scene.graph);
    const TaskId bad{6};
    work.body = [&](TaskId task, std::uint32_t) {
      if (task == bad) throw std::runtime_error("no such weight");
    };
    Execution run;
    CHECK_THROWS_WITH_AS(
        executor.run(scene.graph, plan, work, run),
        doctest::Contains(
            (scene.graph.name(bad) + ", kernel 0, block 0 failed: no such weight").c_str()),
        ExecutionError);
    CHECK(run.trace.tasks.size() < scene.graph.task_count());
    // All that the task needs ran before it.
    CHECK(run.trace.tasks.size() >= scene.graph.predecessors(bad).size());

    // The executor is as good as new.
    FakeWork good(scene.graph);
    executor.run(scene.graph, plan, good, run);
    CHECK(good.all_ran_once());
    CHECK(run.trace.tasks.size() == scene.graph.task_count());
  }
}

TEST_CASE("an allocation that fails in a task is a clean error") {
  const Scene scene(schedlab::testing::gradient_grid(2, 2), Duration{1});
  CpuExecutor executor(two_workers());
  FakeWork work(scene.graph);
  work.body = [](TaskId, std::uint32_t) { throw std::bad_alloc(); };
  Execution run;
  CHECK_THROWS_WITH_AS(
      executor.run(scene.graph, make_policy("single_stream")->plan(scene.problem()), work, run),
      doctest::Contains("ran out of memory"),
      ExecutionError);
}

TEST_CASE("a run that is asked to stop does so, and keeps its partial trace") {
  const Scene scene(schedlab::testing::gradient_grid(4, 8), Duration{1});
  StopFlag stop{false};
  for (const HostPlacement host : {HostPlacement::own_core, HostPlacement::preloaded}) {
    stop = false;
    CpuExecutor executor(two_workers(&stop, host));
    FakeWork work(scene.graph);
    work.body = [&](TaskId task, std::uint32_t) {
      if (task == TaskId{9}) stop = true;
    };
    Execution run;
    CHECK_THROWS_AS(
        executor.run(scene.graph, make_policy("single_stream")->plan(scene.problem()), work, run),
        Interrupted);
    CHECK(run.trace.tasks.size() >= 10);
    CHECK(run.trace.tasks.size() < scene.graph.task_count());
  }
}

TEST_CASE("a host that sleeps for long stops too") {
  const TaskGraph graph = schedlab::testing::random_dag(1, 1, 0.0);
  StopFlag stop{false};
  CpuExecutor executor(two_workers(&stop));
  Plan plan;
  plan.streams.resize(1);
  plan.hosts[HostId{0}].calls = {HostCall::launch(StreamId{0}, TaskId{0}),
                                 HostCall::sleep_ns(4'000'000'000U)};
  FakeWork work(graph);
  work.body = [&](TaskId, std::uint32_t) { stop = true; };
  Execution run;
  CHECK_THROWS_AS(executor.run(graph, plan, work, run), Interrupted);
  CHECK(run.trace.ended < Time{std::chrono::seconds{3}});
}

TEST_CASE("a wait for a record with nothing before it passes, as it does on a GPU") {
  const TaskGraph graph = schedlab::testing::random_dag(1, 2, 0.0);
  Plan plan;
  plan.streams.resize(2);
  plan.event_count = 1;
  plan.hosts[HostId{0}].calls = {HostCall::record(StreamId{0}, EventId{0}),
                                 HostCall::wait(StreamId{1}, EventId{0}),
                                 HostCall::launch(StreamId{1}, TaskId{1}),
                                 HostCall::synchronize_stream(StreamId{1}),
                                 HostCall::launch(StreamId{0}, TaskId{0})};
  CpuExecutor executor(two_workers());
  FakeWork work(graph);
  Execution run;
  executor.run(graph, plan, work, run);
  CHECK(work.all_ran_once());
}

TEST_CASE("threads that cannot have cores of their own are refused with the count") {
  CHECK_THROWS_WITH_AS(
      CpuExecutor({.workers = available_cores() + 1, .host = HostPlacement::preloaded}),
      doctest::Contains("ask for fewer workers"),
      InfeasibleError);
}
