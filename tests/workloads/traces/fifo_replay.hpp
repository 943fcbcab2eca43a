// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "workloads/traces/imported_trace.hpp"

#include <algorithm>
#include <map>
#include <unordered_map>
#include <utility>
#include <vector>

namespace schedlab::testing {

/// The naive replay of docs/replay.md, which knows nothing of events, graphs or other streams:
///   start = max(return of the launch + L, end of the one before it in its stream + G)
/// with L the median over activities that found their stream idle when their launch returned, and
/// G that over those whose stream was busy for at least 50 us more. The first of a stream and those
/// without a launch start when they did.
struct FifoReplay {
  explicit FifoReplay(const ImportedTrace& trace) {
    std::unordered_map<std::uint64_t, const CallRow*> calls;
    for (const CallRow& call : trace.calls) {
      if (launches(call.kind)) calls.emplace(call.correlation, &call);
    }
    using Stream = std::pair<std::int32_t, std::int64_t>;
    const auto launch = [&](const DeviceRow& row) -> const CallRow* {
      const auto found = row.correlation == 0 ? calls.end() : calls.find(row.correlation);
      return found == calls.end() ? nullptr : found->second;
    };
    std::unordered_map<std::uint64_t, int> rows_of;
    for (const DeviceRow& row : trace.device_rows) ++rows_of[row.correlation];
    std::vector<Duration> latencies;
    std::vector<Duration> gaps;
    std::map<Stream, Time> free;
    for (const DeviceRow& row : trace.device_rows) {
      const auto [before, first] = free.try_emplace({row.device, row.stream}, Time::min());
      const CallRow* call = launch(row);
      if (call != nullptr && !first && rows_of[row.correlation] == 1) {
        if (before->second < call->ended) latencies.push_back(row.started - call->ended);
        if (before->second > call->ended + std::chrono::microseconds{50}) {
          gaps.push_back(row.started - before->second);
        }
      }
      before->second = std::max(before->second, row.ended);
    }
    const Duration latency = middle(latencies, Duration{0});
    const Duration gap = middle(gaps, std::chrono::microseconds{1});
    free.clear();
    for (const DeviceRow& row : trace.device_rows) {
      const auto [before, first] = free.try_emplace({row.device, row.stream}, Time::min());
      const CallRow* call = launch(row);
      Time start = call == nullptr || first ? row.started : call->ended + latency;
      if (!first) start = std::max(start, before->second + gap);
      before->second = start + (row.ended - row.started);
      starts.push_back(start);
    }
  }

  std::vector<Time> starts;  ///< by device row

 private:
  static Duration middle(std::vector<Duration> values, Duration otherwise) {
    if (values.empty()) return otherwise;
    std::sort(values.begin(), values.end());
    const std::size_t half = values.size() / 2;
    return values.size() % 2 != 0 ? values[half] : (values[half - 1] + values[half]) / 2;
  }
};

}  // namespace schedlab::testing
