// SPDX-License-Identifier: Apache-2.0
#include "policies/critical_first.hpp"

#include "policies/critical_lanes.hpp"
#include "sim/engine/simulator.hpp"
#include "sim/plan/plan_check.hpp"
#include "tests/support/scenes.hpp"
#include "workloads/models/recurrent/lstm.hpp"
#include "workloads/transforms/overlap_iterations.hpp"

#include <doctest/doctest.h>

#include <string>
#include <vector>

namespace schedlab {
namespace {

using namespace std::chrono_literals;
using testing::Scene;
using Variant = CriticalFirstOptions::Variant;
using DrainStreams = CriticalFirstOptions::DrainStreams;
using QueueOrder = CriticalFirstOptions::QueueOrder;

LstmSpec backward(std::int64_t layers,
                  std::int64_t steps,
                  Accumulation accumulation,
                  BufferOrder order = BufferOrder::chained) {
  LstmSpec spec{.layers = layers, .steps = steps, .batch = 2, .hidden = 8};
  spec.accumulation = accumulation;
  spec.buffer_order = order;
  return spec;
}

/// Events recorded right behind a critical task and behind any other.
struct EventCounts {
  std::size_t critical = 0;
  std::size_t other = 0;
};

EventCounts count_events(const TaskGraph& graph, const Plan& plan) {
  EventCounts counts;
  IdVector<StreamId, TaskId> tail(plan.streams.size());
  for (const HostCall call : plan.hosts[HostId{0}].calls) {
    if (call.kind() == HostCallKind::launch) tail[call.stream()] = call.task();
    if (call.kind() != HostCallKind::record) continue;
    ++(graph.critical(tail[call.stream()]) ? counts.critical : counts.other);
  }
  return counts;
}

/// The task of this name, or, for tasks without tags, the first of an operation of this name.
TaskId task_named(const TaskGraph& graph, std::string_view name) {
  TaskId task = graph.find(name);
  for (const TaskId other : graph.tasks()) {
    if (!task.valid() && graph.operation(other).name == name) task = other;
  }
  REQUIRE(task.valid());
  return task;
}

std::vector<std::string> launches_of(const TaskGraph& graph, const Plan& plan, StreamId stream) {
  std::vector<std::string> names;
  for (const HostCall call : plan.hosts[HostId{0}].calls) {
    if (call.kind() == HostCallKind::launch && call.stream() == stream) {
      names.push_back(graph.name(call.task()));
    }
  }
  return names;
}

StreamId stream_named(const Plan& plan, const std::string& name) {
  for (const StreamId stream : plan.streams.ids()) {
    if (plan.stream_name(stream) == name) return stream;
  }
  return StreamId::none();
}

TEST_CASE("without a cap the backward pass takes 2L + 1 streams and 2LT events of critical tasks") {
  for (const std::uint32_t layers : {1U, 2U, 3U, 8U}) {
    for (const std::uint32_t steps : {1U, 2U, 5U, 12U}) {
      for (const BufferOrder order : {BufferOrder::chained, BufferOrder::by_plan}) {
        for (const Accumulation mode :
             {Accumulation::partial, Accumulation::ordered, Accumulation::batched}) {
          for (const Variant variant : {Variant::interleaved, Variant::enqueue_all_first}) {
            CAPTURE(layers);
            CAPTURE(steps);
            CAPTURE(static_cast<int>(mode));
            CAPTURE(static_cast<int>(variant));
            const Scene scene{lstm(backward(layers, steps, mode, order)),
                              Rng{layers * 100 + steps}};
            const Plan plan = CriticalFirst{{.variant = variant}}.plan(scene.problem());
            CHECK(plan.streams.size() == 2 * layers + 1);
            CHECK(plan.count(HostCallKind::create_stream) == 2 * layers + 1);
            const EventCounts events = count_events(scene.graph, plan);
            CHECK(events.critical == 2 * layers * steps);
            CHECK(events.critical + events.other == plan.event_count);
          }
        }
      }
    }
  }
}

TEST_CASE("updates are put off beneath the next iteration, whose search goes on after them") {
  LstmSpec spec = backward(3, 4, Accumulation::ordered);
  spec.pass = RecurrentPass::training;
  const TaskGraph graph = OverlapIterations{3}.apply(lstm(spec));
  for (const auto order : {QueueOrder::in_order, QueueOrder::by_rank}) {
    for (const Variant variant : {Variant::interleaved, Variant::enqueue_all_first}) {
      CAPTURE(static_cast<int>(order));
      CAPTURE(static_cast<int>(variant));
      const Scene scene{graph, Rng{7}};
      const Plan plan =
          CriticalFirst{{.variant = variant, .queue_order = order}}.plan(scene.problem());
      CHECK(plan.task_count() == graph.task_count());
      CHECK(check(graph, scene.platform, plan).empty());
    }
  }
  // No update is critical, though the next forward pass needs it.
  const CriticalLanes lanes = critical_lanes(graph);
  for (const TaskId task : graph.tasks()) {
    const TaskClass task_class = graph.operation(task).task_class;
    if (task_class == TaskClass::update) CHECK(lanes.critical[task] == 0);
    if (task_class == TaskClass::weight_gradient) CHECK(lanes.critical[task] == 0);
  }
}

TEST_CASE("cell and hidden_1 share the first stream of a layer, hidden_2 has the second") {
  const Scene scene{lstm(backward(2, 3, Accumulation::partial)), 10us};
  const Plan plan = CriticalFirst{{.drain_streams = DrainStreams::secondary}}.plan(scene.problem());
  using Names = std::vector<std::string>;
  CHECK(launches_of(scene.graph, plan, stream_named(plan, "primary_2")) == Names{"cell(1,2)",
                                                                                 "hidden_1(1,2)",
                                                                                 "cell(1,1)",
                                                                                 "hidden_1(1,1)",
                                                                                 "cell(1,0)",
                                                                                 "hidden_1(1,0)"});
  CHECK(launches_of(scene.graph, plan, stream_named(plan, "primary_3")) ==
        Names{"hidden_2(1,2)", "hidden_2(1,1)", "hidden_2(1,0)"});
  CHECK(launches_of(scene.graph, plan, stream_named(plan, "primary_1")) ==
        Names{"hidden_2(0,2)", "hidden_2(0,1)", "hidden_2(0,0)"});
  CHECK(launches_of(scene.graph, plan, stream_named(plan, "secondary")).size() == 2 * 2 * 3 + 4);
}

TEST_CASE("a single step keeps the first matrix product of a layer with its cell") {
  const Scene scene{lstm(backward(2, 1, Accumulation::ordered)), 10us};
  const CriticalLanes lanes = critical_lanes(scene.graph);
  CHECK_FALSE(lanes.second[task_named(scene.graph, "cell(1,0)")]);
  CHECK_FALSE(lanes.second[task_named(scene.graph, "hidden_1(1,0)")]);
  CHECK(lanes.second[task_named(scene.graph, "hidden_2(1,0)")]);
}

TEST_CASE("in the forward pass products of the layer input have the second stream") {
  LstmSpec spec = backward(2, 4, Accumulation::ordered);
  spec.pass = LstmPass::forward;
  const TaskGraph graph = lstm(spec);
  const CriticalLanes lanes = critical_lanes(graph);
  CHECK(lanes.second[task_named(graph, "input_gemm(1,2)")]);
  CHECK_FALSE(lanes.second[task_named(graph, "recurrent_gemm(1,0)")]);
  CHECK_FALSE(lanes.second[task_named(graph, "cell_forward(1,2)")]);
}

TEST_CASE("what critical tasks need counts as critical") {
  LstmSpec spec = backward(2, 2, Accumulation::ordered);
  spec.pass = LstmPass::training;
  const TaskGraph graph = lstm(spec);
  const CriticalLanes lanes = critical_lanes(graph);
  CHECK(lanes.critical[task_named(graph, "transfer_in")]);
  CHECK_FALSE(lanes.critical[task_named(graph, "transfer_out")]);
  CHECK_FALSE(lanes.critical[task_named(graph, "weight_1(1,1)")]);
  CHECK(lanes.layer[task_named(graph, "loss")] == 1);  // that of the cell that follows
}

TEST_CASE("primary streams have the higher priority unless priorities are off") {
  const Scene scene{lstm(backward(2, 3, Accumulation::ordered)), 10us};
  for (const bool priorities : {true, false}) {
    const Plan plan = CriticalFirst{{.priorities = priorities}}.plan(scene.problem());
    CHECK(plan.streams[stream_named(plan, "primary_0")].priority == (priorities ? -1 : 0));
    CHECK(plan.streams[stream_named(plan, "secondary")].priority == 0);
  }
}

TEST_CASE("past the cap no stream is opened and every plan stays sound") {
  const Scene scene{lstm(backward(4, 6, Accumulation::ordered)), Rng{3}};
  for (std::uint32_t cap = 1; cap <= 12; ++cap) {
    CAPTURE(cap);
    const Plan plan = CriticalFirst{{.max_streams = cap}}.plan(scene.problem());
    CHECK(plan.streams.size() == std::min(cap, 9U));
    CHECK(check(scene.graph, scene.platform, plan).empty());
  }
}

TEST_CASE("streams are created when the search reaches their layer") {
  const Scene scene{lstm(backward(2, 2, Accumulation::ordered)), 10us};
  const Plan plan = CriticalFirst{{.variant = Variant::enqueue_all_first}}.plan(scene.problem());
  const auto& calls = plan.hosts[HostId{0}].calls;
  // Top layer first: two streams and cell(1,1), which records event 0; both hidden tasks, the
  // second after a wait; then the search reaches layer 0.
  CHECK(calls[0] == HostCall::create_stream(StreamId{0}));
  CHECK(calls[1] == HostCall::create_stream(StreamId{1}));
  CHECK(calls[2] == HostCall::launch(StreamId{0}, task_named(scene.graph, "cell(1,1)")));
  CHECK(calls[3] == HostCall::record(StreamId{0}, EventId{0}));
  CHECK(calls[4] == HostCall::launch(StreamId{0}, task_named(scene.graph, "hidden_1(1,1)")));
  CHECK(calls[5] == HostCall::wait(StreamId{1}, EventId{0}));
  CHECK(calls[6] == HostCall::launch(StreamId{1}, task_named(scene.graph, "hidden_2(1,1)")));
  CHECK(calls[7] == HostCall::record(StreamId{1}, EventId{1}));
  CHECK(plan.stream_name(StreamId{0}) == "primary_2");
  CHECK(plan.stream_name(StreamId{2}) == "primary_0");
  CHECK(plan.stream_name(StreamId{4}) == "secondary");
}

TEST_CASE("enqueue_all_first asks nothing before the last critical task is launched") {
  const Scene scene{lstm(backward(3, 4, Accumulation::ordered)), 10us};
  for (const Variant variant : {Variant::interleaved, Variant::enqueue_all_first}) {
    const Plan plan = CriticalFirst{{.variant = variant}}.plan(scene.problem());
    std::size_t first_query = 0;
    std::size_t last_critical = 0;
    const auto& calls = plan.hosts[HostId{0}].calls;
    for (std::size_t i = calls.size(); i-- > 0;) {
      if (calls[i].kind() == HostCallKind::query) first_query = i;
      if (calls[i].kind() == HostCallKind::launch && scene.graph.critical(calls[i].task())) {
        last_critical = std::max(last_critical, i);
      }
    }
    CHECK((first_query > last_critical) == (variant == Variant::enqueue_all_first));
  }
}

TEST_CASE("without fill_while_critical nothing else starts before the critical phase has ended") {
  const Scene scene{lstm(backward(3, 4, Accumulation::partial)), Rng{5}};
  for (const bool fill : {true, false}) {
    const Plan plan = CriticalFirst{{.fill_while_critical = fill}}.plan(scene.problem());
    Time critical_end{};
    Time other_start = Time::max();
    for (const TaskSpan& span : simulate(scene.problem(), plan).tasks) {
      if (scene.graph.critical(span.task)) {
        critical_end = std::max(critical_end, span.ended);
      } else {
        other_start = std::min(other_start, span.started);
      }
    }
    CHECK((other_start >= critical_end) == !fill);
  }
}

TEST_CASE("drain_streams secondary keeps other tasks off the primary streams") {
  const Scene scene{lstm(backward(3, 4, Accumulation::ordered)), Rng{5}};
  const Plan plan = CriticalFirst{{.drain_streams = DrainStreams::secondary}}.plan(scene.problem());
  for (const HostCall call : plan.hosts[HostId{0}].calls) {
    if (call.kind() != HostCallKind::launch) continue;
    CHECK((plan.stream_name(call.stream()) == "secondary") == !scene.graph.critical(call.task()));
  }
}

TEST_CASE("any setting of the knobs makes sound plans for a whole training step") {
  Rng rng{2024};
  for (int round = 0; round < 150; ++round) {
    CAPTURE(round);
    LstmSpec spec = backward(static_cast<std::int64_t>(1 + rng.below(4)),
                             static_cast<std::int64_t>(1 + rng.below(6)),
                             static_cast<Accumulation>(rng.below(3)),
                             static_cast<BufferOrder>(rng.below(2)));
    spec.pass = rng.below(2) == 0 ? LstmPass::backward : LstmPass::training;
    spec.granularity = rng.below(2) == 0 ? Granularity::fine : Granularity::matmul;
    spec.partial_buffers = static_cast<std::int64_t>(1 + rng.below(4));
    const CriticalFirstOptions options{
        .variant = static_cast<Variant>(rng.below(2)),
        .max_streams = static_cast<std::uint32_t>(rng.below(8)),
        .fill_while_critical = rng.below(4) > 0,
        .drain_streams = static_cast<DrainStreams>(rng.below(2)),
        .sleep = Duration{static_cast<std::int64_t>(100'000 + rng.below(50'000'000))},
        .queries_per_level = static_cast<std::uint32_t>(rng.below(4)),
        .max_queries = static_cast<std::uint32_t>(1 + rng.below(3)),
        .tasks_per_fill = static_cast<std::uint32_t>(1 + rng.below(3)),
        .look_ahead = static_cast<std::uint32_t>(1 + rng.below(20))};
    Scene scene{lstm(spec), Rng{rng.next()}};
    // A busy host lets streams run dry, so that queries find idle streams between critical tasks.
    scene.platform.hosts[HostId{0}].costs.launch = std::chrono::microseconds{rng.below(30)};
    const Plan plan = CriticalFirst{options}.plan(scene.problem());
    expect_well_formed(plan, scene.graph.task_count());
    CHECK(check(scene.graph, scene.platform, plan).empty());
    CHECK(simulate(scene.problem(), plan).tasks.size() == scene.graph.task_count());
  }
}

TEST_CASE("idle primary streams are filled between critical tasks of a slow host") {
  // Launches of 50 us against tasks of 10 us: every stream is idle at every query.
  Scene scene{lstm(backward(2, 6, Accumulation::partial)), 10us};
  scene.platform.hosts[HostId{0}].costs.launch = 50us;
  const Plan plan = CriticalFirst{}.plan(scene.problem());
  CHECK(check(scene.graph, scene.platform, plan).empty());
  std::size_t filled = 0;
  bool other_before = false;
  const std::vector<HostCall>& calls = plan.hosts[HostId{0}].calls;
  for (const HostCall call : calls) {
    if (call.kind() != HostCallKind::launch || call.stream() != stream_named(plan, "primary_2")) {
      continue;
    }
    if (scene.graph.critical(call.task()) && other_before) ++filled;
    other_before = !scene.graph.critical(call.task());
  }
  CHECK(filled > 0);
}

TEST_CASE("a wait that earlier waits imply is not made") {
  const Scene scene{lstm(backward(3, 5, Accumulation::ordered)), Rng{5}};
  const Plan plan = CriticalFirst{}.plan(scene.problem());
  const auto& calls = plan.hosts[HostId{0}].calls;
  const auto findings_without = [&](std::size_t index) {
    Plan shorter = plan;
    auto& kept = shorter.hosts[HostId{0}].calls;
    kept.erase(kept.begin() + static_cast<std::ptrdiff_t>(index));
    return check(scene.graph, scene.platform, shorter).size();
  };
  std::size_t waits = 0;
  for (std::size_t i = 0; i < calls.size(); ++i) {
    if (calls[i].kind() != HostCallKind::wait) continue;
    CAPTURE(i);
    ++waits;
    CHECK(findings_without(i) > 0);
  }
  CHECK(waits > 0);
}

TEST_CASE("long tasks cost few queries because sleeps grow, and little time") {
  // A cell of 100 s keeps all three streams busy while weight_2 waits: with 20 us of sleep that
  // were 5 million rounds of 3 queries. 10,000 + 400 for each of the 4 issued tasks are free: 3867
  // rounds, 77 ms. From there sleeps are 1/16 of the wait, up to a second from 16 s on: 16 ln(16 /
  // 0.077) = 85 rounds, then 84: about 12,100 queries, and an end at most a second late.
  Scene scene{lstm(backward(1, 1, Accumulation::ordered)), 10us};
  IdVector<TaskId, Duration> durations = scene.costs.durations();
  durations[task_named(scene.graph, "cell(0,0)")] = 100s;
  scene.costs.set_task_durations(durations);
  const Plan plan = CriticalFirst{{.tasks_per_fill = 1}}.plan(scene.problem());
  CHECK(plan.count(HostCallKind::query) > 11'600);
  CHECK(plan.count(HostCallKind::query) < 12'600);
  CHECK(simulate(scene.problem(), plan).makespan() < 101100ms);
}

TEST_CASE("a long critical phase does not delay what follows by more than a round") {
  // 40 steps of 4 critical tasks of 100 us each; the host looks every 20 us all the time.
  const Scene scene{lstm(backward(1, 40, Accumulation::ordered)), 100us};
  const Plan plan = CriticalFirst{{.fill_while_critical = false}}.plan(scene.problem());
  const Plan filled = CriticalFirst{}.plan(scene.problem());
  CHECK(simulate(scene.problem(), filled).makespan() <= simulate(scene.problem(), plan).makespan());
}

TEST_CASE("the matmul version differs in name and granularity only") {
  const CriticalFirst policy{{}, Granularity::matmul};
  CHECK(policy.name() == "critical_first_matmul");
  CHECK(policy.granularity() == Granularity::matmul);
  LstmSpec spec = backward(3, 4, Accumulation::partial);
  spec.granularity = Granularity::matmul;
  const Scene scene{lstm(spec), Rng{2}};
  const Plan plan = policy.plan(scene.problem());
  CHECK(plan.streams.size() == 2 * 3 + 1);
  CHECK(count_events(scene.graph, plan).critical == 2 * 3 * 4);
}

}  // namespace
}  // namespace schedlab
