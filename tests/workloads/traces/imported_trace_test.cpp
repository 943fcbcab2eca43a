// SPDX-License-Identifier: Apache-2.0
#include "workloads/traces/imported_trace.hpp"

#include "workloads/traces/launch_index.hpp"

#include <doctest/doctest.h>

#include <string>

namespace schedlab {
namespace {

Time at(Duration since_start) {
  return Time{since_start};
}

CallRow launch(std::uint64_t correlation, Duration start, Duration end) {
  CallRow row;
  row.kind = CallKind::launch_kernel;
  row.thread = HostThreadId{0};
  row.correlation = correlation;
  row.started = at(start);
  row.ended = at(end);
  return row;
}

DeviceRow kernel(std::uint64_t correlation, std::int64_t stream, Duration start, Duration end) {
  DeviceRow row;
  row.correlation = correlation;
  row.stream = stream;
  row.started = at(start);
  row.ended = at(end);
  return row;
}

std::uint64_t problem(const ImportedTrace& trace, const std::string& name) {
  const auto found = trace.problems.entries().find(name);
  return found == trace.problems.entries().end() ? 0 : found->second.count;
}

TEST_CASE("a call is known by its name, whoever's runtime it is and whatever is appended") {
  CHECK(call_kind("cudaLaunchKernel") == CallKind::launch_kernel);
  CHECK(call_kind("cudaLaunchKernel_ptsz_v7000") == CallKind::launch_kernel);
  CHECK(call_kind("cuLaunchKernelEx") == CallKind::launch_kernel);
  CHECK(call_kind("hipExtModuleLaunchKernel") == CallKind::launch_kernel);
  CHECK(call_kind("hipGraphLaunch") == CallKind::launch_graph);
  CHECK(call_kind("cudaMemcpyAsync") == CallKind::copy);
  CHECK(call_kind("cuMemcpyHtoDAsync_v2") == CallKind::copy);
  CHECK(call_kind("cudaMemsetAsync") == CallKind::memset);
  CHECK(call_kind("cudaStreamWaitEvent") == CallKind::wait_event);
  CHECK(call_kind("cudaEventQuery") == CallKind::query);
  CHECK(call_kind("hipDeviceSynchronize") == CallKind::synchronize_device);
  CHECK(call_kind("cudaFree") == CallKind::free);
  CHECK(call_kind("cudaFreeHost") == CallKind::other);
  CHECK(call_kind("LaunchKernel") == CallKind::other);  // of no runtime that we know
  CHECK(call_kind("cudaLaunchHostFunc") == CallKind::other);
  CHECK(call_kind("INVALID") == CallKind::other);
}

TEST_CASE("a copied table of texts does not need the one it was copied from") {
  TextTable copy;
  {
    TextTable table;
    CHECK(table.add("gemm") == table.add("gemm"));
    CHECK(table.add("relu") != table.add("gemm"));
    copy = table;
  }
  CHECK(copy.size() == 2);
  CHECK(copy[copy.find("relu")] == "relu");
  CHECK_FALSE(copy.find("tanh").valid());
  CHECK(copy[TextId::none()].empty());
}

TEST_CASE("the earliest row is time zero, and the origin remembers when that was") {
  ImportedTrace trace;
  trace.origin_us = 1000;
  trace.calls = {launch(1, 7ns, 9ns)};
  trace.device_rows = {kernel(1, 7, -1500ns, 20ns)};  // 1.5 us before the provisional origin
  put_in_order(trace);
  // 1000 us - 1.5 us = 998.5 us = 998 us + 500 ns
  CHECK(trace.origin_us == 998);
  CHECK(trace.origin_rest == 500ns);
  CHECK(trace.resolution == 1ns);
  CHECK(trace.device_rows[0].started == Time{});
  CHECK(trace.calls[0].started == at(1507ns));
  CHECK(count(trace).span == 1520ns);  // from -1500 to 20
}

TEST_CASE("rows that start together are in the order of their ends, then of their launches") {
  ImportedTrace trace;
  trace.device_rows = {kernel(9, 7, 1us, 2us), kernel(4, 7, 1us, 1us), kernel(3, 7, 1us, 1us)};
  put_in_order(trace);
  CHECK(trace.device_rows[0].correlation == 3);
  CHECK(trace.device_rows[1].correlation == 4);
  CHECK(trace.device_rows[2].correlation == 9);
  CHECK(trace.resolution == 1us);
}

TEST_CASE("of two calls with one correlation the one that launches is found") {
  CallRow other = launch(5, 0us, 1us);
  other.kind = CallKind::other;
  const LaunchIndex index{{other, launch(5, 1us, 2us), launch(0, 2us, 3us)}};
  CHECK(index.find(5) == 1);
  CHECK(index.duplicates() == 1);
  CHECK_FALSE(index.find(0).has_value());
  CHECK_FALSE(index.find(6).has_value());
}

TEST_CASE("what is odd in a trace is counted by its kind") {
  ImportedTrace trace;
  trace.threads.push_back({});
  trace.calls = {launch(1, 0us, 1us), launch(2, 10us, 11us), launch(3, 20us, 21us)};
  trace.device_rows = {
      kernel(1, 7, 5us, 30us),
      kernel(2, 7, 6us, 8us),    // within the one before, and 4 us before its launch
      kernel(8, 9, 40us, 50us),  // no call 8
      kernel(8, 9, 45us, 47us),  // the same launch: the nodes of a graph may overlap
  };
  put_in_order(trace);
  find_problems(trace);
  CHECK(problem(trace, "overlap_on_stream") == 1);
  CHECK(problem(trace, "overlap_in_graph_launch") == 1);
  CHECK(problem(trace, "start_before_launch") == 1);
  CHECK(problem(trace, "activity_without_launch") == 2);
  CHECK(problem(trace, "launch_without_activity") == 1);  // correlation 3
  CHECK(problem(trace, "operators_cross") == 0);
}

TEST_CASE("what is launched while a graph is captured is not missed on the device") {
  ImportedTrace trace;
  trace.threads.push_back({});
  CallRow begin = launch(1, 0us, 1us);
  begin.kind = CallKind::capture;
  begin.name = trace.texts.add("hipStreamBeginCapture");
  CallRow end = launch(3, 4us, 5us);
  end.kind = CallKind::capture;
  end.name = trace.texts.add("hipStreamEndCapture");
  trace.calls = {begin, launch(2, 2us, 3us), end, launch(4, 6us, 7us)};
  put_in_order(trace);
  find_problems(trace);
  CHECK(problem(trace, "captured_launch") == 1);
  CHECK(problem(trace, "launch_without_activity") == 1);
}

}  // namespace
}  // namespace schedlab
