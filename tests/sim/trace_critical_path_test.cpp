// SPDX-License-Identifier: Apache-2.0
#include "sim/engine/simulator.hpp"
#include "sim/plan/plan_builder.hpp"
#include "sim/trace/critical_path.hpp"
#include "tests/sim/trace_support.hpp"

#include <doctest/doctest.h>

namespace schedlab {
namespace {

using namespace testing;

/// Everything on the path and around it.
[[nodiscard]] Duration total(const TraceCriticalPath& path) {
  Duration sum = path.running + path.tail;
  for (const Duration waited : path.waited) sum += waited;
  return sum;
}

TEST_CASE("The path leads back over units, events and the host to the start of the run") {
  TinyRun run = tiny_run();
  run.trace.tasks.pop_back();  // without v: a 2..12, w 12..22, b 22..42
  const TraceCriticalPath path = trace_critical_path(run.problem(), run.trace);
  REQUIRE(path.steps.size() == 3);
  CHECK(path.steps[0] == PathStep{TaskId{0}, PathCause::host, 2us, 10us, 0us});
  CHECK(path.steps[1] == PathStep{TaskId{2}, PathCause::dependency, 0us, 10us, 0us});
  CHECK(path.steps[2] == PathStep{TaskId{1}, PathCause::resource, 0us, 20us, 0us});
  CHECK(path.running == 40us);
  CHECK(path.waited_for(PathCause::host) == 2us);
  CHECK(path.steps_by(PathCause::resource) == 1);
  CHECK(path.tail == 18us);
  CHECK(total(path) == 60us);
}

TEST_CASE("A late submission starts the path when the host was never blocked") {
  const TinyRun run = tiny_run();
  const TraceCriticalPath path = trace_critical_path(run.problem(), run.trace);
  REQUIRE(path.steps.size() == 1);
  CHECK(path.steps[0] == PathStep{TaskId{3}, PathCause::host, 50us, 5us, 0us});
  CHECK(total(path) == 60us);
}

TEST_CASE("Behind a late submission lies the task for which the host was blocked") {
  TinyRun run = tiny_run();
  run.trace.hosts = {{HostId{0}, 5, HostCall::synchronize_all(), at(10us), at(43us), 33us}};
  const TraceCriticalPath path = trace_critical_path(run.problem(), run.trace);
  REQUIRE(path.steps.size() == 4);
  // From b's end at 42 to v's start at 50 the host woke up and submitted.
  CHECK(path.steps[3] == PathStep{TaskId{3}, PathCause::host, 8us, 5us, 0us});
  CHECK(path.steps[2].task == TaskId{1});
  CHECK(total(path) == 60us);
}

TEST_CASE("Behind a late submission lies the task whose end the host found by asking") {
  TinyRun run = tiny_run();
  const auto query = [](std::uint32_t index, Duration from, Duration to, bool idle) {
    return HostSpan{
        HostId{0}, index, HostCall::answered_query(StreamId{0}, idle), at(from), at(to), {}};
  };
  run.trace.hosts = {
      query(5, 10us, 11us, false), query(6, 41us, 42us, false), query(7, 46us, 47us, true)};
  const TraceCriticalPath path = trace_critical_path(run.problem(), run.trace);
  REQUIRE(path.steps.size() == 4);
  CHECK(path.steps[3] == PathStep{TaskId{3}, PathCause::host, 8us, 5us, 0us});
  CHECK(path.steps[2].task == TaskId{1});
}

TEST_CASE("The task before it in its stream holds a task up that needs nothing of it") {
  TinyRun run = tiny_run();
  run.trace.tasks = {span(0, 0, 0us, 10us), span(3, 0, 10us, 15us)};
  run.trace.ended = at(15us);
  const TraceCriticalPath path = trace_critical_path(run.problem(), run.trace);
  REQUIRE(path.steps.size() == 2);
  CHECK(path.steps[1].cause == PathCause::stream_order);
  CHECK(path.steps[0].cause == PathCause::run_start);
}

TEST_CASE("An awaited event counts as a dependency even where the graph has no edge") {
  TinyRun run = tiny_run();
  run.trace.tasks = {span(0, 0, 0us, 10us), span(3, 1, 10us, 15us)};
  run.trace.flows = {{EventId{0}, StreamId{0}, StreamId{1}, at(10us), at(10us)}};
  run.trace.ended = at(15us);
  const TraceCriticalPath path = trace_critical_path(run.problem(), run.trace);
  REQUIRE(path.steps.size() == 2);
  CHECK(path.steps[1].cause == PathCause::dependency);
}

TEST_CASE("On an ideal machine with enough streams the path is the graph's") {
  const TinyRun run = tiny_run();
  const Platform ideal = ideal_platform();
  const CostTable costs{run.graph, ideal};
  const Problem problem{run.graph, ideal, costs};
  PlanBuilder builder{problem};
  builder.add_streams(4);
  for (const TaskId task : run.graph.tasks()) builder.place(task, builder.earliest_finish(task));
  const Plan plan = std::move(builder).build("by_hand");
  const Trace trace = simulate(problem, plan);
  const TraceCriticalPath path = trace_critical_path(problem, trace);
  CHECK(path.running == 30us);  // a, b
  CHECK(total(path) == trace.makespan());
  CHECK(path.steps_by(PathCause::dependency) == 1);
}

TEST_CASE("What a task on the path took longer than alone is named where kernels share a device") {
  TaskGraphBuilder builder;
  const OperationId op = builder.add_operation({.name = "k", .fixed_duration = 10us});
  const TaskId first = builder.add_task(op);
  builder.add_task(op);
  const TaskGraph graph = std::move(builder).build();
  for (const SharingModel sharing : {SharingModel::exclusive, SharingModel::fluid}) {
    Platform platform = ideal_platform();
    platform.sharing = sharing;
    const CostTable costs{graph, platform};
    const Problem problem{graph, platform, costs};
    Trace trace;
    trace.tasks = {span(0, 0, 0us, 16us), span(1, 1, 0us, 10us)};
    trace.ended = at(16us);
    const TraceCriticalPath path = trace_critical_path(problem, trace);
    REQUIRE(path.steps.size() == 1);
    CHECK(path.steps[0].task == first);
    CHECK(path.running == 16us);
    CHECK(path.slowed == (sharing == SharingModel::fluid ? 6us : 0us));
  }
}

TEST_CASE("A trace without tasks has only a tail") {
  const TinyRun run = tiny_run();
  Trace trace;
  trace.ended = at(9us);
  const TraceCriticalPath path = trace_critical_path(run.problem(), trace);
  CHECK(path.steps.empty());
  CHECK(path.tail == 9us);
}

}  // namespace
}  // namespace schedlab
