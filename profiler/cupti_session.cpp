// SPDX-License-Identifier: Apache-2.0
#include "profiler/cupti_session.hpp"

#include "profiler/cupti_library.hpp"
#include "profiler/cupti_receiver.hpp"
#include "profiler/cupti_records.hpp"
#include "profiler/graph_node_labels.hpp"
#include "sim/base/error.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <chrono>
#include <iterator>
#include <utility>
#include <vector>

namespace schedlab {
namespace {

/// The host's steady clock, so that its records need no conversion from a clock that is set.
std::uint64_t CUPTIAPI steady_nanoseconds() {
  return static_cast<std::uint64_t>(std::chrono::duration_cast<std::chrono::nanoseconds>(
                                        std::chrono::steady_clock::now().time_since_epoch())
                                        .count());
}

/// The calls that plans are made of. Others only cost time: libraries ask for the current device or
/// context at every turn.
constexpr std::array runtime_calls{
    CUPTI_RUNTIME_TRACE_CBID_cudaLaunchKernel_v7000,
    CUPTI_RUNTIME_TRACE_CBID_cudaLaunchKernel_ptsz_v7000,
    CUPTI_RUNTIME_TRACE_CBID_cudaLaunchKernelExC_v11060,
    CUPTI_RUNTIME_TRACE_CBID_cudaLaunchKernelExC_ptsz_v11060,
    CUPTI_RUNTIME_TRACE_CBID_cudaLaunchCooperativeKernel_v9000,
    CUPTI_RUNTIME_TRACE_CBID_cudaLaunchCooperativeKernel_ptsz_v9000,
    CUPTI_RUNTIME_TRACE_CBID_cudaGraphLaunch_v10000,
    CUPTI_RUNTIME_TRACE_CBID_cudaGraphLaunch_ptsz_v10000,
    CUPTI_RUNTIME_TRACE_CBID_cudaGraphInstantiate_v12000,
    CUPTI_RUNTIME_TRACE_CBID_cudaGraphInstantiateWithFlags_v11040,
    CUPTI_RUNTIME_TRACE_CBID_cudaGraphInstantiateWithParams_v12000,
    CUPTI_RUNTIME_TRACE_CBID_cudaMemcpyAsync_v3020,
    CUPTI_RUNTIME_TRACE_CBID_cudaMemcpyAsync_ptsz_v7000,
    CUPTI_RUNTIME_TRACE_CBID_cudaMemcpyPeerAsync_v4000,
    CUPTI_RUNTIME_TRACE_CBID_cudaMemsetAsync_v3020,
    CUPTI_RUNTIME_TRACE_CBID_cudaMemsetAsync_ptsz_v7000,
    CUPTI_RUNTIME_TRACE_CBID_cudaEventRecord_v3020,
    CUPTI_RUNTIME_TRACE_CBID_cudaEventRecord_ptsz_v7000,
    CUPTI_RUNTIME_TRACE_CBID_cudaEventRecordWithFlags_v11010,
    CUPTI_RUNTIME_TRACE_CBID_cudaEventRecordWithFlags_ptsz_v11010,
    CUPTI_RUNTIME_TRACE_CBID_cudaStreamWaitEvent_v3020,
    CUPTI_RUNTIME_TRACE_CBID_cudaStreamWaitEvent_ptsz_v7000,
    CUPTI_RUNTIME_TRACE_CBID_cudaStreamQuery_v3020,
    CUPTI_RUNTIME_TRACE_CBID_cudaStreamQuery_ptsz_v7000,
    CUPTI_RUNTIME_TRACE_CBID_cudaEventQuery_v3020,
    CUPTI_RUNTIME_TRACE_CBID_cudaStreamSynchronize_v3020,
    CUPTI_RUNTIME_TRACE_CBID_cudaStreamSynchronize_ptsz_v7000,
    CUPTI_RUNTIME_TRACE_CBID_cudaEventSynchronize_v3020,
    CUPTI_RUNTIME_TRACE_CBID_cudaDeviceSynchronize_v3020,
    CUPTI_RUNTIME_TRACE_CBID_cudaStreamCreate_v3020,
    CUPTI_RUNTIME_TRACE_CBID_cudaStreamCreateWithFlags_v5000,
    CUPTI_RUNTIME_TRACE_CBID_cudaStreamCreateWithPriority_v5050,
    CUPTI_RUNTIME_TRACE_CBID_cudaStreamDestroy_v5050,
};
/// Matrix libraries launch their kernels through the driver.
constexpr std::array driver_calls{
    CUPTI_DRIVER_TRACE_CBID_cuLaunchKernel,
    CUPTI_DRIVER_TRACE_CBID_cuLaunchKernel_ptsz,
    CUPTI_DRIVER_TRACE_CBID_cuLaunchKernelEx,
    CUPTI_DRIVER_TRACE_CBID_cuLaunchKernelEx_ptsz,
    CUPTI_DRIVER_TRACE_CBID_cuLaunchCooperativeKernel,
    CUPTI_DRIVER_TRACE_CBID_cuLaunchCooperativeKernel_ptsz,
    CUPTI_DRIVER_TRACE_CBID_cuMemsetD32Async,
    CUPTI_DRIVER_TRACE_CBID_cuMemsetD32Async_ptsz,
};

bool contains(const auto& calls, CUpti_CallbackId call) {
  return std::any_of(calls.begin(), calls.end(), [call](auto one) {
    return static_cast<CUpti_CallbackId>(one) == call;
  });
}

std::vector<CUpti_ActivityKind> wanted_kinds(const ProfilerOptions& options) {
  // CUPTI_ACTIVITY_KIND_KERNEL would serialize all kernels.
  std::vector<CUpti_ActivityKind> kinds{CUPTI_ACTIVITY_KIND_CONCURRENT_KERNEL,
                                        CUPTI_ACTIVITY_KIND_MEMCPY,
                                        CUPTI_ACTIVITY_KIND_MEMCPY2,
                                        CUPTI_ACTIVITY_KIND_MEMSET,
                                        CUPTI_ACTIVITY_KIND_STREAM,
                                        CUPTI_ACTIVITY_KIND_DEVICE,
                                        CUPTI_ACTIVITY_KIND_OVERHEAD,
                                        CUPTI_ACTIVITY_KIND_EXTERNAL_CORRELATION};
  if (options.graphs == GraphDetail::launch) kinds.push_back(CUPTI_ACTIVITY_KIND_GRAPH_TRACE);
  if (options.synchronizations) {
    kinds.push_back(CUPTI_ACTIVITY_KIND_SYNCHRONIZATION);
    kinds.push_back(CUPTI_ACTIVITY_KIND_CUDA_EVENT);
  }
  return kinds;
}

}  // namespace

class CuptiSession::Impl {
 public:
  Impl(const ProfilerOptions& options, const CpuClock& clock) : options_(options), clock_(&clock) {
    if (const std::string why = missing_driver(); !why.empty()) {
      throw DeviceError("no profiler: " + why);
    }
    CuptiReceiver::open(static_cast<std::size_t>(options.buffer.count()));
    try {
      subscribe();
    } catch (...) {
      CuptiReceiver::withdraw();  // nothing has been recorded
      throw;
    }
    try {
      start();
    } catch (...) {
      stop();
      throw;
    }
  }
  Impl(const Impl&) = delete;
  Impl& operator=(const Impl&) = delete;
  // NOLINTNEXTLINE(bugprone-exception-escape): stop() looks at no result
  ~Impl() { stop(); }

  void push(WorkId work) {
    labels_.push(work);
    cupti_.expect_success(cupti_.cuptiActivityPushExternalCorrelationId(
                              CUPTI_EXTERNAL_CORRELATION_KIND_CUSTOM0, work.bits()),
                          "cuptiActivityPushExternalCorrelationId");
  }
  // Called by destructors: what is left on the stack after an error is seen as the next push fails
  // to pair, so the result is not looked at.
  void pop() {
    labels_.pop();
    std::uint64_t last = 0;
    (void)cupti_.cuptiActivityPopExternalCorrelationId(CUPTI_EXTERNAL_CORRELATION_KIND_CUSTOM0,
                                                       &last);
  }
  void discard(const std::function<void()>& synchronize_device) {
    flush(synchronize_device);
    ActivityLog log;
    parse_filled(log);
    // Devices and streams are reported once, when they come up.
    std::move(log.devices.begin(), log.devices.end(), std::back_inserter(kept_.devices));
    std::move(log.streams.begin(), log.streams.end(), std::back_inserter(kept_.streams));
    (void)dropped_records();
    samples_.clear();
    sample();
  }

  ActivityLog finish(const std::function<void()>& synchronize_device) {
    flush(synchronize_device);
    sample();
    ActivityLog log = std::exchange(kept_, {});
    log.dropped_records = dropped_records();
    stop();
    parse_filled(log);
    log.nodes = labels_.labels();
    log.clock = align_clocks(samples_, true);  // it was given the host's own (set_up)
    log.sort();
    if (log.dropped_records != 0) {
      throw DeviceError(
          fmt::format("CUPTI lost {} records: profile fewer launches at once, or give it larger "
                      "buffers than {} "
                      "bytes",
                      log.dropped_records,
                      options_.buffer.count()));
    }
    return log;
  }

 private:
  static void CUPTIAPI on_resource(void* self,
                                   CUpti_CallbackDomain domain,
                                   CUpti_CallbackId callback,
                                   const void* data) {
    if (domain != CUPTI_CB_DOMAIN_RESOURCE) return;
    const auto* const resource = static_cast<const CUpti_ResourceData*>(data);
    const auto* const graph = static_cast<const CUpti_GraphData*>(resource->resourceDescriptor);
    static_cast<Impl*>(self)->see_node(callback, *graph);
  }
  void see_node(CUpti_CallbackId callback, const CUpti_GraphData& graph) {
    std::uint64_t node = 0;
    if (cupti_.cuptiGetGraphNodeId(graph.node, &node) != CUPTI_SUCCESS) return;
    if (callback == CUPTI_CBID_RESOURCE_GRAPHNODE_CREATED) {
      labels_.created(node);
    } else if (callback == CUPTI_CBID_RESOURCE_GRAPHNODE_CLONED) {
      std::uint64_t original = 0;
      if (cupti_.cuptiGetGraphNodeId(graph.originalNode, &original) == CUPTI_SUCCESS) {
        labels_.cloned(node, original);
      }
    }
  }

  /// First of all: it shows whether another tool holds CUPTI.
  void subscribe() {
    std::array<char, CUPTI_OLD_SUBSCRIBER_NAME_MIN_LEN> other{};
    CUpti_SubscriberParams params{};
    params.structSize = CUpti_SubscriberParams_STRUCT_SIZE;
    params.subscriberName = "schedlab";
    params.oldSubscriberName = other.data();
    params.oldSubscriberSize = other.size();
    const CUptiResult result = cupti_.cuptiSubscribe_v2(&subscriber_, &on_resource, this, &params);
    if (result == CUPTI_SUCCESS) return;
    subscriber_ = nullptr;
    other.back() = '\0';
    const std::string who =
        other.front() == '\0' ? std::string{} : fmt::format(" [{}]", other.data());
    cupti_.expect_success(result, "cuptiSubscribe_v2" + who);
  }

  void start() {
    // Before CUDA is initialized, and constant for the session.
    if (options_.latencies) {
      cupti_.expect_success(cupti_.cuptiActivityEnableLatencyTimestamps(1),
                            "cuptiActivityEnableLatencyTimestamps");
    }
    // Before any kind is enabled.
    cupti_.expect_success(cupti_.cuptiActivityRegisterTimestampCallback(&steady_nanoseconds),
                          "cuptiActivityRegisterTimestampCallback");
    cupti_.expect_success(cupti_.cuptiActivityRegisterCallbacks(&CuptiReceiver::give_buffer,
                                                                &CuptiReceiver::take_buffer),
                          "cuptiActivityRegisterCallbacks");
    for (const auto id :
         {CUPTI_CBID_RESOURCE_GRAPHNODE_CREATED, CUPTI_CBID_RESOURCE_GRAPHNODE_CLONED}) {
      cupti_.expect_success(
          cupti_.cuptiEnableCallback(
              1, subscriber_, CUPTI_CB_DOMAIN_RESOURCE, static_cast<CUpti_CallbackId>(id)),
          fmt::format("cuptiEnableCallback(resource {})", static_cast<int>(id)));
    }
    for (const CUpti_ActivityKind kind : wanted_kinds(options_)) {
      cupti_.expect_success(cupti_.cuptiActivityEnable(kind),
                            fmt::format("cuptiActivityEnable({})", static_cast<int>(kind)));
      enabled_.push_back(kind);
    }
    if (options_.synchronizations) {
      // Queries that are answered "not yet" would fill the buffers.
      cupti_.expect_success(cupti_.cuptiActivityEnableAllSyncRecords(0),
                            "cuptiActivityEnableAllSyncRecords");
      // Where the device cannot do it, events have no times of their own.
      (void)cupti_.cuptiActivityEnableCudaEventDeviceTimestamps(1);
    }
    if (options_.calls) record_calls();
    sample();
  }

  /// All calls of run-time and driver, then all but those that plans are made of off again: turning
  /// on the wanted ones alone recorded none on an H200 with CUPTI 13.0, and so no correlation.
  void record_calls() {
    for (const auto kind : {CUPTI_ACTIVITY_KIND_RUNTIME, CUPTI_ACTIVITY_KIND_DRIVER}) {
      cupti_.expect_success(cupti_.cuptiActivityEnable(kind),
                            fmt::format("cuptiActivityEnable({})", static_cast<int>(kind)));
      enabled_.push_back(kind);
    }
    // What cannot be turned off only costs time.
    for (CUpti_CallbackId call = 1; call < CUPTI_RUNTIME_TRACE_CBID_SIZE; ++call) {
      if (!contains(runtime_calls, call)) (void)cupti_.cuptiActivityEnableRuntimeApi(call, 0);
    }
    for (CUpti_CallbackId call = 1; call < CUPTI_DRIVER_TRACE_CBID_SIZE; ++call) {
      if (!contains(driver_calls, call)) (void)cupti_.cuptiActivityEnableDriverApi(call, 0);
    }
  }

  void flush(const std::function<void()>& synchronize_device) {
    synchronize_device();  // flushing does not wait for the device
    cupti_.expect_success(cupti_.cuptiActivityFlushAll(CUPTI_ACTIVITY_FLAG_FLUSH_FORCED),
                          "cuptiActivityFlushAll");
  }

  void parse_filled(ActivityLog& log) const {
    for (CuptiReceiver::Filled& filled : CuptiReceiver::take_filled()) {
      parse_activity_buffer(cupti_, filled.records(), log);
    }
  }

  std::uint64_t dropped_records() {
    std::size_t dropped = 0;
    cupti_.expect_success(cupti_.cuptiActivityGetNumDroppedRecords(nullptr, 0, &dropped),
                          "cuptiActivityGetNumDroppedRecords");
    return dropped + CuptiReceiver::take_lost_buffers();
  }

  void sample() {
    samples_.push_back(sample_clocks(
        [this] { return clock_->now(); },
        [this] {
          std::uint64_t now = 0;
          cupti_.expect_success(cupti_.cuptiGetTimestamp(&now), "cuptiGetTimestamp");
          return ActivityTime{std::chrono::nanoseconds{static_cast<std::int64_t>(now)}};
        }));
  }

  // Also after a failure half way: results are not looked at. The library itself stays as it is
  // (cuptiFinalize may only be called from within its own callbacks).
  void stop() {
    if (subscriber_ == nullptr) return;
    for (const CUpti_ActivityKind kind : enabled_) (void)cupti_.cuptiActivityDisable(kind);
    enabled_.clear();
    (void)cupti_.cuptiUnsubscribe(subscriber_);
    subscriber_ = nullptr;
    CuptiReceiver::close();
  }

  ProfilerOptions options_;
  const CpuClock* clock_;
  CuptiLibrary cupti_;
  CUpti_SubscriberHandle subscriber_ = nullptr;
  std::vector<CUpti_ActivityKind> enabled_;
  std::vector<ClockSample> samples_;
  GraphNodeLabels labels_;
  ActivityLog kept_;  // what discard() must not forget
};

ProfilerStatus profiler_available() {
  ProfilerStatus status;
  try {
    const CuptiLibrary cupti;
    std::uint32_t version = 0;
    cupti.expect_success(cupti.cuptiGetVersion(&version), "cuptiGetVersion");
    status.version = std::to_string(version);
    status.reason = missing_driver();
  } catch (const DeviceError& error) {
    status.reason = error.what();
  }
  status.available = status.reason.empty();
  return status;
}

CuptiSession::CuptiSession(const ProfilerOptions& options, const CpuClock& clock)
    : impl_(std::make_unique<Impl>(options, clock)) {}
CuptiSession::~CuptiSession() = default;
void CuptiSession::push(WorkId work) {
  impl_->push(work);
}
void CuptiSession::pop() {
  impl_->pop();
}
void CuptiSession::discard(const std::function<void()>& synchronize_device) {
  impl_->discard(synchronize_device);
}
ActivityLog CuptiSession::finish(const std::function<void()>& synchronize_device) {
  return impl_->finish(synchronize_device);
}

}  // namespace schedlab
