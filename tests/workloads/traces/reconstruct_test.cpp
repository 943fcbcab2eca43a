// SPDX-License-Identifier: Apache-2.0
#include "workloads/traces/reconstruct.hpp"

#include "sim/base/error.hpp"
#include "tests/workloads/traces/imported_trace_maker.hpp"
#include "workloads/traces/imported_graphs.hpp"
#include "workloads/traces/replay.hpp"

#include <doctest/doctest.h>

#include <string>

namespace schedlab {
namespace {

using testing::ImportedTraceMaker;

std::string name_of(const ImportedTrace& trace,
                    const ReconstructedTrace& order,
                    StreamItemId item) {
  return std::string{trace.texts[trace.device_rows[order.rows_of(item).front()].name]};
}

TEST_CASE("items of one stream stand in its queue by their start, and know their calls") {
  ImportedTraceMaker maker;
  maker.kernel("b", 7, 10, 30, 40);
  maker.kernel("c", 20, 20, 32, 50);
  maker.activity("a", 7, 5, 9);  // launched before the recording began
  const ImportedTrace trace = std::move(maker).done();
  const ReconstructedTrace order = reconstruct(trace);
  REQUIRE(order.streams.size() == 2);
  CHECK(order.streams[StreamId{0}].stream == 7);
  REQUIRE(order.queues[StreamId{0}].size() == 2);
  CHECK(name_of(trace, order, order.queues[StreamId{0}][0]) == "a");
  CHECK(name_of(trace, order, order.queues[StreamId{0}][1]) == "b");
  CHECK_FALSE(order.items[order.queues[StreamId{0}][0]].launched());
  CHECK(trace.calls[order.items[order.queues[StreamId{0}][1]].call].started ==
        ImportedTraceMaker::at(10));
  CHECK(order.dependencies.empty());
  CHECK(order.overlaps == 0);
}

TEST_CASE(
    "a recorded wait dependencies the next item of its stream to what was before the recording") {
  ImportedTraceMaker maker;
  maker.kernel("producer", 7, 10, 20, 100);
  const auto recording = maker.call(CallKind::record_event, "cudaEventRecord", 16, 17);
  maker.kernel("later", 7, 20, 101, 150);
  maker.recorded_wait(30, 20, 7, recording);
  maker.kernel("consumer", 20, 40, 103, 120);
  const ImportedTrace trace = std::move(maker).done();
  const ReconstructedTrace order = reconstruct(trace);
  REQUIRE(order.dependencies.size() == 1);
  CHECK(name_of(trace, order, order.dependencies[0].from) == "producer");
  CHECK(name_of(trace, order, order.dependencies[0].to) == "consumer");
  CHECK(order.dependencies[0].evidence == DependencyEvidence::recorded);
  CHECK(order.waits.recorded == 1);
}

TEST_CASE("a recorded wait without its recording goes back to what can have been recorded") {
  ImportedTraceMaker maker;
  maker.kernel("producer", 7, 10, 20, 100);
  maker.kernel("later", 7, 20, 101, 150);  // ends after the consumer starts: not what it waits for
  maker.recorded_wait(30, 20, 7);
  maker.kernel("consumer", 20, 40, 103, 120);
  const ImportedTrace trace = std::move(maker).done();
  const ReconstructedTrace order = reconstruct(trace);
  REQUIRE(order.dependencies.size() == 1);
  CHECK(name_of(trace, order, order.dependencies[0].from) == "producer");
}

TEST_CASE("an unexplained wait dependencies the next launch to the stream that got work since") {
  ImportedTraceMaker maker;
  maker.kernel("old", 20, 5, 10, 15);
  maker.kernel("first", 7, 20, 30, 40);
  maker.kernel("producer", 24, 30, 40, 200);
  maker.wait(40);
  maker.kernel("consumer", 7, 50, 203, 210);
  const ImportedTrace trace = std::move(maker).done();
  const ReconstructedTrace order = reconstruct(trace);
  REQUIRE(order.dependencies.size() == 1);
  CHECK(name_of(trace, order, order.dependencies[0].from) == "producer");
  CHECK(name_of(trace, order, order.dependencies[0].to) == "consumer");
  CHECK(order.dependencies[0].evidence == DependencyEvidence::launch_order);
}

TEST_CASE("an item that ended after the waiting one started was not waited for") {
  ImportedTraceMaker maker;
  maker.kernel("collective", 24, 10, 20, 500);
  maker.wait(20);  // of the library's own, for its own stream
  maker.kernel("free", 7, 30, 40, 50);
  maker.wait(60);
  maker.kernel("held", 7, 70, 502, 510);
  const ImportedTrace trace = std::move(maker).done();
  const ReconstructedTrace order = reconstruct(trace);
  // "free" starts at 40 while the collective runs. At 60 no stream got work since stream 7 did, but
  // stream 24 still works, and "held" starts after it.
  REQUIRE(order.dependencies.size() == 1);
  CHECK(name_of(trace, order, order.dependencies[0].to) == "held");
  CHECK(order.dependencies[0].evidence == DependencyEvidence::running_work);
  CHECK(order.waits.unresolved == 1);
}

TEST_CASE(
    "an event recorded before the last launch of its stream dependencies what started long after") {
  ImportedTraceMaker maker;
  maker.kernel("own", 7, 0, 7, 10);
  maker.kernel("recorded", 20, 20, 27, 2000);
  maker.kernel("behind", 20, 40, 2000, 9000);  // ends too late to be what the kernel waits for
  maker.wait(60);
  maker.kernel("waiting", 7, 80, 2004, 2010);
  const ImportedTrace trace = std::move(maker).done();
  const ReconstructedTrace order = reconstruct(trace);
  REQUIRE(order.dependencies.size() == 1);
  CHECK(order.items[order.dependencies[0].from].ended == ImportedTraceMaker::at(2000));
  CHECK(order.waits.by_running_work == 1);
  CHECK(order.waits.unresolved == 0);
}

TEST_CASE("all nodes of one graph launch are one item, and what always came first is needed") {
  ImportedTraceMaker maker;
  for (const int start : {0, 1000}) {
    const auto launch = maker.call(CallKind::launch_graph, "cudaGraphLaunch", start, start + 10);
    maker.activity("root", 7, start + 20, start + 30, launch);
    maker.activity("left", 7, start + 32, start + 60, launch);
    // In the second launch "right" runs beside "left", so it needs "root" only.
    const int right = start == 0 ? 62 : 34;
    maker.activity("right", 7, start + right, start + right + 10, launch);
    maker.activity("join", 7, start + 80, start + 90, launch);
  }
  const ImportedTrace trace = std::move(maker).done();
  const ReconstructedTrace order = reconstruct(trace);
  REQUIRE(order.items.size() == 2);
  CHECK(order.items[StreamItemId{0}].graph);
  CHECK(order.items[StreamItemId{0}].row_count == 4);
  CHECK(order.overlaps == 0);
  const auto graphs = imported_graphs(trace, order);
  REQUIRE(graphs.size() == 1);
  CHECK(graphs[0].launches.size() == 2);
  CHECK(graphs[0].needs[0].empty());
  CHECK(graphs[0].needs[1] == std::vector<std::uint32_t>{0});
  CHECK(graphs[0].needs[2] == std::vector<std::uint32_t>{0});
  CHECK(graphs[0].needs[3] == std::vector<std::uint32_t>{2, 1});
}

TEST_CASE("the host waits for its thread's last launch, or for what the profiler recorded") {
  ImportedTraceMaker maker;
  maker.kernel("copy", 7, 10, 20, 100);
  maker.call(CallKind::synchronize_stream, "cudaStreamSynchronize", 16, 104);
  maker.call(CallKind::synchronize_device, "cudaDeviceSynchronize", 200, 201);
  const ImportedTrace trace = std::move(maker).done();
  const ReconstructedTrace order = reconstruct(trace);
  REQUIRE(order.host.size() == 3);
  CHECK(order.host[0].kind == HostStepKind::launch);
  CHECK(order.host[1].kind == HostStepKind::synchronize_item);
  CHECK(order.host[1].item == StreamItemId{0});
  CHECK(order.host[2].kind == HostStepKind::synchronize_device);
  CHECK(order.host_waits.by_launch_order == 1);
}

TEST_CASE("streams that wait for each other are refused, and the message names the cycle") {
  ImportedTraceMaker maker;
  maker.kernel("alpha", 7, 10, 100, 110);
  const auto first = maker.call(CallKind::record_event, "cudaEventRecord", 16, 17);
  maker.kernel("beta", 20, 20, 100, 110);
  const auto second = maker.call(CallKind::record_event, "cudaEventRecord", 26, 27);
  // The profiler says that each waits for the recording behind the other: no run can do that.
  maker.recorded_wait(5, 7, 20, second);
  maker.recorded_wait(18, 20, 7, first);
  const ImportedTrace trace = std::move(maker).done();
  const ReconstructedTrace order = reconstruct(trace);
  REQUIRE(order.dependencies.size() == 2);
  const ReplayRank rank{trace, order};
  std::string message;
  try {
    (void)make_replay({&rank, 1}, ReplayMode::copied_launches);
  } catch (const InputError& error) {
    message = error.what();
  }
  CHECK(message.find("alpha") != std::string::npos);
  CHECK(message.find("beta") != std::string::npos);
}

}  // namespace
}  // namespace schedlab
