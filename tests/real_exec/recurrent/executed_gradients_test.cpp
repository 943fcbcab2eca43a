// SPDX-License-Identifier: Apache-2.0
#include "policies/registry.hpp"
#include "real_exec/cpu/cpu_executor.hpp"
#include "real_exec/recurrent/gemm.hpp"
#include "real_exec/recurrent/recurrent_work.hpp"
#include "sim/plan/graph_capture.hpp"
#include "sim/plan/plan_check.hpp"
#include "tests/support/scenes.hpp"
#include "workloads/models/recurrent/recurrent.hpp"
#include "workloads/transforms/cut_kernels.hpp"

#include <doctest/doctest.h>

#include <atomic>
#include <chrono>
#include <map>
#include <string>
#include <thread>
#include <vector>

using namespace schedlab;
using schedlab::testing::Scene;

namespace {

constexpr std::uint64_t seed = 7;

RecurrentSpec small_model(Granularity granularity, Accumulation accumulation) {
  RecurrentSpec spec;
  spec.layers = 3;
  spec.steps = 5;
  spec.batch = 4;
  spec.hidden = 32;
  spec.input = 20;
  spec.pass = RecurrentPass::training;
  spec.granularity = granularity;
  spec.accumulation = accumulation;
  spec.accumulation_steps = 2;
  return spec;
}

/// Cut into several blocks per kernel, so that all workers touch every kernel.
TaskGraph cut_graph(const RecurrentSpec& spec) {
  return CutKernels({.flops_per_block = 1000, .bytes_per_block = 256}, 3).apply(recurrent(spec));
}

CpuExecutorOptions three_workers(HostPlacement host) {
  return {.workers = 3, .host = host, .pin = false, .prepare_worker = &prepare_worker_thread};
}

/// Runs another work, but lets one task wait until another has been through, as a slow core would.
class SlowTask final : public CpuWork {
 public:
  SlowTask(CpuWork& work, TaskId slow, TaskId until) : work_(work), slow_(slow), until_(until) {}

  [[nodiscard]] std::size_t kernel_count(TaskId task) const override {
    return work_.kernel_count(task);
  }
  [[nodiscard]] std::uint32_t blocks(TaskId task, std::size_t kernel) const override {
    return work_.blocks(task, kernel);
  }
  void run(TaskId task, std::size_t kernel, std::uint32_t block) override {
    const auto give_up = std::chrono::steady_clock::now() + std::chrono::seconds{2};
    while (task == slow_ && !passed_.load() && std::chrono::steady_clock::now() < give_up) {
      std::this_thread::yield();
    }
    work_.run(task, kernel, block);
    if (task == until_) passed_ = true;
  }
  void reset() override {
    passed_ = false;
    work_.reset();
  }

 private:
  CpuWork& work_;
  TaskId slow_;
  TaskId until_;
  std::atomic<bool> passed_{false};
};

/// The two tasks that a wait keeps in order.
struct Dropped {
  TaskId producer;
  TaskId consumer;
};

/// Takes the wait at `index` out of the calls.
Dropped drop_wait(std::vector<HostCall>& calls, std::size_t index) {
  const HostCall wait = calls[index];
  calls.erase(calls.begin() + static_cast<std::ptrdiff_t>(index));
  std::size_t record = index;
  while (calls[record].kind() != HostCallKind::record || calls[record].event() != wait.event()) {
    --record;
  }
  const StreamId source = calls[record].stream();
  std::size_t produced = record;
  while (calls[produced].kind() != HostCallKind::launch || calls[produced].stream() != source) {
    --produced;
  }
  std::size_t consumed = index;
  while (calls[consumed].kind() != HostCallKind::launch ||
         calls[consumed].stream() != wait.stream()) {
    ++consumed;
  }
  return {calls[produced].task(), calls[consumed].task()};
}

}  // namespace

TEST_CASE("gradients are bit for bit those of one thread, under every policy and on any stream") {
  for (const Accumulation accumulation :
       {Accumulation::ordered, Accumulation::partial, Accumulation::batched}) {
    std::map<Granularity, RecurrentResults<float>> expected;
    for (const HostPlacement host : {HostPlacement::own_core, HostPlacement::preloaded}) {
      CpuExecutor executor(three_workers(host));
      for (const char* name : {"single_stream",
                               "diagonal",
                               "cudnn_like",
                               "cann_like",
                               "critical_first",
                               "critical_first_matmul",
                               "heft",
                               "bottom_level",
                               "random"}) {
        CAPTURE(name);
        CAPTURE(std::string{to_string(host)});
        const auto policy = make_policy(name);
        const RecurrentSpec spec = small_model(policy->granularity(), accumulation);
        const Scene scene(cut_graph(spec), Rng{seed});
        RecurrentWork work(spec, scene.graph, seed);
        if (!expected.contains(spec.granularity)) {
          run_serially(work, scene.graph);
          expected.emplace(spec.granularity, work.results());
        }
        Execution run;
        if (const auto online = policy->online(scene.problem())) {
          if (host == HostPlacement::preloaded) continue;
          executor.run(scene.problem(), *online, work, run);
        } else {
          executor.run(scene.graph, policy->plan(scene.problem()), work, run);
        }
        CHECK(check(scene.graph, scene.platform, run.plan).empty());
        CHECK(work.results() == expected.at(spec.granularity));
      }
    }
  }
}

TEST_CASE("streams, caps and device graphs change nothing in the result") {
  const RecurrentSpec spec = small_model(Granularity::fine, Accumulation::ordered);
  const Scene scene(cut_graph(spec), Rng{seed});
  RecurrentWork work(spec, scene.graph, seed);
  run_serially(work, scene.graph);
  const RecurrentResults<float> expected = work.results();
  CpuExecutor executor(three_workers(HostPlacement::preloaded));
  CpuExecutor online_executor(three_workers(HostPlacement::own_core));
  for (const std::int64_t cap : {2, 3, 7}) {
    CAPTURE(cap);
    Execution run;
    const auto policy = make_policy("critical_first", {{"max_streams", cap}});
    const auto online = policy->online(scene.problem());
    REQUIRE(online != nullptr);
    online_executor.run(scene.problem(), *online, work, run);
    CHECK(work.results() == expected);
    executor.run(scene.graph, capture_graphs(run.plan), work, run);
    CHECK(work.results() == expected);
  }
}

TEST_CASE("a dropped event wait is found by the checker, and corrupts the result") {
  const RecurrentSpec spec = small_model(Granularity::fine, Accumulation::ordered);
  const Scene scene(cut_graph(spec), Rng{seed});
  const Plan plan = make_policy("diagonal")->plan(scene.problem());
  CHECK(check(scene.graph, scene.platform, plan).empty());

  // The first wait whose loss leaves a dependency that nothing else keeps.
  Plan broken;
  Dropped dropped;
  std::vector<Finding> findings;
  const std::size_t call_count = plan.hosts[HostId{0}].calls.size();
  for (std::size_t i = 0; i < call_count && findings.empty(); ++i) {
    if (plan.hosts[HostId{0}].calls[i].kind() != HostCallKind::wait) continue;
    broken = plan;
    dropped = drop_wait(broken.hosts[HostId{0}].calls, i);
    findings = check(scene.graph, scene.platform, broken);
  }
  REQUIRE_FALSE(findings.empty());
  CHECK(findings.front().kind == FindingKind::missing_dependency);
  CHECK(findings.front().message.find(scene.graph.name(dropped.consumer)) != std::string::npos);

  RecurrentWork work(spec, scene.graph, seed);
  run_serially(work, scene.graph);
  const RecurrentResults<float> expected = work.results();
  // Memory that no run has filled: after one, what comes too early would find the right values.
  RecurrentWork fresh(spec, scene.graph, seed);
  SlowTask slow(fresh, dropped.producer, dropped.consumer);
  CpuExecutor executor(three_workers(HostPlacement::preloaded));
  Execution run;
  executor.run(scene.graph, broken, slow, run);
  CHECK_FALSE(fresh.results() == expected);

  // With the wait, the same slow task costs time and nothing else.
  executor.run(scene.graph, plan, slow, run);
  CHECK(fresh.results() == expected);
}
