// SPDX-License-Identifier: Apache-2.0
#include "workloads/traces/replay_pauses.hpp"

#include "sim/engine/simulator.hpp"
#include "sim/plan/plan_check.hpp"
#include "tests/workloads/traces/imported_trace_maker.hpp"
#include "workloads/traces/replay_changes.hpp"

#include <doctest/doctest.h>

#include <string>
#include <utility>

namespace schedlab {
namespace {

using testing::ImportedTraceMaker;

struct Replayed {
  explicit Replayed(ImportedTraceMaker maker, ReplayMode mode = ReplayMode::copied_host_work)
      : imported(std::move(maker).done()), order(reconstruct(imported)) {
    const ReplayRank rank{imported, order};
    model = make_replay({&rank, 1}, mode);
    CHECK(check(model.graph, model.platform, model.plan).empty());
    trace = simulate(model.problem(), model.plan);
    errors = replay_errors(model, trace);
  }

  [[nodiscard]] const TaskSpan& span(const std::string& name) const { return span(trace, name); }
  [[nodiscard]] const TaskSpan& span(const Trace& run, const std::string& name) const {
    const TaskSpan* found = nullptr;
    for (const TaskSpan& span : run.tasks) {
      if (model.graph.operation(span.task).name == name) found = &span;
    }
    REQUIRE(found != nullptr);
    return *found;
  }
  /// The start of a task if the host did its own work at once.
  [[nodiscard]] Time start_with_free_host(const std::string& name) const {
    const ChangedReplay changed = scale_hosts(model, 0.0);
    return span(simulate(changed.problem(), changed.plan), name).started;
  }

  ImportedTrace imported;
  ReconstructedTrace order;
  ReplayModel model;
  Trace trace;
  ReplayErrors errors;
};

/// Launches that return 5 us after they are called and start 2 us later, the last one at 87 us.
ImportedTraceMaker idle_kernels() {
  ImportedTraceMaker maker;
  for (int i = 0; i < 5; ++i) maker.kernel("small", 7, 20 * i, 20 * i + 7, 20 * i + 10);
  return maker;
}

TEST_CASE("an idle device that does not start what it has been given goes on to do so") {
  ImportedTraceMaker maker = idle_kernels();
  maker.kernel("late", 7, 100, 5000, 5010);
  maker.kernel("behind", 7, 120, 5010, 5020);
  for (const auto mode : {ReplayMode::copied_launches, ReplayMode::copied_host_work}) {
    CAPTURE(to_string(mode));
    const Replayed run(maker, mode);
    CHECK(run.errors.pauses == 1);
    CHECK(run.errors.paused == 4893us);  // from 100 + 5 + 2, when it had arrived, to 5000
    CHECK(run.span("late").started == ImportedTraceMaker::at(5000));
    CHECK(run.span("behind").started == ImportedTraceMaker::at(5010));
    // The pause is given, and so are the start behind it and, with copied launches, the first one.
    CHECK(run.model.given[run.span("late").task]);
    CHECK_FALSE(run.model.given[run.span("behind").task]);
    CHECK(run.errors.tasks + run.errors.given == 7);
  }
  // A host without work of its own launches all at 5 us, when its first call returned: 2 us of
  // latency, 5 times 3 us of kernels in a row, and the pause.
  const Replayed run(maker);
  CHECK(run.start_with_free_host("late") == ImportedTraceMaker::at(5 - 5 + 2 + 15 + 4893));
}

TEST_CASE("what waits while the device works may have found no capacity, which is no pause") {
  ImportedTraceMaker maker = idle_kernels();
  maker.kernel("beside", 20, 95, 102, 5000);
  maker.kernel("late", 7, 105, 5000, 5010);
  const Replayed run(maker);
  CHECK(run.errors.pauses == 0);
  CHECK(run.span("late").started == ImportedTraceMaker::at(112));
}

TEST_CASE("what was launched later cannot have been waited for, and leaves an idle device idle") {
  ImportedTraceMaker maker = idle_kernels();
  maker.kernel("late", 7, 100, 5000, 5010);
  maker.kernel("other", 20, 4000, 4007, 4995);
  const Replayed run(maker);
  CHECK(run.errors.pauses == 1);
  CHECK(run.span("late").started == ImportedTraceMaker::at(5000));
}

TEST_CASE("a pause is no kernel: no change scales, removes or finds it") {
  ImportedTraceMaker maker = idle_kernels();
  maker.kernel("late", 7, 100, 5000, 5010);
  const Replayed run(maker);
  CHECK(find_kernels(run.model.graph, "t").size() == 1);  // "late"
  CHECK(slow_rank(run.model, 0, 2.0).costs.duration(run.model.measured.tasks.back().task) ==
        4893us);
}

TEST_CASE("a host that was held by nothing that the trace shows is held as long again") {
  ImportedTraceMaker maker = idle_kernels();
  maker.call(CallKind::synchronize_stream, "cudaStreamSynchronize", 100, 3000);
  maker.kernel("next", 7, 3010, 3017, 3020);
  const Replayed run(maker);
  CHECK(run.errors.pauses == 1);
  CHECK(to_us(run.span("next").started) == 3017.0);
  // Nothing is left of its own work but the wait: from 3 us behind the last of five kernels.
  CHECK(run.start_with_free_host("next") > ImportedTraceMaker::at(2890));
}

TEST_CASE("a host that waits before it has launched anything waits for something outside") {
  ImportedTraceMaker maker;
  maker.call(CallKind::synchronize_stream, "cudaStreamSynchronize", 10, 2010);
  for (int i = 0; i < 5; ++i) maker.kernel("small", 7, 2020 + 20 * i, 2027 + 20 * i, 2030 + 20 * i);
  const Replayed run(maker);
  REQUIRE(run.order.host.front().kind == HostStepKind::wait_outside);
  CHECK(run.errors.start_max == 0us);
  CHECK(run.start_with_free_host("small") > ImportedTraceMaker::at(2000));
}

TEST_CASE("a graph that begins before its launch call returns is launched at the call's begin") {
  ImportedTraceMaker maker = idle_kernels();
  const auto graph = maker.call(CallKind::launch_graph, "hipGraphLaunch", 100, 1600);
  maker.activity("node", 7, 107, 500, graph);
  maker.activity("node", 7, 500, 900, graph);
  maker.kernel("behind", 7, 1620, 1627, 1700);
  for (const auto mode : {ReplayMode::copied_launches, ReplayMode::copied_host_work}) {
    CAPTURE(to_string(mode));
    const Replayed run(maker, mode);
    CHECK(run.order.items[StreamItemId{5}].early);
    // A call of 5 us and a latency of 2 us, as of the kernels: one graph says nothing of its own.
    CHECK(run.errors.start_max == 0us);
    CHECK(run.span("behind").started == ImportedTraceMaker::at(1627));
  }
}

TEST_CASE("a graph whose nodes pause in one launch pauses there in each, as long as it did") {
  ImportedTraceMaker maker = idle_kernels();
  for (int i = 0; i < 3; ++i) {
    const int begin = 200 + 2000 * i;
    const int hole = i == 0 ? 1 : 400 * i;
    const auto graph = maker.call(CallKind::launch_graph, "cudaGraphLaunch", begin, begin + 5);
    maker.activity("first", 7, begin + 7, begin + 10, graph);
    maker.activity("second", 7, begin + 10 + hole, begin + 20 + hole, graph);
  }
  const Replayed run(maker);
  CHECK(run.errors.pauses == 3);
  CHECK(run.errors.paused == 1196us);  // 400 and 800 us, less the gaps of 1 us before and behind
  CHECK(run.model.delays[0].graph_node_gap == 1us);  // holes are none
  CHECK(run.span("second").started == ImportedTraceMaker::at(4200 + 810));
}

}  // namespace
}  // namespace schedlab
