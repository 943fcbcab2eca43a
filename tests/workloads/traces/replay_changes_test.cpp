// SPDX-License-Identifier: Apache-2.0
#include "workloads/traces/replay_changes.hpp"

#include "sim/base/error.hpp"
#include "sim/engine/simulator.hpp"
#include "sim/plan/plan_check.hpp"
#include "tests/workloads/traces/imported_trace_maker.hpp"

#include <doctest/doctest.h>

#include <utility>

namespace schedlab {
namespace {

using testing::ImportedTraceMaker;

/// Launches return at 5, 25, 45 and 65 us, and their kernels start 2 us later.
ReplayModel four_kernels() {
  ImportedTraceMaker maker;
  maker.kernel("alpha", 7, 0, 7, 10);
  maker.kernel("beta", 7, 20, 27, 30);
  maker.kernel("beta", 7, 40, 47, 50);
  maker.kernel("gamma", 7, 60, 67, 80);
  const ImportedTrace trace = std::move(maker).done();
  const ReconstructedTrace order = reconstruct(trace);
  const ReplayRank rank{trace, order};
  return make_replay({&rank, 1}, ReplayMode::copied_host_work);
}

Time end_of(const Problem& problem, const Plan& plan) {
  CHECK(check(problem.graph, problem.platform, plan).empty());
  Time end{};
  for (const TaskSpan& span : simulate(problem, plan).tasks) end = std::max(end, span.ended);
  return end;
}
Time end_of(const ChangedReplay& replay) {
  return end_of(replay.problem(), replay.plan);
}

TEST_CASE("the unchanged replay ends when the trace does") {
  const ReplayModel model = four_kernels();
  CHECK(end_of(model.problem(), model.plan) == ImportedTraceMaker::at(80));
}

TEST_CASE("scaled kernels take their share of the time") {
  const ReplayModel model = four_kernels();
  const ChangedReplay changed = scale_kernels(model, find_kernels(model.graph, "gam"), 2.0);
  CHECK(changed.touched == 1);
  CHECK(end_of(changed) == ImportedTraceMaker::at(67 + 2 * 13));
}

TEST_CASE("removed kernels take the host's work for them along") {
  const ReplayModel model = four_kernels();
  const ChangedReplay changed = remove_kernels(model, find_kernels(model.graph, "beta"));
  CHECK(changed.touched == 2);
  CHECK(changed.graph.task_count() == 2);
  CHECK(changed.graph.edge_count() == 1);  // gamma waits for alpha now
  CHECK(end_of(changed) == ImportedTraceMaker::at(80 - 2 * 20));
}

TEST_CASE("fused kernels are one, as long as all, for which the host works once") {
  const ReplayModel model = four_kernels();
  const ChangedReplay changed = fuse_kernels(model, find_kernels(model.graph, "beta"));
  CHECK(changed.touched == 1);
  CHECK(changed.graph.task_count() == 3);
  CHECK(changed.costs.duration(TaskId{1}) == 6us);
  CHECK(end_of(changed) == ImportedTraceMaker::at(80 - 20));
}

TEST_CASE("a host that works twice as fast returns from its last launch in half of the time") {
  const ChangedReplay changed = scale_hosts(four_kernels(), 0.5);
  // 65 / 2, 2 of latency, 13 of the kernel.
  CHECK(end_of(changed) == Time{32500ns + 2us + 13us});
}

TEST_CASE("what is launched at once runs as one queue") {
  const ChangedReplay changed = launch_at_once(four_kernels(), Time::min(), Time::max());
  CHECK(changed.touched == 3);
  CHECK(end_of(changed) == ImportedTraceMaker::at(7 + 3 + 3 + 3 + 13));
  // Only from beta's second launch on: that at 45 as it was, gamma with it.
  const ChangedReplay later =
      launch_at_once(four_kernels(), ImportedTraceMaker::at(40), ImportedTraceMaker::at(100));
  CHECK(end_of(later) == ImportedTraceMaker::at(47 + 3 + 13));
}

TEST_CASE("what is launched at once costs the host as much as graphs do in the same trace") {
  // Calls of 5 us launch kernels, one of 12 us a graph of two nodes: 7 us more for each graph.
  ImportedTraceMaker maker;
  const std::uint64_t graph = maker.call(CallKind::launch_graph, "cudaGraphLaunch", 0, 12);
  maker.activity("node", 7, 14, 20, graph);
  maker.activity("node", 7, 20, 26, graph);
  for (int i = 0; i < 4; ++i) maker.kernel("alpha", 7, 40 + 20 * i, 47 + 20 * i, 50 + 20 * i);
  const ImportedTrace trace = std::move(maker).done();
  const ReconstructedTrace order = reconstruct(trace);
  const ReplayRank rank{trace, order};
  const ReplayModel model = make_replay({&rank, 1}, ReplayMode::copied_host_work);
  CHECK(model.delays[0].launch_call == 5us);
  CHECK(model.delays[0].graph_call == 12us);
  const ChangedReplay changed =
      launch_at_once(model, ImportedTraceMaker::at(30), ImportedTraceMaker::at(200));
  CHECK(changed.touched == 3);
  // Arrives at 47 + 7, then four kernels of 3 us.
  CHECK(end_of(changed) == ImportedTraceMaker::at(54 + 4 * 3));
}

TEST_CASE("the mean host needs as long in all") {
  const ChangedReplay changed = with_mean_host(four_kernels());
  CHECK(changed.platform.hosts[HostId{0}].costs.launch == Duration{65us} / 4);
  CHECK(end_of(changed) == ImportedTraceMaker::at(80));
}

TEST_CASE("a slow rank delays its own work") {
  const ChangedReplay changed = slow_rank(four_kernels(), 0, 2.0);
  CHECK(end_of(changed) == ImportedTraceMaker::at(2 * 65 + 2 + 2 * 13));
}

TEST_CASE("a kernel that is not there is refused, and the longest ones are named") {
  const ReplayModel model = four_kernels();
  CHECK_THROWS_WITH_AS(static_cast<void>(find_kernels(model.graph, "delta")),
                       doctest::Contains("the longest are \"gamma\""),
                       InputError);
}

}  // namespace
}  // namespace schedlab
