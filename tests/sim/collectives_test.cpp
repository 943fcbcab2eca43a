// SPDX-License-Identifier: Apache-2.0
// Collectives in the graph, the cost table and the engine.
#include "sim/base/error.hpp"
#include "sim/engine/simulator.hpp"
#include "sim/graph/task_graph.hpp"
#include "sim/plan/graph_capture.hpp"
#include "sim/plan/plan.hpp"
#include "sim/trace/critical_path.hpp"
#include "sim/trace/lower_bounds.hpp"
#include "sim/trace/summary.hpp"
#include "tests/support/ranks.hpp"

#include <algorithm>
#include <string>
#include <vector>

using namespace schedlab;
using testing::RankScene;

TEST_CASE("the parts of a collective wait for the last and end together, its duration later") {
  for (const SharingModel sharing :
       {SharingModel::exclusive, SharingModel::fluid, SharingModel::blocks}) {
    RankScene scene{3, sharing};
    // Ranks get there after 10, 40 and 20 us; the collective takes 7.
    for (std::uint32_t rank = 0; rank < 3; ++rank) {
      const Duration before = rank == 0 ? 10us : (rank == 1 ? 40us : 20us);
      scene.launch(rank, 0, scene.task(rank, before));
    }
    const auto parts = scene.collective(7us);
    for (std::uint32_t rank = 0; rank < 3; ++rank) scene.launch(rank, 0, parts[rank]);
    const TaskId after = scene.task(0, 5us);
    scene.launch(0, 0, after);
    const Trace trace = scene.run();
    CHECK(scene.span(trace, parts[0]).started == Time{10us});
    CHECK(scene.span(trace, parts[1]).started == Time{40us});
    CHECK(scene.span(trace, parts[2]).started == Time{20us});
    for (const TaskId part : parts) CHECK(scene.span(trace, part).ended == Time{47us});
    CHECK(scene.span(trace, after).started == Time{47us});
    CHECK(trace.makespan() == 52us);
    // What took so long: rank 1's task, then the collective from its last part on.
    const CostTable costs{scene.graph(), scene.platform};
    const auto path = trace_critical_path({scene.graph(), scene.platform, costs}, trace);
    REQUIRE(path.steps.size() == 3);
    CHECK(path.steps[1].task == parts[1]);
    CHECK(path.running == 40us + 7us + 5us);
    // Ranks wait 30, 0 and 20 us for rank 1.
    const Problem problem{scene.graph(), scene.platform, costs};
    const Summary summary =
        Summarizer{}.summarize(problem, scene.plan, trace, graph_lower_bounds(problem));
    CHECK(summary.collective_wait == Duration{50us} / 3);
  }
}

TEST_CASE("ranks wait for the slowest host operator by operator, with a device graph once") {
  RankScene scene{2};
  scene.platform.hosts.resize(2);
  for (std::uint32_t rank = 0; rank < 2; ++rank) {
    const Duration call = rank == 0 ? 5us : 8us;
    scene.platform.hosts[HostId{rank}].costs = {.launch = call, .graph_launch = call};
    for (int i = 0; i < 10; ++i) scene.launch(rank, 0, scene.task(rank, 1us));
  }
  const auto parts = scene.collective(7us);
  for (std::uint32_t rank = 0; rank < 2; ++rank) scene.launch(rank, 0, parts[rank]);
  const auto wait_of = [&](const Plan& plan) {
    const CostTable costs{scene.graph(), scene.platform};
    const Problem problem{scene.graph(), scene.platform, costs};
    const Trace trace = simulate(problem, plan);
    return Summarizer{}
        .summarize(problem, plan, trace, graph_lower_bounds(problem))
        .collective_wait;
  };
  // Parts are launched as the eleventh: at 55 and 88 us, which rank 0 waits and rank 1 does not.
  CHECK(wait_of(scene.plan) == 11 * Duration{8us - 5us} / 2);
  // One call each: all that the hosts differ by.
  CHECK(wait_of(capture_graphs(scene.plan)) == Duration{8us - 5us} / 2);
}

TEST_CASE("a collective takes memory bandwidth from others while it moves data, and not before") {
  RankScene scene{2, SharingModel::fluid, 10};
  scene.platform.devices[DeviceId{0}].rates.memory = 100_GB_per_s;
  scene.full_bandwidth = 200_GB_per_s;
  const auto parts = scene.collective(10us, 0.5);  // wants all of the memory
  const TaskId beside = scene.task(0, 10us, 0.4);  // wants 80 GB/s
  const TaskId before = scene.task(1, 5us, 0.4);   // the other rank comes late
  scene.launch(0, 0, parts[0]);
  scene.launch(0, 1, beside);
  scene.launch(1, 0, before);
  scene.launch(1, 0, parts[1]);
  const Trace trace = scene.run();
  for (const TaskId part : parts) CHECK(scene.span(trace, part).ended == Time{15us});
  // 5 us at full speed, then 50 of the 80 GB/s it wants: what is left takes 8 us.
  const Duration took = scene.span(trace, beside).duration();
  CHECK(took >= 13us);
  CHECK(took <= 13us + Duration{100});  // rounded demands
}

TEST_CASE("a part holds its units while it waits: what needs them waits behind it") {
  for (const SharingModel sharing :
       {SharingModel::exclusive, SharingModel::fluid, SharingModel::blocks}) {
    RankScene scene{2, sharing, 4};  // 4 units; a collective's part takes 1, a task all it can
    const auto parts = scene.collective(10us, 0.25);
    const TaskId whole = scene.task(0, 8us, 1.0);
    const TaskId most = scene.task(0, 8us, 0.75);
    const TaskId late = scene.task(1, 100us, 1.0);
    scene.launch(0, 0, parts[0]);
    scene.launch(0, 1, most);
    scene.launch(0, 2, whole);
    scene.launch(1, 0, late);
    scene.launch(1, 0, parts[1]);
    const Trace trace = scene.run();
    CHECK(scene.span(trace, parts[0]).started == Time{});
    CHECK(scene.span(trace, parts[0]).ended == Time{110us});
    CHECK(scene.span(trace, most).ended == Time{8us});
    if (sharing == SharingModel::exclusive) {
      // The whole device is free again when the collective has ended.
      CHECK(scene.span(trace, whole).started == Time{110us});
    } else {
      // Its blocks take the three units that there are: four in two waves.
      CHECK(scene.span(trace, whole).started == Time{8us});
      CHECK(scene.span(trace, whole).ended == Time{24us});
    }
  }
}

TEST_CASE("collectives launched in unlike orders stop the run, and the report says who waits") {
  for (const std::uint32_t units : {0U, 4U}) {
    RankScene scene{2, SharingModel::exclusive, units};
    const auto first = scene.collective(1us, 0.25);
    const auto second = scene.collective(1us, 0.25);
    scene.launch(0, 0, first[0]);
    scene.launch(0, 0, second[0]);
    scene.launch(1, 0, second[1]);
    scene.launch(1, 0, first[1]);
    const auto findings = scene.check();
    REQUIRE(findings.size() == 1);
    CHECK(findings[0].kind == FindingKind::deadlock);
    CHECK(findings[0].message ==
          "all_reduce 0 (reduce_0@0) (1 of 2 parts have started) waits for reduce_0@1 on rank 1, "
          "which stands in 1.0 behind all_reduce 1 (reduce_1@0) (1 of 2 parts have started) waits "
          "for reduce_1@0 on rank 0, which stands in 0.0 behind all_reduce 0 (reduce_0@0), which "
          "waits itself");
    std::string text;
    try {
      static_cast<void>(scene.run());
    } catch (const InfeasibleError& error) {
      text = error.what();
    }
    CAPTURE(text);
    CHECK(text.find("waits for 1 of 2 ranks (1)") != std::string::npos);
    CHECK(text.find("waits for 1 of 2 ranks (0)") != std::string::npos);
  }
}

TEST_CASE("collectives in unlike orders on streams of their own run") {
  RankScene scene{2, SharingModel::exclusive};
  const auto first = scene.collective(3us);
  const auto second = scene.collective(4us);
  scene.launch(0, 0, first[0]);
  scene.launch(0, 1, second[0]);
  scene.launch(1, 1, second[1]);
  scene.launch(1, 0, first[1]);
  CHECK(scene.check().empty());
  CHECK(scene.run().makespan() == 4us);
}

TEST_CASE("parts of a collective in device graphs wait for each other as parts in streams do") {
  for (const SharingModel sharing :
       {SharingModel::exclusive, SharingModel::fluid, SharingModel::blocks}) {
    RankScene scene{2, sharing};
    const TaskId quick = scene.task(0, 5us);
    const TaskId slow = scene.task(1, 10us);
    const auto parts = scene.collective(3us);
    scene.launch(0, 0, quick);
    scene.launch(0, 0, parts[0]);
    scene.launch(1, 0, slow);
    scene.launch(1, 0, parts[1]);
    scene.plan = capture_graphs(scene.plan);
    REQUIRE(scene.plan.graphs.size() == 2);
    CHECK(scene.check().empty());
    const Trace trace = scene.run();
    CHECK(scene.span(trace, parts[0]).started == Time{5us});
    CHECK(scene.span(trace, parts[0]).ended == Time{13us});
    CHECK(scene.span(trace, parts[1]).ended == Time{13us});
  }
}

TEST_CASE("device graphs with collectives in unlike orders stop the run") {
  RankScene scene{2};
  const auto first = scene.collective(1us);
  const auto second = scene.collective(1us);
  scene.launch(0, 0, first[0]);
  scene.launch(0, 0, second[0]);
  scene.launch(1, 0, second[1]);
  scene.launch(1, 0, first[1]);
  scene.plan = capture_graphs(scene.plan);
  CHECK_THROWS_WITH_AS(static_cast<void>(scene.run()),
                       doctest::Contains("waits for 1 of 2 ranks (1)"),
                       InfeasibleError);
}

TEST_CASE("a host that waits for a collective its own later launch is needed for is a deadlock") {
  RankScene scene{2};
  const auto first = scene.collective(3us);
  const auto second = scene.collective(4us);
  scene.launch(0, 0, first[0]);
  scene.call(0, HostCall::synchronize_stream(RankScene::stream(0, 0)));
  scene.launch(0, 1, second[0]);
  scene.launch(1, 1, second[1]);
  scene.call(1, HostCall::record(RankScene::stream(1, 1), EventId{0}));
  scene.call(1, HostCall::wait(RankScene::stream(1, 0), EventId{0}));
  scene.launch(1, 0, first[1]);
  scene.plan.event_count = 1;
  const auto findings = scene.check();
  REQUIRE(findings.size() == 1);
  CHECK(findings[0].kind == FindingKind::deadlock);
  CHECK(findings[0].message.find("\"rank 0\" has not launched: it waits in") != std::string::npos);
  CHECK_THROWS_AS(static_cast<void>(scene.run()), InfeasibleError);
}

TEST_CASE("a task on another rank's device is malformed") {
  RankScene scene{2};
  scene.launch(0, 0, scene.task(1, 1us));
  const auto findings = scene.check();
  REQUIRE(!findings.empty());
  CHECK(findings[0].message.find("belongs to rank 1, on device 0") != std::string::npos);
}

TEST_CASE("two collectives that need a unit each on devices of one unit stop the run") {
  // What the checker cannot see: streams would let them run, units do not.
  RankScene scene{2, SharingModel::exclusive, 1};
  const auto first = scene.collective(3us);
  const auto second = scene.collective(4us);
  scene.launch(0, 0, first[0]);
  scene.launch(0, 1, second[0]);
  scene.launch(1, 1, second[1]);
  scene.launch(1, 0, first[1]);
  CHECK_THROWS_AS(static_cast<void>(scene.run()), InfeasibleError);
}

TEST_CASE("a graph refuses collectives that cannot be") {
  const auto with = [](auto&& add) {
    TaskGraphBuilder builder;
    const OperationId reduce = builder.add_operation(
        {.name = "reduce", .kind = TaskKind::collective, .fixed_duration = 1us});
    const OperationId other = builder.add_operation({.name = "work", .fixed_duration = 1us});
    add(builder, reduce, other);
    return std::move(builder).build();
  };
  const CollectiveSpec spec{.op = CollectiveOp::all_reduce, .bytes = 1_KiB};
  CHECK_THROWS_AS(static_cast<void>(with([&](auto& b, OperationId, OperationId work) {
                    b.joins(b.add_task(work), b.add_collective(spec));
                  })),
                  ContractViolation);  // not of the kind
  CHECK_THROWS_AS(static_cast<void>(with([&](auto& b, OperationId reduce, OperationId) {
                    const CollectiveId c = b.add_collective(spec);
                    b.joins(b.add_task(reduce), c);
                    b.joins(b.add_task(reduce), c);
                  })),
                  ContractViolation);  // two on rank 0
  CHECK_THROWS_AS(static_cast<void>(with([&](auto& b, OperationId reduce, OperationId) {
                    const TaskId task = b.add_task(reduce);
                    b.joins(task, b.add_collective(spec));
                    b.joins(task, b.add_collective(spec));
                  })),
                  ContractViolation);  // in two collectives
  CHECK_THROWS_AS(static_cast<void>(with([&](auto& b, OperationId, OperationId) {
                    static_cast<void>(b.add_collective(spec));
                  })),
                  ContractViolation);  // without a task
  const TaskGraph good = with([&](auto& b, OperationId reduce, OperationId work) {
    const CollectiveId c = b.add_collective(spec);
    for (std::uint32_t rank = 0; rank < 3; ++rank) {
      const TaskId task = b.add_task(reduce);
      b.set_rank(task, rank);
      b.joins(task, c);
    }
    static_cast<void>(b.add_task(work));
  });
  CHECK(good.collectives().size() == 1);
  CHECK(good.rank_count() == 3);
  CHECK(good.rank(TaskId{2}) == 2);
  CHECK(good.rank(TaskId{3}) == 0);
  CHECK(good.collectives().of(TaskId{1}) == CollectiveId{0});
  CHECK_FALSE(good.collectives().of(TaskId{3}).valid());
}

TEST_CASE("a synchronize of everything waits for the rank's own device only") {
  RankScene scene{2, SharingModel::exclusive};
  scene.launch(0, 0, scene.task(0, 10us));
  scene.launch(1, 0, scene.task(1, 50us));
  scene.call(0, HostCall::synchronize_all());
  const TaskId after = scene.task(0, 1us);
  scene.launch(0, 0, after);
  const Trace trace = scene.run();
  CHECK(scene.span(trace, after).submitted == Time{10us});
}
