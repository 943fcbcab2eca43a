// SPDX-License-Identifier: Apache-2.0
#include "workloads/traces/replay.hpp"

#include "sim/base/error.hpp"
#include "sim/engine/simulator.hpp"
#include "sim/plan/plan_check.hpp"
#include "tests/workloads/traces/imported_trace_maker.hpp"

#include <doctest/doctest.h>

#include <string>
#include <vector>

namespace schedlab {
namespace {

using testing::ImportedTraceMaker;

struct Replayed {
  ReplayModel model;
  Trace trace;
  ReplayErrors errors;

  [[nodiscard]] const TaskSpan& span(const std::string& name, std::size_t which = 0) const {
    const TaskSpan* found = nullptr;
    for (const TaskSpan& span : trace.tasks) {
      if (model.graph.operation(span.task).name == name && which-- == 0) found = &span;
    }
    REQUIRE(found != nullptr);
    return *found;
  }
};

Replayed replayed(const std::vector<ImportedTrace>& traces, ReplayMode mode) {
  std::vector<ReconstructedTrace> orders;
  for (const ImportedTrace& trace : traces) orders.push_back(reconstruct(trace));
  std::vector<ReplayRank> ranks;
  for (std::size_t i = 0; i < traces.size(); ++i) ranks.push_back({traces[i], orders[i]});
  Replayed result{.model = make_replay(ranks, mode), .trace = {}, .errors = {}};
  CHECK(check(result.model.graph, result.model.platform, result.model.plan).empty());
  result.trace = simulate(result.model.problem(), result.model.plan);
  result.errors = replay_errors(result.model, result.trace);
  return result;
}

Replayed replayed(ImportedTraceMaker maker, ReplayMode mode) {
  std::vector<ImportedTrace> traces;
  traces.push_back(std::move(maker).done());
  return replayed(traces, mode);
}

/// Launches that return 5 us after they are called and start 2 us later.
void add_idle_kernels(ImportedTraceMaker& maker, int from, int count) {
  for (int i = 0; i < count; ++i) {
    maker.kernel("small", 7, from + 20 * i, from + 20 * i + 7, from + 20 * i + 10);
  }
}

TEST_CASE("with copied launches a queue starts its items one gap after the other") {
  ImportedTraceMaker maker;
  add_idle_kernels(maker, 0, 5);
  maker.kernel("long", 7, 100, 107, 300);
  maker.kernel("behind", 7, 120, 301, 310);  // the only gap of the trace: 1 us
  const Replayed run = replayed(std::move(maker), ReplayMode::copied_launches);
  CHECK(run.model.delays[0].launch_latency == 2us);
  CHECK(run.model.delays[0].stream_gap == 1us);
  CHECK(run.errors.given == 1);  // what ran before the first one is not known
  CHECK(run.errors.start_max == 0us);
  CHECK(run.span("behind").started == ImportedTraceMaker::at(301));
}

TEST_CASE("an item waits for the event of another stream, and its error is what the events add") {
  ImportedTraceMaker maker;
  maker.kernel("before", 20, 0, 7, 10);
  add_idle_kernels(maker, 20, 4);
  maker.kernel("producer", 20, 110, 117, 400);
  maker.wait(130);
  maker.kernel("consumer", 7, 140, 404, 410);
  const Replayed run = replayed(std::move(maker), ReplayMode::copied_launches);
  CHECK(run.model.delays[0].event_latency == 4us);
  CHECK(run.span("consumer").started == ImportedTraceMaker::at(404));
  CHECK(run.model.graph.edge_count() == 6);  // 1 in stream 20, 4 in stream 7, 1 between them
}

TEST_CASE("what was launched before the recording keeps its stream busy as long as it did") {
  ImportedTraceMaker maker;
  maker.activity("earlier", 7, 5, 50);
  maker.activity("earlier", 7, 60, 100);  // what it waited for is unknown
  maker.kernel("behind", 7, 10, 102, 110);
  for (const auto mode : {ReplayMode::copied_launches, ReplayMode::copied_host_work}) {
    CAPTURE(to_string(mode));
    const Replayed run = replayed(maker, mode);
    CHECK(run.errors.given == 2);
    CHECK(run.span("earlier", 1).ended == ImportedTraceMaker::at(100));
    CHECK(run.span("behind").started == ImportedTraceMaker::at(102));
  }
}

TEST_CASE("a host that waits goes on when the device is done") {
  ImportedTraceMaker maker;
  add_idle_kernels(maker, 0, 5);
  maker.kernel("long", 7, 100, 107, 300);
  maker.call(CallKind::synchronize_stream, "cudaStreamSynchronize", 110, 304);
  maker.kernel("next", 7, 310, 317, 320);
  const Replayed run = replayed(std::move(maker), ReplayMode::copied_host_work);
  CHECK(run.model.delays[0].wake_up == 4us);
  // 300 + 4 to wake up, 11 of its own until the launch returns, 2 of latency.
  CHECK(run.span("next").started == ImportedTraceMaker::at(317));
  CHECK(run.errors.start_max == 0us);
}

/// Iterations of one long and twelve small kernels, `period` apart.
ImportedTraceMaker iterations(int count, int period, int slow_from = 1000, int slower = 0) {
  ImportedTraceMaker maker;
  for (int i = 0; i < count; ++i) {
    const int begin = 100 + i * period;
    const int longer = i >= slow_from ? slower : 0;
    maker.iteration(begin - 1, begin + period - 2);
    add_idle_kernels(maker, begin, 12);
    maker.kernel("long", 7, begin + 240, begin + 247, begin + 300 + longer);
  }
  return maker;
}

TEST_CASE("a generated host repeats what it did in the first half") {
  const Replayed run = replayed(iterations(4, 500), ReplayMode::generated_host);
  CHECK(run.model.split.iterations == 4);
  CHECK(run.model.split.annotated);
  // Half of the iterations: from 100 + 2 * 500 - 1 to 100 + 3 * 500 + 300 on the trace's clock.
  CHECK(run.errors.measured_span == 801us);
  CHECK(run.errors.replayed_span == 801us);
  CHECK(run.errors.start_max == 0us);
}

TEST_CASE("calibrated durations are those of the first half, so what changes later is missed") {
  const Replayed copied = replayed(iterations(4, 500, 2, 20), ReplayMode::generated_host);
  CHECK(copied.errors.duration_p90 == 0.0);
  const Replayed run = replayed(iterations(4, 500, 2, 20), ReplayMode::calibrated);
  CHECK(run.span("long").duration() == 53us);  // 300 - 247; 73 was measured
  CHECK(run.errors.measured_span == 821us);
  CHECK(run.errors.replayed_span == 801us);
}

TEST_CASE("iterations without annotations are found by their repeating launches") {
  ImportedTraceMaker maker;
  maker.kernel("set_up", 7, 10, 17, 20);
  for (int i = 0; i < 4; ++i) {
    for (int k = 0; k < 11; ++k) {
      const int begin = 100 + 300 * i + 20 * k;
      maker.kernel(std::string(1, static_cast<char>('a' + k)), 7, begin, begin + 7, begin + 10);
    }
  }
  const ImportedTrace trace = std::move(maker).done();
  const ReplaySplit split = find_split(trace, reconstruct(trace));
  CHECK(split.iterations == 4);
  CHECK_FALSE(split.annotated);
  CHECK(split.when == ImportedTraceMaker::at(100 + 2 * 300));
}

/// One of two ranks; the other comes to the collective at another time.
ImportedTrace rank_trace(int arrives, std::string_view collective = "ncclKernel_AllReduce") {
  ImportedTraceMaker maker;
  maker.kernel("compute", 7, 0, 7, 10);
  maker.kernel("compute", 7, arrives - 30, arrives - 23, arrives - 10);
  maker.kernel(collective, 24, arrives - 7, arrives, 200);
  maker.kernel("rest", 24, 190, 201, 210);
  return std::move(maker).done();
}

TEST_CASE("ranks end their collectives together, as long after the last as it took that one") {
  const Replayed run = replayed({rank_trace(60), rank_trace(150)}, ReplayMode::copied_launches);
  const CollectiveSpread spread = collective_spread(run.model, run.trace);
  CHECK(spread.collectives == 1);
  CHECK(spread.replayed == 0us);
  CHECK(spread.end_error_max == 0us);
  CHECK(run.span("ncclKernel_AllReduce").ended == ImportedTraceMaker::at(200));  // 150 + 50
}

TEST_CASE("ranks of different programs are refused, and the message names the collective") {
  CHECK_THROWS_WITH_AS(
      replayed({rank_trace(60), rank_trace(60, "ncclKernel_Broadcast")},
               ReplayMode::copied_launches),
      doctest::Contains("collective 0: found ncclKernel_Broadcast, expected ncclKernel_AllReduce"),
      InputError);
  CHECK_THROWS_WITH_AS(replayed({rank_trace(60), rank_trace(60)}, ReplayMode::calibrated),
                       doctest::Contains("calibrated for 2 ranks"),
                       InputError);
}

TEST_CASE("a trace without device work says so") {
  ImportedTraceMaker maker;
  CHECK_THROWS_WITH_AS(replayed(std::move(maker), ReplayMode::copied_launches),
                       doctest::Contains("no activity of a device"),
                       InputError);
}

TEST_CASE("a word for each mode") {
  for (const auto mode : {ReplayMode::copied_launches,
                          ReplayMode::copied_host_work,
                          ReplayMode::generated_host,
                          ReplayMode::calibrated}) {
    CHECK(enum_from<ReplayMode>(to_string(mode)) == mode);
  }
  CHECK_FALSE(enum_from<ReplayMode>("copied").has_value());
}

}  // namespace
}  // namespace schedlab
