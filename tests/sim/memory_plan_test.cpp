// SPDX-License-Identifier: Apache-2.0
#include "sim/trace/memory_plan.hpp"

#include "sim/base/rng.hpp"
#include "sim/engine/simulator.hpp"
#include "sim/plan/graph_capture.hpp"
#include "sim/plan/plan_builder.hpp"
#include "sim/trace/memory_use.hpp"

#include <doctest/doctest.h>

#include <algorithm>
#include <optional>
#include <string>
#include <utility>
#include <vector>

using namespace schedlab;

namespace {

/// A graph on some streams, captured into one device graph and run.
struct Captured {
  TaskGraph graph;
  Platform platform = ideal_platform();
  CostTable costs;
  Plan plan;
  Trace trace;

  Captured(TaskGraph g, std::uint32_t streams) : graph(std::move(g)) {
    costs = CostTable{graph, platform};
    PlanBuilder builder{problem()};
    for (std::uint32_t i = 0; i < streams; ++i) builder.add_stream({});
    for (const TaskId task : graph.tasks()) builder.place(task, StreamId{task.value() % streams});
    plan = capture_graphs(std::move(builder).build("round robin"));
    trace = simulate(problem(), plan);
  }
  Captured(const Captured&) = delete;
  Captured& operator=(const Captured&) = delete;

  [[nodiscard]] Problem problem() const { return {graph, platform, costs}; }
  [[nodiscard]] MemoryPlan memory() const { return memory_plan(problem(), plan, trace).value(); }
};

/// t0 -> t1 -> t2 -> t3 on one stream: x[i] of `bytes` goes from task i to the next.
TaskGraph chain(const std::vector<std::int64_t>& bytes) {
  TaskGraphBuilder builder;
  const OperationId operation =
      builder.add_operation({.name = "t", .kernels = {}, .fixed_duration = 10us});
  std::vector<TaskId> tasks;
  for (std::size_t i = 0; i <= bytes.size(); ++i) tasks.push_back(builder.add_task(operation));
  for (std::size_t i = 0; i < bytes.size(); ++i) {
    const TensorId x =
        builder.add_tensor({.name = "x" + std::to_string(i), .bytes = Bytes{bytes[i]}});
    builder.writes(tasks[i], x);
    builder.reads(tasks[i + 1], x);
  }
  return std::move(builder).build();
}

TaskGraph random_graph(std::uint64_t seed) {
  Rng rng{seed};
  TaskGraphBuilder builder;
  std::vector<TaskId> tasks;
  for (int i = 0; i < 40; ++i) {
    tasks.push_back(builder.add_task(
        builder.add_operation({.name = "t",
                               .kernels = {},
                               .fixed_duration = std::chrono::microseconds{1 + rng.below(20)}})));
  }
  for (std::size_t i = 0; i + 1 < tasks.size(); ++i) {
    const TensorId x =
        builder.add_tensor({.bytes = Bytes{512 * (1 + static_cast<std::int64_t>(rng.below(64)))}});
    builder.writes(tasks[i], x);
    for (std::uint64_t readers = rng.below(3); readers > 0; --readers) {
      const auto later = static_cast<std::size_t>(rng.below(tasks.size() - i - 1));
      builder.reads(tasks[i + 1 + later], x);
    }
  }
  return std::move(builder).build();
}

}  // namespace

TEST_CASE("a chain's buffers share two places, as no more than two are there at once") {
  // x0 and x2, and x1 and x3, are never there together: task 1 reads x0 and writes x1, and so on.
  // 1024 + 2048 bytes at most, while task 2 runs (x1, x2 of 1024 and 2048).
  const Captured run{chain({512, 1024, 2048, 512}), 1};
  const MemoryPlan memory = run.memory();
  CHECK(memory.without_reuse == Bytes{4096});
  CHECK(memory.lifetimes == Bytes{3072});
  CHECK(memory.planned == Bytes{3072});
  CHECK(memory.planned_fragmentation() == 0.0);
}

TEST_CASE("sizes are rounded up to the alignment") {
  const Captured run{chain({1, 513}), 1};
  const MemoryPlan memory = run.memory();
  CHECK(memory.alignment == Bytes{512});
  CHECK(memory.without_reuse == Bytes{512 + 1024});
}

TEST_CASE("best fit leaves a hole that a plan which knows the future does not") {
  // Small first: x0 = 512 lies at 0, x1 = 1024 behind it, and x2 = 1024 fits no hole of 512, so
  // that the arena grows to 2560; the most that is held at once is 2048. The plan puts x1 and x2
  // first and x0 into x2's place.
  const Captured run{chain({512, 1024, 1024}), 1};
  const MemoryPlan memory = run.memory();
  CHECK(memory.lifetimes == Bytes{2048});
  CHECK(memory.best_fit == Bytes{2560});
  CHECK(memory.best_fit_fragmentation() == 0.25);
  CHECK(memory.planned == Bytes{2048});
}

TEST_CASE("tensors of a plan share bytes only if the graph orders their users") {
  for (std::uint64_t seed = 0; seed < 20; ++seed) {
    CAPTURE(seed);
    const Captured run{random_graph(seed), 3};
    const MemoryPlan memory = run.memory();
    CHECK(memory.planned >= memory.lifetimes);
    CHECK(memory.best_fit >= memory.lifetimes);
    CHECK(memory.planned <= memory.without_reuse);
    // Without aligned sizes the bound is the peak of the run's memory.
    CHECK(memory.lifetimes == memory_use(run.problem(), run.trace).front().peak);
    for (const PlacedTensor& a : memory.tensors) {
      CHECK(a.offset + a.bytes <= memory.planned);
      for (const PlacedTensor& b : memory.tensors) {
        const bool apart = a.offset + a.bytes <= b.offset || b.offset + b.bytes <= a.offset;
        if (a.tensor < b.tensor && !apart) CHECK((a.until <= b.from || b.until <= a.from));
      }
    }
  }
}

TEST_CASE("an eager plan has no static memory, nor has one whose graphs are several") {
  const Captured run{chain({512}), 1};
  Plan eager = run.plan;
  eager.graphs.clear();
  CHECK_FALSE(memory_plan(run.problem(), eager, run.trace).has_value());
  Plan twice = run.plan;
  twice.graphs.push_back(twice.graphs.front());
  CHECK_FALSE(memory_plan(run.problem(), twice, run.trace).has_value());
}
