// SPDX-License-Identifier: Apache-2.0
// What the CPU executor itself costs: tasks that do nothing, in wall time per task; each figure is
// the least of several runs, as other programs may run beside.
#include "real_exec/cpu/cpu_executor.hpp"
#include "sim/graph/task_graph.hpp"
#include "sim/plan/plan.hpp"
#include "tests/bench/bench_main.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cstdint>
#include <cstdlib>
#include <stdexcept>
#include <string>
#include <vector>

namespace schedlab::bench {
namespace {

class NoWork final : public CpuWork {
 public:
  explicit NoWork(std::uint32_t blocks) : blocks_(blocks) {}
  [[nodiscard]] std::size_t kernel_count(TaskId) const override { return 1; }
  [[nodiscard]] std::uint32_t blocks(TaskId, std::size_t) const override { return blocks_; }
  void run(TaskId, std::size_t, std::uint32_t) override {}

 private:
  std::uint32_t blocks_;
};

struct Scene {
  std::string name;
  Plan plan;
  std::uint32_t blocks = 1;
  HostPlacement host = HostPlacement::preloaded;
  std::uint32_t workers = 1;
};

/// Tasks on one stream; with `streams` 2 in turn, each behind the one before.
Plan chain(std::uint32_t tasks, std::uint32_t streams) {
  Plan plan;
  plan.policy = "chain";
  plan.streams.resize(streams);
  auto& calls = plan.hosts[HostId{0}].calls;
  for (std::uint32_t t = 0; t < tasks; ++t) {
    const StreamId stream{t % streams};
    if (streams > 1 && t > 0) calls.push_back(HostCall::wait(stream, EventId{t - 1}));
    calls.push_back(HostCall::launch(stream, TaskId{t}));
    if (streams > 1) calls.push_back(HostCall::record(stream, EventId{t}));
  }
  plan.event_count = streams > 1 ? tasks : 0;
  return plan;
}

TaskGraph loose(std::uint32_t tasks) {
  TaskGraphBuilder builder;
  const OperationId operation = builder.add_operation({.name = "nothing", .kernels = {}});
  for (std::uint32_t t = 0; t < tasks; ++t) builder.add_task(operation);
  return std::move(builder).build();
}

void measure(const TaskGraph& graph, const Scene& scene) {
  const bool fits =
      scene.workers + (scene.host == HostPlacement::own_core ? 1 : 0) <= available_cores();
  CpuExecutor executor({.workers = scene.workers, .host = scene.host, .pin = fits});
  NoWork work(scene.blocks);
  double least = 1e30;
  double call = 1e30;
  double gap = 1e30;
  for (int i = 0; i < 15; ++i) {
    Execution run;
    executor.run(graph, scene.plan, work, run);
    if (run.trace.tasks.size() != graph.task_count()) throw std::runtime_error("tasks are missing");
    const auto tasks = static_cast<double>(graph.task_count());
    least = std::min(least, 1e3 * to_us(run.trace.makespan()) / tasks);
    double calls = 0;
    for (const HostSpan& span : run.trace.hosts) calls += to_us(span.ended - span.started);
    if (!run.trace.hosts.empty()) {
      call = std::min(call, 1e3 * calls / static_cast<double>(run.trace.hosts.size()));
    }
    std::vector<double> gaps;
    for (std::size_t t = 1; t < run.trace.tasks.size(); ++t) {
      gaps.push_back(1e3 * to_us(run.trace.tasks[t].started - run.trace.tasks[t - 1].ended));
    }
    std::nth_element(
        gaps.begin(), gaps.begin() + static_cast<std::ptrdiff_t>(gaps.size() / 2), gaps.end());
    gap = std::min(gap, gaps[gaps.size() / 2]);
  }
  fmt::print("{:44} {:9.0f} {:9.0f} {:>9}\n",
             scene.name,
             least,
             gap,
             call < 1e30 ? fmt::format("{:.0f}", call) : std::string{"-"});
}

}  // namespace

int run(int argc, char** argv) {
  const std::string flag = argc > 1 ? argv[1] : "--tasks=20000";
  if (!flag.starts_with("--tasks=")) throw std::runtime_error("usage: executor_bench [--tasks=N]");
  const auto tasks = static_cast<std::uint32_t>(std::stoul(flag.substr(8)));
  const TaskGraph graph = loose(tasks);
  fmt::print(
      "{} tasks that do nothing, {} cores; ns a task, median gap between tasks, ns a host call\n\n",
      tasks,
      available_cores());
  const auto pre = HostPlacement::preloaded;
  measure(graph, {"one stream, 1 worker, preloaded", chain(tasks, 1), 1, pre, 1});
  measure(graph, {"one stream, 2 workers, preloaded", chain(tasks, 1), 1, pre, 2});
  measure(graph, {"one stream, 2 workers, 2 blocks, preloaded", chain(tasks, 1), 2, pre, 2});
  measure(graph, {"two streams and events, 1 worker, preloaded", chain(tasks, 2), 1, pre, 1});
  measure(graph,
          {"one stream, 1 worker, host on its own core",
           chain(tasks, 1),
           1,
           HostPlacement::own_core,
           1});
  measure(graph,
          {"one stream, 2 workers, host shares a core",
           chain(tasks, 1),
           1,
           HostPlacement::shares_core,
           2});
  return EXIT_SUCCESS;
}

}  // namespace schedlab::bench
