// SPDX-License-Identifier: Apache-2.0
#include "real_exec/cpu/cpu_executor.hpp"
#include "sim/base/rng.hpp"
#include "sim/plan/plan_check.hpp"
#include "tests/real_exec/executor/fake_work.hpp"
#include "tests/support/random_plan.hpp"
#include "tests/support/scenes.hpp"

#include <doctest/doctest.h>

#include <chrono>
#include <cstdint>
#include <thread>

using namespace schedlab;
using schedlab::testing::FakeWork;

TEST_CASE("thousands of tiny tasks: random graphs, streams, priorities, sleeps and queries") {
  CpuExecutor executor({.workers = 3, .host = HostPlacement::own_core, .pin = false});
  CpuExecutor sharing({.workers = 2, .host = HostPlacement::shares_core, .pin = false});
  for (std::uint64_t seed = 1; seed <= 12; ++seed) {
    CAPTURE(seed);
    const TaskGraph graph = test::random_graph(seed, {.tasks = 400});
    Plan plan = test::random_plan(graph, seed, 1 + static_cast<std::uint32_t>(seed % 7), true);
    Rng rng{seed};
    for (StreamSpec& stream : plan.streams) stream.priority = -static_cast<int>(rng.below(4));
    FakeWork work(graph, 1 + static_cast<std::uint32_t>(seed % 3));
    work.kernels = 1 + seed % 2;
    Execution run;
    CpuExecutor& used = seed % 2 == 0 ? executor : sharing;
    used.run(graph, plan, work, run);
    CHECK(work.all_ran_once());
    CHECK(work.too_early == 0);
    CHECK(run.trace.tasks.size() == graph.task_count());
  }
}

TEST_CASE("workers that have gone to sleep are woken for the next task") {
  // A chain whose tasks alternate between streams, with the host asleep in between: every thread
  // idles longer than it looks for work.
  const TaskGraph graph = schedlab::testing::random_dag(1, 40, 0.0);
  Plan plan;
  plan.streams.resize(2);
  auto& calls = plan.hosts[HostId{0}].calls;
  for (std::uint32_t i = 0; i < 40; ++i) {
    calls.push_back(HostCall::launch(StreamId{i % 2}, TaskId{i}));
    if (i % 4 == 3) calls.push_back(HostCall::sleep_ns(700'000));
    if (i % 10 == 9) calls.push_back(HostCall::synchronize_stream(StreamId{i % 2}));
  }
  CpuExecutor executor({.workers = 2,
                        .host = HostPlacement::own_core,
                        .pin = false,
                        .spin = std::chrono::microseconds{20}});
  for (int i = 0; i < 3; ++i) {
    FakeWork work(graph);
    Execution run;
    executor.run(graph, plan, work, run);
    CHECK(work.all_ran_once());
  }
}

TEST_CASE("executors come and go without a run") {
  for (int i = 0; i < 20; ++i) {
    const CpuExecutor executor({.workers = 3, .host = HostPlacement::preloaded, .pin = false});
    CHECK(executor.workers() == 3);
  }
}
