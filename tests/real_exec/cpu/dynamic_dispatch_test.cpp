// SPDX-License-Identifier: Apache-2.0
// Worker threads that take tasks themselves, and the same decisions in virtual time.
#include "policies/registry.hpp"
#include "real_exec/cpu/cpu_executor.hpp"
#include "real_exec/executor/stream_machine.hpp"
#include "sim/base/error.hpp"
#include "sim/engine/simulator.hpp"
#include "sim/plan/dispatching_policy.hpp"
#include "sim/plan/plan_check.hpp"
#include "tests/real_exec/executor/fake_work.hpp"
#include "tests/support/scenes.hpp"

#include <doctest/doctest.h>

#include <array>
#include <cstdint>
#include <memory>
#include <string>
#include <utility>
#include <vector>

using namespace schedlab;
using schedlab::testing::FakeWork;
using schedlab::testing::Scene;

namespace {

constexpr std::array dispatching_policies{
    "successor_first", "round_robin_fifo", "work_stealing", "critical_first"};

std::unique_ptr<OnlinePolicy> dynamic(const char* policy,
                                      const Problem& problem,
                                      std::uint32_t groups) {
  return make_policy(policy,
                     {{"max_streams", std::int64_t{groups}}, {"dispatch", std::string{"dynamic"}}})
      ->online(problem);
}

/// Workers without threads: every block takes as long as the scene says of its task.
Plan played_by_workers(const Scene& scene, DispatchingPolicy& policy, std::uint32_t workers) {
  struct Running {
    BlockOfWork block;
    Time started;
    Time ended;
  };
  const FakeWork work(scene.graph);
  StreamMachine machine(scene.graph, work, 1, workers);
  machine.open(policy.initial_streams(), {});
  machine.dispatch_by(policy, Time{});
  std::vector<std::optional<Running>> running(workers);
  Time now{};
  while (true) {
    for (std::uint32_t w = 0; w < workers; ++w) {
      if (running[w]) continue;
      const auto block = machine.take(w);
      if (block) running[w] = Running{*block, now, now + scene.costs.duration(block->task)};
    }
    std::optional<Running>* next = nullptr;
    for (auto& one : running) {
      if (one && (next == nullptr || one->ended < (*next)->ended)) next = &one;
    }
    if (next == nullptr) return policy.decided();
    now = (*next)->ended;
    machine.finish((*next)->block, (*next)->started, now);
    next->reset();
  }
}

}  // namespace

TEST_CASE("workers decide as the simulator where blocks take as long") {
  for (std::uint64_t seed = 1; seed <= 10; ++seed) {
    CAPTURE(seed);
    const Scene scene{schedlab::testing::random_dag(seed, 50, 0.06), Rng{seed}};
    for (const std::uint32_t groups : {1U, 2U, 4U}) {
      for (const char* name : dispatching_policies) {
        CAPTURE(name);
        const auto simulated = dynamic(name, scene.problem(), groups);
        const auto executed = dynamic(name, scene.problem(), groups);
        CHECK(played_by_workers(scene, dynamic_cast<DispatchingPolicy&>(*executed), groups) ==
              Simulator{}.record(scene.problem(), *simulated).plan);
      }
    }
  }
}

TEST_CASE("worker threads that take tasks run each once and in order, wherever the host is") {
  const Scene scene(schedlab::testing::gradient_grid(5, 8), Duration{1});
  for (const HostPlacement host :
       {HostPlacement::own_core, HostPlacement::shares_core, HostPlacement::preloaded}) {
    CpuExecutor executor({.workers = 3, .host = host, .pin = false});
    for (const char* name : dispatching_policies) {
      for (const std::uint32_t groups : {1U, 3U, 5U}) {
        CAPTURE(name);
        CAPTURE(groups);
        CAPTURE(std::string{to_string(host)});
        FakeWork work(scene.graph, groups == 1 ? 3 : 1);
        Execution run;
        const auto workers = dynamic(name, scene.problem(), groups);
        executor.run(scene.problem(), *workers, work, run);
        CHECK(work.all_ran_once());
        CHECK(work.too_early == 0);
        CHECK(run.plan.streams.size() == groups);
        CHECK(check(scene.graph, scene.platform, run.plan).empty());
        CHECK(run.trace.hosts.empty());
        REQUIRE(run.trace.tasks.size() == scene.graph.task_count());
        // The trace says who ran what, in the order in which it was taken.
        std::size_t at = 0;
        for (const HostCall& call : run.plan.hosts[HostId{0}].calls) {
          if (call.kind() != HostCallKind::launch) continue;
          CHECK(run.trace.tasks[at].task == call.task());
          CHECK(run.trace.tasks[at].stream == call.stream());
          ++at;
        }
      }
    }
  }
}

TEST_CASE("one worker thread takes tasks in the order that is simulated") {
  const Scene scene{schedlab::testing::random_dag(3, 60, 0.05), Rng{3}};
  CpuExecutor executor({.workers = 1, .host = HostPlacement::preloaded, .pin = false});
  for (const char* name : dispatching_policies) {
    CAPTURE(name);
    FakeWork work(scene.graph);
    Execution run;
    executor.run(scene.problem(), *dynamic(name, scene.problem(), 1), work, run);
    CHECK(run.plan == Simulator{}.record(scene.problem(), *dynamic(name, scene.problem(), 1)).plan);
  }
}

TEST_CASE("a task that fails ends a run in which workers take tasks, and the next run is sound") {
  const Scene scene(schedlab::testing::gradient_grid(3, 4), Duration{1});
  CpuExecutor executor({.workers = 2, .host = HostPlacement::preloaded, .pin = false});
  FakeWork work(scene.graph);
  work.body = [](TaskId task, std::uint32_t) {
    if (task == TaskId{5}) throw std::runtime_error("no more");
  };
  Execution run;
  CHECK_THROWS_WITH_AS(
      executor.run(scene.problem(), *dynamic("work_stealing", scene.problem(), 2), work, run),
      doctest::Contains("no more"),
      ExecutionError);
  work.body = {};
  executor.run(scene.problem(), *dynamic("work_stealing", scene.problem(), 2), work, run);
  CHECK(work.all_ran_once());
  // And a plan is a plan again.
  const Plan decided = run.plan;
  executor.run(scene.graph, decided, work, run);
  CHECK(work.all_ran_once());
}
