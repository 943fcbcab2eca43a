// SPDX-License-Identifier: Apache-2.0
#include "workloads/traces/kineto.hpp"

#include "sim/base/error.hpp"
#include "sim/base/gzip.hpp"
#include "tests/workloads/traces/kineto_text.hpp"
#include "workloads/traces/decimal_time.hpp"

#include <doctest/doctest.h>

#include <memory>
#include <string>

namespace schedlab {
namespace {

using testing::kineto_text;
using testing::read_text;

constexpr const char* launch_and_kernel = R"json(
  {"ph": "X", "cat": "cuda_runtime", "name": "cudaLaunchKernel", "pid": 10, "tid": 11,
   "ts": 1707417525512110.250, "dur": 36.5, "args": {"External id": 3, "cbid": 211, "correlation": 1482}},
  {"ph": "X", "cat": "kernel", "name": "relu<\"half\">", "pid": 0, "tid": 7,
   "ts": 1707417525512145.125, "dur": 1, "args": {"External id": 3, "queued": 0, "device": 1,
   "context": 1, "stream": 9, "correlation": 1482, "registers per thread": 16, "shared memory": 64,
   "grid": [128, 2, 1], "block": [64, 1, 1], "graph id": 4, "graph node id": 17179869185,
   "priority": -2, "est. achieved occupancy %": NaN}})json";

TEST_CASE("kineto: a launch and its kernel are rows with exact times") {
  const ImportedTrace trace = read_text(kineto_text(launch_and_kernel));
  REQUIRE(trace.calls.size() == 1);
  REQUIRE(trace.device_rows.size() == 1);
  const CallRow& call = trace.calls[0];
  CHECK(trace.texts[call.name] == "cudaLaunchKernel");
  CHECK(call.kind == CallKind::launch_kernel);
  CHECK(call.correlation == 1482);
  CHECK(call.external_id == 3);
  CHECK(trace.threads[call.thread].process == 10);
  CHECK(trace.threads[call.thread].thread == 11);
  CHECK(call.started == Time{});  // the earliest row
  CHECK(call.ended == Time{36'500ns});
  // 512145.125 - 512110.250 = 34.875 us: a double that counts from 1970 has steps of 0.25 us
  const DeviceRow& kernel = trace.device_rows[0];
  CHECK(kernel.started == Time{34'875ns});
  CHECK(kernel.ended == Time{35'875ns});
  CHECK(trace.texts[kernel.name] == "relu<\"half\">");
  CHECK(kernel.device == 1);
  CHECK(kernel.stream == 9);
  CHECK(kernel.grid == std::array<std::uint32_t, 3>{128, 2, 1});
  CHECK(kernel.block == std::array<std::uint32_t, 3>{64, 1, 1});
  CHECK(kernel.registers_per_thread == 16);
  CHECK(kernel.shared_memory == 64_B);
  CHECK(kernel.graph == 4);
  CHECK(kernel.graph_node == 17'179'869'185);
  CHECK(kernel.priority == -2);
  CHECK(trace.origin_us == 1'707'417'525'512'110);
  CHECK(trace.origin_rest == 250ns);
  CHECK(trace.resolution == 1ns);
  CHECK(trace.problems.empty());
}

TEST_CASE("kineto: the schema of 2021 gives the same rows") {
  const ImportedTrace trace = read_text(kineto_text(R"json(
    {"ph": "X", "cat": "Operator", "name": "ProfilerStep#4", "pid": 5, "tid": "6", "ts": 100,
     "dur": 50, "args": {"Device": 5, "External id": 2, "Input Dims": [[8, 3], []]}},
    {"ph": "X", "cat": "Runtime", "name": "cudaMemcpyAsync", "pid": 5, "tid": "6", "ts": 110,
     "dur": 4, "args": {"cbid": 41, "correlation": 31, "external id": 2, "external ts": 100}},
    {"ph": "X", "cat": "Memcpy", "name": "Memcpy HtoD (Pageable -> Device)", "pid": 0,
     "tid": "stream 7", "ts": 120, "dur": 9, "args": {
  "device" : 0, "context" : 1, "correlation" : 31, "external id" : 2, "bytes" : 4096}})json"));
  REQUIRE(trace.operators.size() == 1);
  CHECK(trace.operators[0].kind == OperatorKind::iteration);
  CHECK(trace.texts[trace.operators[0].shapes] == "[[8, 3], []]");
  CHECK(trace.threads[trace.operators[0].thread].thread == 6);
  REQUIRE(trace.device_rows.size() == 1);
  CHECK(trace.device_rows[0].kind == DeviceActivityKind::copy);
  CHECK(trace.device_rows[0].stream == 7);  // out of the track's name
  CHECK(trace.device_rows[0].bytes == 4096_B);
  CHECK(trace.device_rows[0].external_id == 2);
  CHECK(trace.calls[0].kind == CallKind::copy);
  CHECK(trace.resolution == 1us);
  CHECK(trace.problems.empty());
}

TEST_CASE("kineto: HIP writes numbers and handles as texts") {
  const ImportedTrace trace = read_text(kineto_text(R"json(
    {"ph": "X", "cat": "cuda_runtime", "name": "hipMemcpyWithStream", "pid": 1, "tid": 1, "ts": 1.5,
     "dur": 60.204, "args": {"External id": 8, "stream": "0x2a", "cid": 153, "correlation": 117,
     "src": "0x55674ecd4180", "size": "2560", "kind": "1"}},
    {"ph": "X", "cat": "gpu_memcpy", "name": "Memcpy HtoD (Host -> Device)", "pid": 2, "tid": 0,
     "ts": 3.25, "dur": 22.441, "args": {
  "External id" : 8, "device" : 2, "stream" : 0, "correlation" : 117, "kind" : "HtoD"}})json"));
  CHECK(trace.calls[0].kind == CallKind::copy);
  CHECK(trace.calls[0].stream == 42);
  CHECK(trace.device_rows[0].device == 2);
  CHECK(trace.device_rows[0].bytes == Bytes{-1});  // not recorded
  CHECK(trace.problems.empty());
}

TEST_CASE("kineto: synchronisations keep what they wait for, and none stays none") {
  const ImportedTrace trace = read_text(kineto_text(R"json(
    {"ph": "X", "cat": "cuda_sync", "name": "Stream Wait Event", "pid": 0, "tid": 24, "ts": 5,
     "dur": 0, "args": {"cuda_sync_kind": "Stream Wait Event", "wait_on_stream": 7,
     "wait_on_cuda_event_record_corr_id": 77, "wait_on_cuda_event_id": 3, "stream": 24,
     "correlation": 80, "device": 0, "context": 1}},
    {"ph": "X", "cat": "cuda_sync", "name": "Context Sync", "pid": 0, "tid": -1, "ts": 6, "dur": 2,
     "args": {"cuda_sync_kind": "Context Sync", "stream": 4294967295, "correlation": 81,
     "wait_on_cuda_event_record_corr_id": -1, "device": 0, "context": 1}})json"));
  REQUIRE(trace.synchronizations.size() == 2);
  const SyncRow& wait = trace.synchronizations[0];
  CHECK(wait.kind == SyncRowKind::stream_wait_event);
  CHECK(wait.stream == 24);
  CHECK(wait.wait_on_stream == 7);
  CHECK(wait.record_correlation == 77);
  CHECK(wait.event == 3);
  const SyncRow& context = trace.synchronizations[1];
  CHECK(context.kind == SyncRowKind::context);
  CHECK(context.stream == -1);
  CHECK(context.record_correlation == 0);
}

TEST_CASE("kineto: ranks, devices, threads, collectives and arrows between threads") {
  const std::string text =
      R"json({"schemaVersion": 1, "deviceProperties": [{"id": 0, "name": "A100", "numSms": 108,
          "totalGlobalMem": 42297524224, "warpSize": 32, "computeMajor": 8, "computeMinor": 0}],
          "distributedInfo": {"backend": "nccl", "rank": 1, "world_size": 2}, "traceEvents": [
    {"ph": "M", "name": "thread_name", "pid": 1, "tid": 2, "args": {"name": "pt_main"}},
    {"ph": "X", "cat": "cpu_op", "name": "record_param_comms", "pid": 1, "tid": 2, "ts": 0, "dur": 9,
     "args": {"External id": 1, "Sequence number": 5, "Fwd thread id": 0, "Seq": 3,
     "Collective name": "allreduce", "In msg nelems": 100, "Out msg nelems": 100, "Group size": 2,
     "dtype": "Float", "Process Group Name": "0", "Process Group Ranks": [0, 1]}},
    {"ph": "X", "cat": "cpu_op", "name": "mul", "pid": 1, "tid": 3, "ts": 20, "dur": 1, "args": {}},
    {"ph": "f", "id": 4, "pid": 1, "tid": 3, "ts": 20, "cat": "fwdbwd", "name": "fwdbwd", "bp": "e"},
    {"ph": "s", "id": 4, "pid": 1, "tid": 2, "ts": 1, "cat": "fwdbwd", "name": "fwdbwd"},
    {"ph": "s", "id": 5, "pid": 1, "tid": 2, "ts": 1, "cat": "fwdbwd", "name": "fwdbwd"},
    {"ph": "s", "id": 6, "pid": 1, "tid": 2, "ts": 1, "cat": "ac2g", "name": "ac2g"}],
    "traceName": "/tmp/x.json"})json";
  const ImportedTrace trace = read_text(text);
  CHECK(trace.rank == 1);
  CHECK(trace.world_size == 2);
  REQUIRE(trace.devices.size() == 1);
  CHECK(trace.devices[0].multiprocessors == 108);
  CHECK(trace.devices[0].memory == Bytes{42'297'524'224});
  CHECK(trace.metadata.at("traceName") == "\"/tmp/x.json\"");
  CHECK(trace.threads[trace.operators[0].thread].name == "pt_main");
  REQUIRE(trace.operators[0].collective.valid());
  const CollectiveInfo& info = trace.collectives[trace.operators[0].collective];
  CHECK(info.name == "allreduce");
  CHECK(info.group == "0");
  CHECK(info.ranks == "[0, 1]");
  CHECK(info.elements_in == 100);
  CHECK(info.sequence == 3);
  REQUIRE(trace.flows.size() == 1);  // 5 has no end, and what a call launches is no arrow here
  CHECK(trace.flows[0].id == 4);
  CHECK(trace.flows[0].from == Time{1us});
  CHECK(trace.flows[0].to == Time{20us});
}

TEST_CASE("kineto: a list alone is a trace, also without its closing bracket") {
  const std::string events = std::string{launch_and_kernel};
  for (const std::string& text : {"[" + events + "]", "[" + events, "[" + events + ",\n"}) {
    CHECK(read_text(text).device_rows.size() == 1);
  }
}

TEST_CASE("kineto: compressed, in tiny batches, the rows are the same") {
  const std::string text = kineto_text(launch_and_kernel);
  const ImportedTrace whole = read_text(text);
  for (const std::size_t batch : {1U, 7U, 64U, 300U}) {
    CAPTURE(batch);
    const std::string compressed = gzip(text);
    const auto source = decompressed(std::make_unique<TextSource>(compressed), "x.gz");
    const ImportedTrace cut = read_kineto(*source, "x.gz", {.batch_bytes = batch});
    CHECK(cut.device_rows == whole.device_rows);
    CHECK(cut.calls == whole.calls);
    CHECK(cut.problems.empty());
  }
}

TEST_CASE("kineto: microseconds are read exactly") {
  const auto ps = [](std::string_view text) {
    const auto time = detail::parse_microseconds(text);
    REQUIRE(time.has_value());
    return time->us * 1'000'000 + time->ps;
  };
  CHECK(ps("12") == 12'000'000);
  CHECK(ps("4458676.655") == 4'458'676'655'000);
  CHECK(ps("0.0000019") == 1);  // below a picosecond it is cut off
  CHECK(ps("-0.25") == -250'000);
  CHECK(ps("1e3") == 1'000'000'000);
  CHECK_FALSE(detail::parse_microseconds("NaN").has_value());
  CHECK_FALSE(detail::parse_microseconds("1e300").has_value());
  CHECK_FALSE(detail::parse_microseconds("12us").has_value());
  CHECK_FALSE(detail::parse_microseconds("").has_value());
}

}  // namespace
}  // namespace schedlab
