// SPDX-License-Identifier: Apache-2.0
#include "sim/engine/simulator.hpp"
#include "sim/plan/plan_builder.hpp"
#include "sim/trace/critical_path.hpp"
#include "tests/sim/trace_support.hpp"
#include "tests/support/ranks.hpp"

#include <doctest/doctest.h>

#include <algorithm>

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

TEST_CASE("Each task of a path is released by the one before it") {
  TinyRun run = tiny_run();
  run.trace.tasks.pop_back();  // a, w and b by start, as above; in launch order a, b, w
  const auto releases = task_releases(run.problem(), run.trace);
  const auto place = [&](std::uint32_t task) {
    const auto& tasks = run.trace.tasks;
    const auto found = std::find_if(tasks.begin(), tasks.end(), [task](const TaskSpan& span) {
      return span.task == TaskId{task};
    });
    return static_cast<std::uint32_t>(found - tasks.begin());
  };
  REQUIRE(releases.size() == 3);
  CHECK(releases[place(0)] == TaskRelease{TaskRelease::none, PathCause::host});
  CHECK(releases[place(2)] == TaskRelease{place(0), PathCause::dependency});
  CHECK(releases[place(1)] == TaskRelease{place(2), PathCause::resource});
}

TEST_CASE("A late submission is released by what its host waited for") {
  TinyRun run = tiny_run();
  const auto before = task_releases(run.problem(), run.trace);
  CHECK(before.back() == TaskRelease{TaskRelease::none, PathCause::host});
  run.trace.hosts = {{HostId{0}, 5, HostCall::synchronize_all(), at(10us), at(43us), 33us}};
  const auto after = task_releases(run.problem(), run.trace);
  CHECK(after.back().cause == PathCause::host);
  REQUIRE(after.back().by != TaskRelease::none);
  CHECK(run.trace.tasks[after.back().by].task == TaskId{1});
}

TEST_CASE("A device without limits holds nothing up, where all limits are known") {
  TinyRun run = tiny_run();
  run.trace.tasks.pop_back();
  run.platform.devices[DeviceId{0}] = ideal_platform().devices[DeviceId{0}];
  CHECK(trace_critical_path(run.problem(), run.trace).steps_by(PathCause::resource) == 1);
  const TraceCriticalPath known = trace_critical_path(run.problem(), run.trace, {.limits = true});
  CHECK(known.steps_by(PathCause::resource) == 0);
  REQUIRE(known.steps.size() == 2);
  CHECK(known.steps[1] == PathStep{TaskId{1}, PathCause::dependency, 10us, 20us, 0us});  // a to b
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

TEST_CASE("A host that waits for an event goes on when the task before its record has ended") {
  // The host waits for a's event, while w and b still run; they end before it has woken up.
  TinyRun run = tiny_run();
  run.plan.hosts[HostId{0}].calls = {HostCall::launch(StreamId{0}, TaskId{0}),
                                     HostCall::record(StreamId{0}, EventId{0}),
                                     HostCall::synchronize_event(EventId{0})};
  run.trace.hosts = {
      {HostId{0}, 2, HostCall::synchronize_event(EventId{0}), at(5us), at(44us), 39us}};
  const TraceCriticalPath known =
      trace_critical_path(run.problem(), run.trace, {.plan = &run.plan});
  REQUIRE(known.steps.size() == 2);
  CHECK(known.steps[0].task == TaskId{0});
  CHECK(known.steps[1] == PathStep{TaskId{3}, PathCause::host, 38us, 5us, 0us});  // 12 to 50
  // Without the plan it is unknown what the event stands for: b ended last.
  const TraceCriticalPath guessed = trace_critical_path(run.problem(), run.trace);
  REQUIRE(guessed.steps.size() == 4);
  CHECK(guessed.steps[2].task == TaskId{1});
}

TEST_CASE("A wait ends with its task although a measured clock has that end a moment later") {
  TinyRun run = tiny_run();
  run.plan.hosts[HostId{0}].calls = {HostCall::launch(StreamId{0}, TaskId{0}),
                                     HostCall::record(StreamId{0}, EventId{0}),
                                     HostCall::synchronize_event(EventId{0})};
  run.trace.hosts = {
      {HostId{0}, 2, HostCall::synchronize_event(EventId{0}), at(5us), at(11us), 6us}};
  const TraceCriticalPath path = trace_critical_path(run.problem(), run.trace, {.plan = &run.plan});
  REQUIRE(path.steps.size() == 2);
  CHECK(path.steps[0].ran == 9us);      // 2 to 11, where the wait was over
  CHECK(path.steps[1].waited == 39us);  // 11 to 50
  CHECK(total(path) == 60us);
}

TEST_CASE("The path begins at the host that ended last, if that is later than all tasks") {
  TinyRun run = tiny_run();
  run.trace.hosts = {
      {HostId{0}, 5, HostCall::synchronize_stream(StreamId{0}), at(10us), at(43us), 33us},
      {HostId{0}, 6, HostCall::destroy_stream(StreamId{0}), at(57us), at(60us), 0us}};
  const TraceCriticalPath path = trace_critical_path(run.problem(), run.trace);
  REQUIRE_FALSE(path.steps.empty());
  CHECK(path.steps.back().task == TaskId{1});  // b, for which the host was blocked, and not v
  CHECK(path.tail == 18us);
  CHECK(path.share(PathBound::host) == doctest::Approx((2 + 18) / 60.0));
  CHECK(total(path) == 60us);
}

TEST_CASE("A host that waits for a message leads to the task of the rank that sent it") {
  // Rank 0 runs 100 us, waits for it and sends; rank 1 receives and runs 10 us. Calls cost 1 us.
  RankScene scene{2};
  scene.platform.network.topology = Topology::fat_tree;
  scene.platform.network.node = {10_GB_per_s, 1us};
  scene.platform.network.eager_threshold = Bytes{64'000};
  scene.platform.hosts[HostId{0}].costs = {
      .launch = 1us, .synchronize = 1us, .send = 1us, .receive = 1us};
  const TaskId first = scene.task(0, 100us);
  const TaskId second = scene.task(1, 10us);
  const std::uint32_t message = scene.message(0, 1, Bytes{10'000});
  scene.launch(0, 0, first);
  scene.call(0, HostCall::synchronize_stream(RankScene::stream(0, 0)));
  scene.call(0, HostCall::send(message));
  scene.call(1, HostCall::receive(message));
  scene.launch(1, 0, second);
  const Trace trace = scene.run({.record_hosts = true, .record_flows = true});
  const CostTable costs{scene.graph(), scene.platform};
  const TraceCriticalPath path = trace_critical_path({scene.graph(), scene.platform, costs}, trace);
  // 1 launch, 100 kernel, 1 send, 1 + 2 message, 1 launch, 10 kernel
  CHECK(trace.makespan() == 116us);
  REQUIRE(path.steps.size() == 2);
  CHECK(path.steps[0].task == first);
  CHECK(path.steps[1] == PathStep{second, PathCause::host, 5us, 10us, 0us});
  CHECK(path.waited_for(PathCause::message) == 3us);
  CHECK(path.waited_for(PathCause::host) == 3us);
  CHECK(path.bound == std::array<Duration, path_bound_count>{110us, 3us, 0us, 3us});
  CHECK(total(path) == 116us);
}

TEST_CASE("A message that waited for its receiver leads to the receiver") {
  // Too large to leave before it is asked for: the sender waits for rank 1's kernel of 100 us.
  RankScene scene{2};
  scene.platform.network.topology = Topology::fat_tree;
  scene.platform.network.node = {10_GB_per_s, 1us};
  scene.platform.network.eager_threshold = Bytes{1};
  const TaskId slow = scene.task(1, 100us);
  const TaskId after = scene.task(0, 10us);
  const std::uint32_t message = scene.message(0, 1, Bytes{10'000});
  scene.call(0, HostCall::send(message));
  scene.launch(0, 0, after);
  scene.launch(1, 0, slow);
  scene.call(1, HostCall::synchronize_stream(RankScene::stream(1, 0)));
  scene.call(1, HostCall::receive(message));
  const Trace trace = scene.run({.record_hosts = true, .record_flows = true});
  const CostTable costs{scene.graph(), scene.platform};
  const TraceCriticalPath path = trace_critical_path({scene.graph(), scene.platform, costs}, trace);
  REQUIRE(path.steps.size() == 2);
  CHECK(path.steps[0].task == slow);
  CHECK(path.steps[1].task == after);
  CHECK(path.bound[static_cast<std::size_t>(PathBound::device)] == 110us);
  CHECK(path.bound[static_cast<std::size_t>(PathBound::message)] == trace.makespan() - 110us);
}

TEST_CASE("A get leads to what its reader did before, not to its owner") {
  // Rank 1 runs 100 us and then reads from rank 0, whose kernel of 20 us has ended long before.
  RankScene scene{2};
  scene.platform.network.topology = Topology::fat_tree;
  scene.platform.network.node = {10_GB_per_s, 1us};
  const TaskId owner = scene.task(0, 20us);
  const TaskId before = scene.task(1, 100us);
  const TaskId after = scene.task(1, 10us);
  const std::uint32_t message = scene.message(0, 1, Bytes{10'000});
  scene.plan.messages[message].one_sided = OneSided::get;
  scene.launch(0, 0, owner);
  scene.call(0, HostCall::synchronize_stream(RankScene::stream(0, 0)));
  scene.launch(1, 0, before);
  scene.call(1, HostCall::synchronize_stream(RankScene::stream(1, 0)));
  scene.call(1, HostCall::receive(message));
  scene.launch(1, 1, after);
  const Trace trace = scene.run({.record_hosts = true, .record_flows = true});
  const CostTable costs{scene.graph(), scene.platform};
  const TraceCriticalPath path = trace_critical_path({scene.graph(), scene.platform, costs}, trace);
  // 2 us for the request, 1 for the bytes, 2 until they have come.
  CHECK(trace.makespan() == 115us);
  REQUIRE(path.steps.size() == 2);
  CHECK(path.steps[0].task == before);
  CHECK(path.steps[1].task == after);
  CHECK(path.waited_for(PathCause::message) == 5us);
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
