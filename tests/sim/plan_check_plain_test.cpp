// SPDX-License-Identifier: Apache-2.0
// The quick look at plans of one host and the checker that explains must agree.
#include "sim/plan/check/plan_check_plain.hpp"

#include "sim/base/rng.hpp"
#include "sim/graph/task_graph.hpp"
#include "sim/machine/platform.hpp"
#include "sim/plan/plan.hpp"
#include "sim/plan/plan_check.hpp"
#include "tests/sim/random_tasks.hpp"

#include <doctest/doctest.h>

#include <cstddef>
#include <cstdint>
#include <utility>
#include <vector>

using namespace schedlab;
using test::pick;
using test::random_tasks;

namespace {

/// Two tensors are added into.
TaskGraph adding_tasks(Rng& rng, std::uint32_t tasks) {
  return random_tasks(rng, tasks, 2);
}

/// A right plan: tasks in the order of their numbers on random streams, an event for each, and a
/// wait or, seldom, a synchronization for everything on another stream that must come before.
class RightPlan {
 public:
  RightPlan(Rng& rng, const TaskGraph& graph) : rng_(rng), graph_(graph) {}

  [[nodiscard]] Plan make() && {
    const std::uint32_t streams = 1 + pick(rng_, 12);
    plan_.streams.resize(streams);
    plan_.event_count = static_cast<std::uint32_t>(graph_.task_count()) + 1;  // one is not used
    const bool created = rng_.below(2) == 0;
    for (std::uint32_t s = 0; created && s < streams; ++s) {
      add(HostCall::create_stream(StreamId{s}));
    }
    IdVector<TensorId, TaskId> last(graph_.tensors().size());
    stream_of_.resize(graph_.task_count());
    for (const TaskId task : graph_.tasks()) {
      stream_of_[task] = StreamId{pick(rng_, streams)};
      for (const TaskId before : graph_.predecessors(task)) follow(task, before);
      for (const TensorId tensor : graph_.tensors().ids()) {
        for (const TaskId writer : graph_.tensors().writers(tensor)) {
          if (writer != task) continue;
          if (last[tensor].valid()) follow(task, last[tensor]);
          last[tensor] = task;
        }
      }
      add(HostCall::launch(stream_of_[task], task));
      add(HostCall::record(stream_of_[task], EventId{task.value()}));
      if (rng_.below(3) == 0) add(HostCall::query(StreamId{pick(rng_, streams)}));
      if (rng_.below(9) == 0) add(HostCall::sleep_ns(pick(rng_, 100)));
    }
    for (std::uint32_t s = 0; created && s < streams; ++s) {
      if (rng_.below(2) == 0) add(HostCall::destroy_stream(StreamId{s}));
    }
    return std::move(plan_);
  }

 private:
  void add(HostCall call) { plan_.hosts[HostId{0}].calls.push_back(call); }
  void follow(TaskId task, TaskId before) {
    const EventId event{before.value()};
    switch (rng_.below(12)) {
      case 0:
        return add(HostCall::synchronize_event(event));
      case 1:
        return add(HostCall::synchronize_stream(stream_of_[before]));
      case 2:
        return add(HostCall::synchronize_all());
      default:
        if (stream_of_[before] != stream_of_[task]) add(HostCall::wait(stream_of_[task], event));
    }
  }

  Rng& rng_;
  const TaskGraph& graph_;
  Plan plan_;
  IdVector<TaskId, StreamId> stream_of_;
};

/// Any call, in part of streams, events and tasks that do not exist.
HostCall any_call(Rng& rng, const Plan& plan, const TaskGraph& graph) {
  const StreamId stream{pick(rng, plan.streams.size() + (rng.below(8) == 0 ? 2 : 0))};
  const EventId event{pick(rng, plan.event_count + (rng.below(8) == 0 ? 2 : 0))};
  switch (rng.below(10)) {
    case 0:
      return HostCall::create_stream(stream);
    case 1:
      return HostCall::destroy_stream(stream);
    case 2:
      return HostCall::launch(stream, TaskId{pick(rng, graph.task_count() + 1)});
    case 3:
      return HostCall::record(stream, event);
    case 4:
      return HostCall::query(stream);
    case 5:
      return HostCall::synchronize_stream(stream);
    case 6:
      return HostCall::synchronize_event(event);
    case 7:
      return HostCall::synchronize_all();
    default:
      return HostCall::wait(stream, event);
  }
}

/// One call less, more, elsewhere, or another one.
void change(Rng& rng, const TaskGraph& graph, Plan& plan) {
  auto& calls = plan.hosts[HostId{0}].calls;
  const auto place = [&] { return static_cast<std::ptrdiff_t>(rng.below(calls.size())); };
  const auto at = place();
  switch (rng.below(5)) {
    case 0:
      calls.erase(calls.begin() + at);
      break;
    case 1:
      calls[static_cast<std::size_t>(at)] = any_call(rng, plan, graph);
      break;
    case 2:
      std::swap(calls[static_cast<std::size_t>(at)], calls[static_cast<std::size_t>(place())]);
      break;
    default:
      calls.insert(calls.begin() + at, any_call(rng, plan, graph));
      break;
  }
}

bool quick(const TaskGraph& graph, const Plan& plan, const Platform& platform = ideal_platform()) {
  return checker::passes_fast_check(graph, checker::plain_facts(platform, {}), plan);
}

}  // namespace

TEST_CASE("the quick look passes exactly those plans of one host in which nothing is found") {
  std::size_t right = 0;
  std::size_t wrong = 0;
  for (std::uint64_t seed = 0; seed < 3000; ++seed) {
    CAPTURE(seed);
    Rng rng{seed};
    const TaskGraph graph = adding_tasks(rng, 2 + pick(rng, 12));
    Plan plan = RightPlan{rng, graph}.make();
    REQUIRE(quick(graph, plan));
    REQUIRE(checker::check_fully(graph, ideal_platform(), plan, {}).empty());
    for (int i = 0; i < 6; ++i) {
      change(rng, graph, plan);
      const bool sound = checker::check_fully(graph, ideal_platform(), plan, {}).empty();
      REQUIRE(quick(graph, plan) == sound);
      ++(sound ? right : wrong);
    }
  }
  // The changes are of use only if both kinds are common.
  CHECK(right > 2000);
  CHECK(wrong > 2000);
}

TEST_CASE("what the quick look does not know it does not pass") {
  Rng rng{1};
  const TaskGraph graph = adding_tasks(rng, 8);
  const Plan plan = RightPlan{rng, graph}.make();
  REQUIRE(quick(graph, plan));

  Plan several_hosts = plan;
  several_hosts.hosts.resize(2);
  CHECK_FALSE(quick(graph, several_hosts));
  Plan message = plan;
  message.messages.push_back({HostId{0}, HostId{0}, Bytes{8}});
  CHECK_FALSE(quick(graph, message));
  Plan device_graph = plan;
  device_graph.graphs.resize(1);
  CHECK_FALSE(quick(graph, device_graph));
  Plan legacy = plan;
  legacy.streams[StreamId{0}].sync = StreamSync::legacy_default;
  CHECK_FALSE(quick(graph, legacy));
  Plan elsewhere = plan;
  elsewhere.streams[StreamId{0}].device = DeviceId{1};
  CHECK_FALSE(quick(graph, elsewhere));
  Platform ranks = ideal_platform();
  ranks.ranks = 2;
  CHECK_FALSE(quick(graph, plan, ranks));
}

TEST_CASE("tensors that together may not fit are left to the checker that looks at life times") {
  Rng rng{1};
  const TaskGraph graph = adding_tasks(rng, 8);
  const Plan plan = RightPlan{rng, graph}.make();
  Platform platform = ideal_platform();
  platform.devices[DeviceId{0}].memory_capacity = Bytes{200};  // two tensors of 100 bytes
  CHECK(quick(graph, plan, platform));
  platform.devices[DeviceId{0}].memory_capacity = Bytes{199};
  CHECK_FALSE(quick(graph, plan, platform));
  const auto facts = checker::plain_facts(platform, {.check_memory = false});
  CHECK(checker::passes_fast_check(graph, facts, plan));
}

TEST_CASE("a plan with more launches on a stream than a count can hold is left to the checker") {
  // Counts are of 16 bits: 32,766 launches are told apart, and no more.
  constexpr std::uint32_t most = 32'766;
  for (const std::uint32_t tasks : {most, most + 1}) {
    TaskGraphBuilder builder;
    const OperationId operation = builder.add_operation({.name = "t"});
    Plan plan;
    plan.streams.resize(2);
    plan.event_count = 1;
    auto& calls = plan.hosts[HostId{0}].calls;
    for (std::uint32_t i = 0; i < tasks; ++i) {
      const TaskId task = builder.add_task(operation);
      const bool last = i + 1 == tasks;
      if (last) builder.add_edge(TaskId{i - 1}, task);
      calls.push_back(HostCall::launch(StreamId{last ? 1U : 0U}, task));
    }
    const TaskGraph graph = std::move(builder).build();
    CHECK_FALSE(quick(graph, plan));  // nothing orders the last one behind its predecessor
    const HostCall launch = calls.back();
    calls.back() = HostCall::record(StreamId{0}, EventId{0});
    calls.push_back(HostCall::wait(StreamId{1}, EventId{0}));
    calls.push_back(launch);
    CHECK(quick(graph, plan) == (tasks == most));
    CHECK(check(graph, ideal_platform(), plan).empty());
  }
}
