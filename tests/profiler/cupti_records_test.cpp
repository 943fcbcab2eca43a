// SPDX-License-Identifier: Apache-2.0
#include "profiler/cupti_records.hpp"

#include "sim/base/error.hpp"
#include "tests/support/skip.hpp"

#include <doctest/doctest.h>

#include <array>
#include <cstdlib>
#include <cstring>
#include <memory>
#include <span>

using namespace schedlab;
using namespace std::chrono_literals;

namespace {

ActivityTime at(std::int64_t nanoseconds) {
  return ActivityTime{std::chrono::nanoseconds{nanoseconds}};
}

/// A buffer as CUPTI fills it: records one after the other, aligned to 8 bytes.
class HandMade {
 public:
  template <class Record>
  HandMade& add(const Record& record) {
    std::memcpy(bytes().data() + used_, &record, sizeof(Record));
    used_ += sizeof(Record);
    return *this;
  }
  [[nodiscard]] std::span<std::uint8_t> bytes() {
    return {reinterpret_cast<std::uint8_t*>(words_.data()), words_.size() * sizeof(words_[0])};
  }
  [[nodiscard]] std::span<std::uint8_t> filled() { return bytes().first(used_); }
  [[nodiscard]] std::size_t used() const { return used_; }

 private:
  std::array<std::uint64_t, 1024> words_{};
  std::size_t used_ = 0;
};

/// nullptr, and the test counted as skipped, where CUPTI cannot be loaded.
std::unique_ptr<CuptiLibrary> cupti_or_skip() {
  try {
    return std::make_unique<CuptiLibrary>();
  } catch (const DeviceError& error) {
    schedlab::testing::skip(error.what());
    return nullptr;
  }
}

ActivityLog parse(const CuptiLibrary& cupti, HandMade& buffer) {
  ActivityLog log;
  parse_activity_buffer(cupti, buffer.filled(), log);
  return log;
}

CUpti_ActivityKernel10 kernel_record(std::uint32_t correlation,
                                     std::uint64_t from,
                                     std::uint64_t to) {
  CUpti_ActivityKernel10 record{};
  record.kind = CUPTI_ACTIVITY_KIND_CONCURRENT_KERNEL;
  record.start = from;
  record.end = to;
  record.correlationId = correlation;
  record.name = "spin";
  return record;
}

}  // namespace

TEST_CASE("a kernel record keeps times, place, shape, graph node and channel") {
  const auto cupti = cupti_or_skip();
  if (!cupti) return;
  CUpti_ActivityKernel10 record =
      kernel_record(7, 1'700'000'000'000'000'100, 1'700'000'000'000'000'350);
  record.deviceId = 1;
  record.contextId = 2;
  record.streamId = 13;
  record.queued = 0;  // CUPTI_TIMESTAMP_UNKNOWN
  record.submitted = 1'700'000'000'000'000'050;
  record.gridX = 4;
  record.gridY = 3;
  record.gridZ = 2;
  record.blockX = 128;
  record.blockY = 2;
  record.blockZ = 1;
  record.registersPerThread = 40;
  record.staticSharedMemory = 256;
  record.dynamicSharedMemory = 4096;
  record.graphId = 5;
  record.graphNodeId = (std::uint64_t{5} << 32U) | 9U;
  record.channelID = 11;
  HandMade buffer;
  const ActivityLog log = parse(*cupti, buffer.add(record));

  REQUIRE(log.kernels.size() == 1);
  CHECK(log.kernels[0] ==
        KernelActivity{.name = "spin",
                       .started = at(1'700'000'000'000'000'100),
                       .ended = at(1'700'000'000'000'000'350),
                       .queued = std::nullopt,
                       .submitted = at(1'700'000'000'000'000'050),
                       .place = {.device = 1, .context = 2, .stream = 13},
                       .correlation = 7,
                       .node = {.graph = 5, .node = (std::uint64_t{5} << 32U) | 9U},
                       .grid = {4, 3, 2},
                       .block = {128, 2, 1},
                       .registers_per_thread = 40,
                       .static_shared_memory = Bytes{256},
                       .dynamic_shared_memory = Bytes{4096},
                       .channel = 11});
  CHECK(log.problems.empty());
}

TEST_CASE("copies, copies between devices and memsets keep bytes, direction and memory") {
  const auto cupti = cupti_or_skip();
  if (!cupti) return;
  CUpti_ActivityMemcpy6 copy{};
  copy.kind = CUPTI_ACTIVITY_KIND_MEMCPY;
  copy.copyKind = CUPTI_ACTIVITY_MEMCPY_KIND_HTOD;
  copy.srcKind = CUPTI_ACTIVITY_MEMORY_KIND_PINNED;
  copy.dstKind = CUPTI_ACTIVITY_MEMORY_KIND_DEVICE;
  copy.flags = CUPTI_ACTIVITY_FLAG_MEMCPY_ASYNC;
  copy.bytes = std::uint64_t{5} << 30U;
  copy.start = 10;
  copy.end = 20;
  copy.streamId = 3;
  copy.correlationId = 8;
  CUpti_ActivityMemcpyPtoP4 peer{};
  peer.kind = CUPTI_ACTIVITY_KIND_MEMCPY2;
  peer.copyKind = CUPTI_ACTIVITY_MEMCPY_KIND_PTOP;
  peer.bytes = 64;
  peer.start = 30;
  peer.end = 31;
  CUpti_ActivityMemset4 set{};
  set.kind = CUPTI_ACTIVITY_KIND_MEMSET;
  set.memoryKind = CUPTI_ACTIVITY_MEMORY_KIND_MANAGED;
  set.bytes = 512;
  set.start = 40;
  set.end = 44;
  set.channelID = 2;
  HandMade buffer;
  const ActivityLog log = parse(*cupti, buffer.add(copy).add(peer).add(set));

  REQUIRE(log.copies.size() == 2);
  CHECK(log.copies[0].direction == CopyDirection::host_to_device);
  CHECK(log.copies[0].from == MemoryPlace::pinned);
  CHECK(log.copies[0].to == MemoryPlace::device);
  CHECK(log.copies[0].asynchronous);
  CHECK(log.copies[0].bytes == Bytes{std::int64_t{5} << 30U});
  CHECK(log.copies[0].place.stream == 3);
  CHECK(log.copies[1].direction == CopyDirection::peer_to_peer);
  CHECK_FALSE(log.copies[1].asynchronous);
  REQUIRE(log.memsets.size() == 1);
  CHECK(log.memsets[0].memory == MemoryPlace::managed);
  CHECK(log.memsets[0].bytes == Bytes{512});
  CHECK(log.memsets[0].channel == 2);
}

TEST_CASE("calls carry the function's name without version and stream flavour") {
  const auto cupti = cupti_or_skip();
  if (!cupti) return;
  CUpti_ActivityAPI launch{};
  launch.kind = CUPTI_ACTIVITY_KIND_RUNTIME;
  launch.cbid = CUPTI_RUNTIME_TRACE_CBID_cudaLaunchKernel_ptsz_v7000;
  launch.start = 5;
  launch.end = 9;
  launch.processId = 100;
  launch.threadId = 200;
  launch.correlationId = 3;
  launch.returnValue = 1;
  CUpti_ActivityAPI driver{};
  driver.kind = CUPTI_ACTIVITY_KIND_DRIVER;
  driver.cbid = CUPTI_DRIVER_TRACE_CBID_cuLaunchKernelEx;
  HandMade buffer;
  const ActivityLog log = parse(*cupti, buffer.add(launch).add(driver));

  REQUIRE(log.calls.size() == 2);
  CHECK(log.calls[0] ==
        ApiActivity{.layer = ApiLayer::runtime,
                    .name = "cudaLaunchKernel",
                    .callback = CUPTI_RUNTIME_TRACE_CBID_cudaLaunchKernel_ptsz_v7000,
                    .started = at(5),
                    .ended = at(9),
                    .process = 100,
                    .thread = 200,
                    .correlation = 3,
                    .return_value = 1});
  CHECK(log.calls[1].layer == ApiLayer::driver);
  CHECK(log.calls[1].name == "cuLaunchKernelEx");
}

TEST_CASE("a wait can be joined with the record it waits for") {
  const auto cupti = cupti_or_skip();
  if (!cupti) return;
  CUpti_ActivityCudaEvent2 recorded{};
  recorded.kind = CUPTI_ACTIVITY_KIND_CUDA_EVENT;
  recorded.streamId = 13;
  recorded.eventId = 4;
  recorded.cudaEventSyncId = 77;
  recorded.deviceTimestamp = 900;
  CUpti_ActivitySynchronization2 waited{};
  waited.kind = CUPTI_ACTIVITY_KIND_SYNCHRONIZATION;
  waited.type = CUPTI_ACTIVITY_SYNCHRONIZATION_TYPE_STREAM_WAIT_EVENT;
  waited.streamId = 14;
  waited.cudaEventId = 4;
  waited.cudaEventSyncId = 77;
  CUpti_ActivitySynchronization2 whole = waited;
  whole.type = CUPTI_ACTIVITY_SYNCHRONIZATION_TYPE_CONTEXT_SYNCHRONIZE;
  whole.streamId = CUPTI_SYNCHRONIZATION_INVALID_VALUE;
  whole.cudaEventId = CUPTI_SYNCHRONIZATION_INVALID_VALUE;
  HandMade buffer;
  const ActivityLog log = parse(*cupti, buffer.add(recorded).add(waited).add(whole));

  REQUIRE(log.events.size() == 1);
  REQUIRE(log.synchronizations.size() == 2);
  CHECK(log.events[0].sync == log.synchronizations[0].event_sync);
  CHECK(log.events[0].completed == at(900));
  CHECK(log.synchronizations[0].kind == SyncKind::stream_wait_event);
  CHECK(log.synchronizations[0].stream == 14U);
  CHECK(log.synchronizations[1].kind == SyncKind::context);
  CHECK_FALSE(log.synchronizations[1].stream.has_value());
  CHECK_FALSE(log.synchronizations[1].event.has_value());
}

TEST_CASE("graph launches, overheads, streams and devices are kept") {
  const auto cupti = cupti_or_skip();
  if (!cupti) return;
  CUpti_ActivityGraphTrace2 graph{};
  graph.kind = CUPTI_ACTIVITY_KIND_GRAPH_TRACE;
  graph.graphId = 6;
  graph.start = 50;
  graph.end = 90;
  graph.correlationId = 12;
  CUpti_ActivityOverhead3 full{};
  full.kind = CUPTI_ACTIVITY_KIND_OVERHEAD;
  full.overheadKind = CUPTI_ACTIVITY_OVERHEAD_COMMAND_BUFFER_FULL;
  full.start = 1;
  full.end = 2;
  // The reader frees this, as CUPTI asks for.
  auto* const data = static_cast<CUpti_ActivityOverheadCommandBufferFullData*>(
      std::malloc(sizeof(CUpti_ActivityOverheadCommandBufferFullData)));
  REQUIRE(data != nullptr);
  *data = {.commandBufferLength = 0, .channelID = 21, .channelType = CUPTI_CHANNEL_TYPE_COMPUTE};
  full.overheadData = data;
  CUpti_ActivityStream stream{};
  stream.kind = CUPTI_ACTIVITY_KIND_STREAM;
  stream.streamId = 15;
  stream.flag = CUPTI_ACTIVITY_STREAM_CREATE_FLAG_NON_BLOCKING;
  CUpti_ActivityDevice5 device{};
  device.kind = CUPTI_ACTIVITY_KIND_DEVICE;
  device.name = "A device";
  device.numMultiprocessors = 132;
  device.computeCapabilityMajor = 9;
  device.globalMemoryBandwidth = 4'800'000'000;  // kB/s
  device.numMemcpyEngines = 3;
  HandMade buffer;
  const ActivityLog log = parse(*cupti, buffer.add(graph).add(full).add(stream).add(device));

  REQUIRE(log.graph_launches.size() == 1);
  CHECK(log.graph_launches[0].graph == 6);
  CHECK(log.graph_launches[0].ended == at(90));
  REQUIRE(log.overheads.size() == 1);
  CHECK(log.overheads[0].kind == OverheadKind::command_buffer_full);
  CHECK(log.overheads[0].channel == 21U);
  REQUIRE(log.streams.size() == 1);
  CHECK(log.streams[0].non_blocking);
  REQUIRE(log.devices.size() == 1);
  CHECK(log.devices[0].name == "A device");
  CHECK(log.devices[0].multiprocessors == 132);
  CHECK(log.devices[0].memory_bandwidth.count() == 4.8e12);  // 4 800 000 000 kB/s
}

TEST_CASE("only our own external correlations are kept") {
  const auto cupti = cupti_or_skip();
  if (!cupti) return;
  CUpti_ActivityExternalCorrelation ours{};
  ours.kind = CUPTI_ACTIVITY_KIND_EXTERNAL_CORRELATION;
  ours.externalKind = CUPTI_EXTERNAL_CORRELATION_KIND_CUSTOM0;
  ours.externalId = WorkId::task(TaskId{42}).bits();
  ours.correlationId = 3;
  CUpti_ActivityExternalCorrelation others = ours;
  others.externalKind = CUPTI_EXTERNAL_CORRELATION_KIND_CUSTOM1;
  HandMade buffer;
  const ActivityLog log = parse(*cupti, buffer.add(ours).add(others));

  REQUIRE(log.correlations.size() == 1);
  CHECK(log.correlations[0].correlation == 3);
  CHECK(log.correlations[0].work.task() == TaskId{42});
  CHECK(log.problems.entries().at("external_correlation_of_others").count == 1);
}

TEST_CASE("kernels without times are counted and not kept") {
  const auto cupti = cupti_or_skip();
  if (!cupti) return;
  HandMade buffer;
  const ActivityLog log = parse(*cupti,
                                buffer.add(kernel_record(1, 0, 0))
                                    .add(kernel_record(2, 100, 90))
                                    .add(kernel_record(3, 100, 110)));
  REQUIRE(log.kernels.size() == 1);
  CHECK(log.kernels[0].correlation == 3);
  CHECK(log.problems.entries().at("kernel_without_times").count == 1);
  CHECK(log.problems.entries().at("kernel_ends_before_it_starts").count == 1);
}

TEST_CASE("what follows a record of an unknown kind is lost, and counted") {
  const auto cupti = cupti_or_skip();
  if (!cupti) return;
  CUpti_ActivityStream odd{};
  odd.kind = static_cast<CUpti_ActivityKind>(4711);
  HandMade buffer;
  const ActivityLog log =
      parse(*cupti, buffer.add(kernel_record(1, 1, 2)).add(odd).add(kernel_record(2, 3, 4)));
  CHECK(log.kernels.size() == 1);
  CHECK(log.problems.entries().at("record_of_unknown_kind").severity == Severity::data_loss);
}

TEST_CASE("records of kinds not asked for are passed over") {
  const auto cupti = cupti_or_skip();
  if (!cupti) return;
  CUpti_ActivityMarker2 marker{};
  marker.kind = CUPTI_ACTIVITY_KIND_MARKER;
  HandMade buffer;
  const ActivityLog log = parse(*cupti, buffer.add(marker).add(kernel_record(2, 3, 4)));
  CHECK(log.kernels.size() == 1);
  CHECK(log.problems.entries().at("record_of_unwanted_kind").count == 1);
}

TEST_CASE("a record that is cut off at the end of a buffer is counted") {
  const auto cupti = cupti_or_skip();
  if (!cupti) return;
  HandMade buffer;
  buffer.add(kernel_record(1, 1, 2)).add(kernel_record(2, 3, 4));
  ActivityLog log;
  parse_activity_buffer(*cupti, buffer.filled().first(buffer.used() - 8), log);
  CHECK(log.kernels.size() == 1);
  CHECK(log.problems.entries().at("record_cut_off").severity == Severity::data_loss);
}

TEST_CASE("buffers of several threads come out in the order of time") {
  const auto cupti = cupti_or_skip();
  if (!cupti) return;
  HandMade later;
  HandMade earlier;
  later.add(kernel_record(3, 300, 310)).add(kernel_record(4, 100, 105));
  earlier.add(kernel_record(1, 50, 60)).add(kernel_record(2, 200, 210));
  ActivityLog log;
  parse_activity_buffer(*cupti, later.filled(), log);
  parse_activity_buffer(*cupti, earlier.filled(), log);
  log.sort();
  REQUIRE(log.kernels.size() == 4);
  CHECK(log.kernels[0].correlation == 1);
  CHECK(log.kernels[1].correlation == 4);
  CHECK(log.kernels[2].correlation == 2);
  CHECK(log.kernels[3].correlation == 3);
}
