// SPDX-License-Identifier: Apache-2.0
#include "profiler/cupti_records.hpp"

#include <fmt/format.h>

#include <cstddef>
#include <cstdlib>
#include <optional>
#include <string_view>

namespace schedlab {
namespace {

ActivityTime time_of(std::uint64_t nanoseconds) {
  return ActivityTime{std::chrono::nanoseconds{static_cast<std::int64_t>(nanoseconds)}};
}

/// 0 is CUPTI_TIMESTAMP_UNKNOWN.
std::optional<ActivityTime> known_time(std::uint64_t nanoseconds) {
  return nanoseconds == 0 ? std::nullopt : std::optional{time_of(nanoseconds)};
}

std::string text_of(const char* text) {
  return text == nullptr ? std::string{} : std::string{text};
}

Bytes bytes_of(std::uint64_t count) {
  return Bytes{static_cast<std::int64_t>(count)};
}

std::uint32_t positive(std::int32_t value) {
  return value < 0 ? 0U : static_cast<std::uint32_t>(value);
}

MemoryPlace memory_place(unsigned kind) {
  switch (kind) {
    case CUPTI_ACTIVITY_MEMORY_KIND_PAGEABLE:
      return MemoryPlace::pageable;
    case CUPTI_ACTIVITY_MEMORY_KIND_PINNED:
      return MemoryPlace::pinned;
    case CUPTI_ACTIVITY_MEMORY_KIND_DEVICE:
    case CUPTI_ACTIVITY_MEMORY_KIND_DEVICE_STATIC:
      return MemoryPlace::device;
    case CUPTI_ACTIVITY_MEMORY_KIND_MANAGED:
    case CUPTI_ACTIVITY_MEMORY_KIND_MANAGED_STATIC:
      return MemoryPlace::managed;
    case CUPTI_ACTIVITY_MEMORY_KIND_ARRAY:
      return MemoryPlace::array;
    default:
      return MemoryPlace::unknown;
  }
}

CopyDirection copy_direction(unsigned kind) {
  switch (kind) {
    case CUPTI_ACTIVITY_MEMCPY_KIND_HTOD:
    case CUPTI_ACTIVITY_MEMCPY_KIND_HTOA:
      return CopyDirection::host_to_device;
    case CUPTI_ACTIVITY_MEMCPY_KIND_DTOH:
    case CUPTI_ACTIVITY_MEMCPY_KIND_ATOH:
      return CopyDirection::device_to_host;
    case CUPTI_ACTIVITY_MEMCPY_KIND_ATOA:
    case CUPTI_ACTIVITY_MEMCPY_KIND_ATOD:
    case CUPTI_ACTIVITY_MEMCPY_KIND_DTOA:
    case CUPTI_ACTIVITY_MEMCPY_KIND_DTOD:
      return CopyDirection::device_to_device;
    case CUPTI_ACTIVITY_MEMCPY_KIND_HTOH:
      return CopyDirection::host_to_host;
    case CUPTI_ACTIVITY_MEMCPY_KIND_PTOP:
      return CopyDirection::peer_to_peer;
    default:
      return CopyDirection::unknown;
  }
}

OverheadKind overhead_kind(CUpti_ActivityOverheadKind kind) {
  switch (kind) {
    case CUPTI_ACTIVITY_OVERHEAD_DRIVER_COMPILER:
      return OverheadKind::driver_compiler;
    case CUPTI_ACTIVITY_OVERHEAD_CUPTI_BUFFER_FLUSH:
      return OverheadKind::buffer_flush;
    case CUPTI_ACTIVITY_OVERHEAD_CUPTI_INSTRUMENTATION:
      return OverheadKind::instrumentation;
    case CUPTI_ACTIVITY_OVERHEAD_CUPTI_RESOURCE:
      return OverheadKind::resource;
    case CUPTI_ACTIVITY_OVERHEAD_RUNTIME_TRIGGERED_MODULE_LOADING:
      return OverheadKind::module_loading;
    case CUPTI_ACTIVITY_OVERHEAD_LAZY_FUNCTION_LOADING:
      return OverheadKind::lazy_function_loading;
    case CUPTI_ACTIVITY_OVERHEAD_COMMAND_BUFFER_FULL:
      return OverheadKind::command_buffer_full;
    case CUPTI_ACTIVITY_OVERHEAD_ACTIVITY_BUFFER_REQUEST:
      return OverheadKind::buffer_request;
    default:
      return OverheadKind::other;
  }
}

SyncKind sync_kind(CUpti_ActivitySynchronizationType type) {
  switch (type) {
    case CUPTI_ACTIVITY_SYNCHRONIZATION_TYPE_EVENT_SYNCHRONIZE:
      return SyncKind::event;
    case CUPTI_ACTIVITY_SYNCHRONIZATION_TYPE_STREAM_WAIT_EVENT:
      return SyncKind::stream_wait_event;
    case CUPTI_ACTIVITY_SYNCHRONIZATION_TYPE_STREAM_SYNCHRONIZE:
      return SyncKind::stream;
    case CUPTI_ACTIVITY_SYNCHRONIZATION_TYPE_CONTEXT_SYNCHRONIZE:
      return SyncKind::context;
    default:
      return SyncKind::unknown;
  }
}

// "cudaLaunchKernel_ptsz_v7000" -> "cudaLaunchKernel"
std::string plain_name(std::string_view name) {
  const std::size_t version = name.rfind("_v");
  if (version != std::string_view::npos &&
      name.find_first_not_of("0123456789", version + 2) == std::string_view::npos) {
    name = name.substr(0, version);
  }
  constexpr std::string_view per_thread = "_ptsz";
  if (name.ends_with(per_thread)) name.remove_suffix(per_thread.size());
  return std::string{name};
}

class RecordReader {
 public:
  RecordReader(const CuptiLibrary& cupti, ActivityLog& log) : cupti_(&cupti), log_(&log) {}

  /// Returns the record's size, 0 if this reader does not know it.
  std::size_t read(CUpti_Activity* record) {
    switch (record->kind) {
      case CUPTI_ACTIVITY_KIND_CONCURRENT_KERNEL:
      case CUPTI_ACTIVITY_KIND_KERNEL:
        return as<CUpti_ActivityKernel10>(record, &RecordReader::kernel);
      case CUPTI_ACTIVITY_KIND_MEMCPY:
        return as<CUpti_ActivityMemcpy6>(record, &RecordReader::copy);
      case CUPTI_ACTIVITY_KIND_MEMCPY2:
        return as<CUpti_ActivityMemcpyPtoP4>(record, &RecordReader::copy);
      case CUPTI_ACTIVITY_KIND_MEMSET:
        return as<CUpti_ActivityMemset4>(record, &RecordReader::memset);
      case CUPTI_ACTIVITY_KIND_RUNTIME:
      case CUPTI_ACTIVITY_KIND_DRIVER:
        return as<CUpti_ActivityAPI>(record, &RecordReader::call);
      case CUPTI_ACTIVITY_KIND_SYNCHRONIZATION:
        return as<CUpti_ActivitySynchronization2>(record, &RecordReader::synchronization);
      case CUPTI_ACTIVITY_KIND_CUDA_EVENT:
        return as<CUpti_ActivityCudaEvent2>(record, &RecordReader::event);
      case CUPTI_ACTIVITY_KIND_GRAPH_TRACE:
        return as<CUpti_ActivityGraphTrace2>(record, &RecordReader::graph);
      case CUPTI_ACTIVITY_KIND_OVERHEAD:
        return as<CUpti_ActivityOverhead3>(record, &RecordReader::overhead);
      case CUPTI_ACTIVITY_KIND_EXTERNAL_CORRELATION:
        return as<CUpti_ActivityExternalCorrelation>(record, &RecordReader::correlation);
      case CUPTI_ACTIVITY_KIND_STREAM:
        return as<CUpti_ActivityStream>(record, &RecordReader::stream);
      case CUPTI_ACTIVITY_KIND_DEVICE:
        return as<CUpti_ActivityDevice5>(record, &RecordReader::device);
      default:
        return 0;
    }
  }

 private:
  template <class Record>
  std::size_t as(CUpti_Activity* record, void (RecordReader::*use)(Record&)) {
    // NOLINTNEXTLINE(cppcoreguidelines-pro-type-reinterpret-cast): how CUPTI tells records apart
    (this->*use)(*reinterpret_cast<Record*>(record));
    return sizeof(Record);
  }
  template <class Record>
  std::size_t as(CUpti_Activity* record, void (RecordReader::*use)(const Record&)) {
    // NOLINTNEXTLINE(cppcoreguidelines-pro-type-reinterpret-cast): how CUPTI tells records apart
    (this->*use)(*reinterpret_cast<const Record*>(record));
    return sizeof(Record);
  }

  template <class Record>
  bool has_times(const Record& record, const char* what) {
    if (record.start == 0 && record.end == 0) {
      log_->problems.add(Severity::data_loss,
                         fmt::format("{}_without_times", what),
                         fmt::format("correlation {}", record.correlationId));
      return false;
    }
    if (record.end < record.start) {
      log_->problems.add(Severity::data_loss,
                         fmt::format("{}_ends_before_it_starts", what),
                         fmt::format("correlation {}", record.correlationId));
      return false;
    }
    return true;
  }
  template <class Record>
  static ActivityPlace place_of(const Record& record) {
    return {.device = record.deviceId, .context = record.contextId, .stream = record.streamId};
  }
  template <class Record>
  static ActivityNode node_of(const Record& record) {
    return {.graph = record.graphId, .node = record.graphNodeId};
  }

  void kernel(const CUpti_ActivityKernel10& record) {
    if (!has_times(record, "kernel")) return;
    log_->kernels.push_back(
        {.name = text_of(record.name),
         .started = time_of(record.start),
         .ended = time_of(record.end),
         .queued = known_time(record.queued),
         .submitted = known_time(record.submitted),
         .place = place_of(record),
         .correlation = record.correlationId,
         .node = node_of(record),
         .grid = {positive(record.gridX), positive(record.gridY), positive(record.gridZ)},
         .block = {positive(record.blockX), positive(record.blockY), positive(record.blockZ)},
         .registers_per_thread = record.registersPerThread,
         .static_shared_memory = Bytes{record.staticSharedMemory},
         .dynamic_shared_memory = Bytes{record.dynamicSharedMemory},
         .channel = record.channelID});
  }

  void copy(const CUpti_ActivityMemcpy6& record) { add_copy(record); }
  void copy(const CUpti_ActivityMemcpyPtoP4& record) { add_copy(record); }
  template <class Record>
  void add_copy(const Record& record) {
    if (!has_times(record, "copy")) return;
    log_->copies.push_back({.direction = copy_direction(record.copyKind),
                            .from = memory_place(record.srcKind),
                            .to = memory_place(record.dstKind),
                            .asynchronous = (record.flags & CUPTI_ACTIVITY_FLAG_MEMCPY_ASYNC) != 0,
                            .bytes = bytes_of(record.bytes),
                            .started = time_of(record.start),
                            .ended = time_of(record.end),
                            .place = place_of(record),
                            .correlation = record.correlationId,
                            .node = node_of(record),
                            .channel = record.channelID});
  }

  void memset(const CUpti_ActivityMemset4& record) {
    if (!has_times(record, "memset")) return;
    log_->memsets.push_back({.memory = memory_place(record.memoryKind),
                             .bytes = bytes_of(record.bytes),
                             .started = time_of(record.start),
                             .ended = time_of(record.end),
                             .place = place_of(record),
                             .correlation = record.correlationId,
                             .node = node_of(record),
                             .channel = record.channelID});
  }

  void call(const CUpti_ActivityAPI& record) {
    const bool runtime = record.kind == CUPTI_ACTIVITY_KIND_RUNTIME;
    const char* name = nullptr;
    const auto domain = runtime ? CUPTI_CB_DOMAIN_RUNTIME_API : CUPTI_CB_DOMAIN_DRIVER_API;
    if (cupti_->cuptiGetCallbackName(domain, record.cbid, &name) != CUPTI_SUCCESS) name = nullptr;
    log_->calls.push_back(
        {.layer = runtime ? ApiLayer::runtime : ApiLayer::driver,
         .name = name == nullptr ? fmt::format("call {}", record.cbid) : plain_name(name),
         .callback = record.cbid,
         .started = time_of(record.start),
         .ended = time_of(record.end),
         .process = record.processId,
         .thread = record.threadId,
         .correlation = record.correlationId,
         .return_value = record.returnValue});
  }

  void synchronization(const CUpti_ActivitySynchronization2& record) {
    const auto known = [](std::uint32_t id, std::uint32_t invalid) {
      return id == invalid ? std::nullopt : std::optional{id};
    };
    log_->synchronizations.push_back(
        {.kind = sync_kind(record.type),
         .started = time_of(record.start),
         .ended = time_of(record.end),
         .context = record.contextId,
         .stream = known(record.streamId,
                         static_cast<std::uint32_t>(CUPTI_SYNCHRONIZATION_INVALID_VALUE)),
         .event = known(record.cudaEventId,
                        static_cast<std::uint32_t>(CUPTI_SYNCHRONIZATION_INVALID_VALUE)),
         .event_sync = record.cudaEventSyncId,
         .correlation = record.correlationId,
         .return_value = record.returnValue});
  }

  void event(const CUpti_ActivityCudaEvent2& record) {
    log_->events.push_back({.place = place_of(record),
                            .event = record.eventId,
                            .sync = record.cudaEventSyncId,
                            .completed = known_time(record.deviceTimestamp),
                            .correlation = record.correlationId});
  }

  void graph(const CUpti_ActivityGraphTrace2& record) {
    if (!has_times(record, "graph")) return;
    log_->graph_launches.push_back({.graph = record.graphId,
                                    .place = place_of(record),
                                    .started = time_of(record.start),
                                    .ended = time_of(record.end),
                                    .correlation = record.correlationId});
  }

  void overhead(CUpti_ActivityOverhead3& record) {
    OverheadActivity activity{.kind = overhead_kind(record.overheadKind),
                              .started = time_of(record.start),
                              .ended = time_of(record.end),
                              .correlation = record.correlationId};
    if (activity.kind == OverheadKind::command_buffer_full && record.overheadData != nullptr) {
      activity.channel =
          static_cast<const CUpti_ActivityOverheadCommandBufferFullData*>(record.overheadData)
              ->channelID;
    }
    // CUPTI leaves it to the reader to free this.
    std::free(record.overheadData);  // NOLINT(*-no-malloc,*-owning-memory): see above
    record.overheadData = nullptr;
    log_->overheads.push_back(activity);
  }

  void correlation(const CUpti_ActivityExternalCorrelation& record) {
    const WorkId work = WorkId::from_bits(record.externalId);
    if (record.externalKind != CUPTI_EXTERNAL_CORRELATION_KIND_CUSTOM0 ||
        work.kind() == WorkId::Kind::none) {
      log_->problems.add(Severity::info,
                         "external_correlation_of_others",
                         fmt::format("external id {}", record.externalId));
      return;
    }
    log_->correlations.push_back({.correlation = record.correlationId, .work = work});
  }

  void stream(const CUpti_ActivityStream& record) {
    log_->streams.push_back(
        {.context = record.contextId,
         .stream = record.streamId,
         .priority = record.priority,
         .non_blocking = record.flag == CUPTI_ACTIVITY_STREAM_CREATE_FLAG_NON_BLOCKING,
         .null_stream = record.flag == CUPTI_ACTIVITY_STREAM_CREATE_FLAG_NULL});
  }

  void device(const CUpti_ActivityDevice5& record) {
    log_->devices.push_back(
        {.device = record.id,
         .name = text_of(record.name),
         .compute_major = record.computeCapabilityMajor,
         .compute_minor = record.computeCapabilityMinor,
         .multiprocessors = record.numMultiprocessors,
         .core_clock_khz = record.coreClockRate,
         .copy_engines = record.numMemcpyEngines,
         .threads_per_warp = record.numThreadsPerWarp,
         .warps_per_multiprocessor = record.maxWarpsPerMultiprocessor,
         .threads_per_block = record.maxThreadsPerBlock,
         .registers_per_multiprocessor = record.maxRegistersPerMultiprocessor,
         .registers_per_block = record.maxRegistersPerBlock,
         .shared_memory_per_multiprocessor = bytes_of(record.maxSharedMemoryPerMultiprocessor),
         .shared_memory_per_block = bytes_of(record.maxSharedMemoryPerBlock),
         .l2 = bytes_of(record.l2CacheSize),
         .memory = bytes_of(record.globalMemorySize),
         // CUPTI counts kilobytes of 1000 bytes per second.
         .memory_bandwidth = Bandwidth{static_cast<double>(record.globalMemoryBandwidth) * 1e3}});
  }

  const CuptiLibrary* cupti_;
  ActivityLog* log_;
};

}  // namespace

void parse_activity_buffer(const CuptiLibrary& cupti,
                           std::span<std::uint8_t> buffer,
                           ActivityLog& log) {
  RecordReader reader{cupti, log};
  CUpti_Activity* record = nullptr;
  std::size_t end = 0;  // of the last record
  bool end_known = true;
  CUptiResult result = CUPTI_SUCCESS;
  while ((result = cupti.cuptiActivityGetNextRecord(buffer.data(), buffer.size(), &record)) ==
         CUPTI_SUCCESS) {
    // NOLINTNEXTLINE(cppcoreguidelines-pro-type-reinterpret-cast): an address in `buffer`
    const auto* const bytes = reinterpret_cast<const std::uint8_t*>(record);
    const std::size_t size = reader.read(record);
    end_known = size != 0;
    end = static_cast<std::size_t>(bytes - buffer.data()) + size;
    if (!end_known) log.problems.add(Severity::info, "record_of_unwanted_kind");
  }
  if (result == CUPTI_ERROR_INVALID_KIND) {
    log.problems.add(Severity::data_loss,
                     "record_of_unknown_kind",
                     fmt::format("the {} bytes from {} on are lost", buffer.size() - end, end));
  } else if (result != CUPTI_ERROR_MAX_LIMIT_REACHED) {
    cupti.expect_success(result, "cuptiActivityGetNextRecord");
  } else if (end_known && end < buffer.size()) {
    log.problems.add(Severity::data_loss,
                     "record_cut_off",
                     fmt::format("{} bytes at the end of a buffer", buffer.size() - end));
  }
}

}  // namespace schedlab
