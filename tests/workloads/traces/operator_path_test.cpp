// SPDX-License-Identifier: Apache-2.0
#include "workloads/traces/operator_path.hpp"

#include "tests/workloads/traces/imported_trace_maker.hpp"

#include <doctest/doctest.h>

namespace schedlab {
namespace {

using testing::ImportedTraceMaker;

std::uint32_t edges(const OperatorPath& path, OperatorEdgeKind kind) {
  return path.edges[static_cast<std::size_t>(kind)];
}
Duration weight(const OperatorPath& path, OperatorEdgeKind kind) {
  return path.weights[static_cast<std::size_t>(kind)];
}

TEST_CASE("the path goes from the host to the device where that is the longer way") {
  ImportedTraceMaker maker;
  maker.host_operator("first", 0, 30);
  maker.host_operator("second", 100, 130);
  maker.kernel("long", 7, 110, 120, 400);
  maker.call(CallKind::synchronize_device, "cudaDeviceSynchronize", 140, 405);
  const ImportedTrace trace = std::move(maker).done();
  const OperatorPath path = operator_path(trace, reconstruct(trace));
  // 30 of the first operator, nothing for the 70 between, 10 of the second up to its launch, 10 of
  // launch delay, 280 of the kernel; the synchronisation adds nothing, so the path ends before it.
  CHECK(path.length == 330us);
  CHECK(path.edge_count() == 5);
  CHECK(path.steps.size() == 6);
  CHECK(path.events == 4);  // two operators, a call of which only the begin counts, a kernel
  CHECK(weight(path, OperatorEdgeKind::host) == 40us);
  CHECK(weight(path, OperatorEdgeKind::next_operator) == 0us);
  CHECK(weight(path, OperatorEdgeKind::launch) == 10us);
  CHECK(weight(path, OperatorEdgeKind::kernel) == 280us);
  CHECK(edges(path, OperatorEdgeKind::synchronization) == 0);
}

TEST_CASE("the time that a call waits is that of what it waits for") {
  ImportedTraceMaker maker;
  maker.kernel("long", 7, 10, 20, 400);
  maker.call(CallKind::synchronize_stream, "cudaStreamSynchronize", 16, 405);
  maker.host_operator("after", 410, 500);
  const ImportedTrace trace = std::move(maker).done();
  const OperatorPath path = operator_path(trace, reconstruct(trace));
  CHECK(edges(path, OperatorEdgeKind::synchronization) == 1);
  CHECK(path.length == 10us + 380us + 90us);  // launch, kernel, operator
}

TEST_CASE("a kernel that waits for another stream's event is reached through it") {
  ImportedTraceMaker maker;
  maker.kernel("before", 7, 0, 7, 8);
  maker.kernel("ncclKernel_AllReduce", 24, 20, 27, 300);
  maker.wait(30);
  maker.kernel("after", 7, 40, 302, 310);
  const ImportedTrace trace = std::move(maker).done();
  const OperatorPath path = operator_path(trace, reconstruct(trace));
  CHECK(edges(path, OperatorEdgeKind::event) == 1);
  CHECK(edges(path, OperatorEdgeKind::collective) == 1);
  // Calls of 5, 5 and 7 us of launch delay, 273 of the collective, 8 of the kernel behind it.
  CHECK(path.length == 5us + 7us + 273us + 8us);
}

TEST_CASE("a window leaves out what the host began before it") {
  ImportedTraceMaker maker;
  maker.host_operator("first", 0, 30);
  maker.host_operator("second", 100, 130);
  const ImportedTrace trace = std::move(maker).done();
  const OperatorPath path = operator_path(
      trace, reconstruct(trace), ImportedTraceMaker::at(50), ImportedTraceMaker::at(200));
  CHECK(path.length == 30us);
  CHECK(path.steps.size() == 2);
}

}  // namespace
}  // namespace schedlab
