// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "workloads/traces/imported_trace.hpp"

#include <cstdint>
#include <string>
#include <string_view>
#include <utility>

namespace schedlab::testing {

/// Writes down a trace row by row; times in whole microseconds from its beginning, which a first
/// row marks. Correlations are given out from 1.
class ImportedTraceMaker {
 public:
  ImportedTraceMaker() {
    trace_.file = "made.json";
    thread(0);
    call(CallKind::other, "begin", 0, 0);
  }

  /// What is called from here on, this thread calls.
  ImportedTraceMaker& thread(std::uint32_t number) {
    while (trace_.threads.size() <= number) {
      trace_.threads.push_back(
          {.process = 1, .thread = static_cast<std::int64_t>(trace_.threads.size()), .name = ""});
    }
    thread_ = HostThreadId{number};
    return *this;
  }

  /// The correlation of the call.
  std::uint64_t call(CallKind kind, std::string_view name, int start, int end) {
    CallRow row;
    row.name = trace_.texts.add(name);
    row.kind = kind;
    row.thread = thread_;
    row.started = at(start);
    row.ended = at(end);
    row.correlation = ++correlation_;
    trace_.calls.push_back(row);
    return correlation_;
  }

  /// An activity without a recorded launch unless `correlation` says which.
  void activity(std::string_view name,
                std::int64_t stream,
                int start,
                int end,
                std::uint64_t correlation = 0,
                DeviceActivityKind kind = DeviceActivityKind::kernel) {
    DeviceRow row;
    row.name = trace_.texts.add(name);
    row.kind = kind;
    row.stream = stream;
    row.started = at(start);
    row.ended = at(end);
    row.correlation = correlation;
    trace_.device_rows.push_back(row);
  }

  /// A launch whose call takes `called`..`called + 5`, and its kernel.
  void kernel(std::string_view name, std::int64_t stream, int called, int start, int end) {
    activity(name,
             stream,
             start,
             end,
             call(CallKind::launch_kernel, "cudaLaunchKernel", called, called + 5));
  }

  void wait(int called) { call(CallKind::wait_event, "cudaStreamWaitEvent", called, called + 1); }

  /// A wait of which the profiler recorded that `stream` waits for `other`, and, if given, for
  /// which recording.
  void recorded_wait(int called,
                     std::int64_t stream,
                     std::int64_t other,
                     std::uint64_t recording = 0) {
    SyncRow row;
    row.kind = SyncRowKind::stream_wait_event;
    row.started = at(called);
    row.ended = at(called + 1);
    row.stream = stream;
    row.wait_on_stream = other;
    row.record_correlation = recording;
    row.correlation = call(CallKind::wait_event, "cudaStreamWaitEvent", called, called + 1);
    trace_.synchronizations.push_back(row);
  }

  void iteration(int start, int end) {
    add_operator("ProfilerStep", OperatorKind::iteration, start, end);
  }
  void host_operator(std::string_view name, int start, int end) {
    add_operator(name, OperatorKind::cpu_operator, start, end);
  }

  [[nodiscard]] ImportedTrace done() && {
    put_in_order(trace_);
    return std::move(trace_);
  }

  static constexpr Time at(int us) { return Time{std::chrono::microseconds{us}}; }

 private:
  void add_operator(std::string_view name, OperatorKind kind, int start, int end) {
    OperatorRow row;
    row.name = trace_.texts.add(name);
    row.kind = kind;
    row.thread = HostThreadId{0};
    row.started = at(start);
    row.ended = at(end);
    trace_.operators.push_back(row);
  }

  ImportedTrace trace_;
  HostThreadId thread_;
  std::uint64_t correlation_ = 0;
};

}  // namespace schedlab::testing
