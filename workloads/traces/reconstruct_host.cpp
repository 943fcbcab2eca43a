// SPDX-License-Identifier: Apache-2.0
#include "workloads/traces/memory_waits.hpp"
#include "workloads/traces/reconstruct_parts.hpp"

#include <algorithm>

namespace schedlab::reconstruction {
namespace {

class HostWaits {
 public:
  HostWaits(const ImportedTrace& trace, const LaunchOrder& order, ReconstructedTrace& result)
      : trace_(trace), order_(order), result_(result) {}

  void run() {
    for (const Launch& launch : order_.all()) {
      result_.host.push_back({.kind = HostStepKind::launch,
                              .call = result_.items[launch.item].call,
                              .item = launch.item});
    }
    for (std::uint32_t call = 0; call < trace_.calls.size(); ++call) {
      switch (trace_.calls[call].kind) {
        case CallKind::synchronize_device:
          ++result_.host_waits.recorded;
          result_.host.push_back(
              {.kind = HostStepKind::synchronize_device, .call = call, .item = {}});
          break;
        case CallKind::synchronize_stream:
        case CallKind::synchronize_event:
          add(call);
          break;
        default:
          break;
      }
    }
    std::stable_sort(result_.host.begin(), result_.host.end(), [&](const auto& a, const auto& b) {
      return trace_.calls[a.call].started < trace_.calls[b.call].started;
    });
  }

 private:
  /// The last item of the stream that the call can have waited for: launched before `when`, and
  /// ended before the call returned.
  [[nodiscard]] StreamItemId last_done(StreamId stream, Time when, const CallRow& call) const {
    const Launch* launch = stream.valid() ? order_.last_before(stream, when) : nullptr;
    while (launch != nullptr && result_.items[launch->item].ended > call.ended + slack(trace_)) {
      launch = order_.last_before(stream, launch->called);
    }
    return launch == nullptr ? StreamItemId::none() : launch->item;
  }

  void add(std::uint32_t index) {
    const CallRow& call = trace_.calls[index];
    StreamItemId item;
    if (const SyncRow* row = order_.row(call); row != nullptr) {
      const bool event = call.kind == CallKind::synchronize_event;
      const CallRow* recording = event ? order_.recording(row->record_correlation) : nullptr;
      item = last_done(order_.stream(row->device, event ? row->wait_on_stream : row->stream),
                       recording != nullptr ? recording->started : call.started,
                       call);
      ++(item.valid() ? result_.host_waits.recorded : result_.host_waits.without_effect);
    } else if (trace_.texts[call.name] == memory_wait_name) {
      ++result_.host_waits.unresolved;  // what the kernel itself waits for, other ranks tell
    } else {
      item = infer(call);
    }
    if (item.valid()) {
      result_.host.push_back({.kind = HostStepKind::synchronize_item, .call = index, .item = item});
    } else if (call.ended - call.started > unexplained_wait) {
      result_.host.push_back({.kind = HostStepKind::wait_outside, .call = index, .item = {}});
    }
  }

  StreamItemId infer(const CallRow& call) {
    const Launch* last = order_.last_of(call.thread, call.started);
    const StreamItemId item =
        last == nullptr ? StreamItemId::none() : last_done(last->stream, call.started, call);
    if (!item.valid()) {
      ++result_.host_waits.unresolved;
    } else if (result_.items[item].ended <= call.started) {
      ++result_.host_waits.without_effect;  // and yet it would wait if things were otherwise
    } else {
      ++result_.host_waits.by_launch_order;
    }
    return item;
  }

  const ImportedTrace& trace_;
  const LaunchOrder& order_;
  ReconstructedTrace& result_;
};

}  // namespace

void find_host_steps(const ImportedTrace& trace,
                     const LaunchOrder& order,
                     ReconstructedTrace& result) {
  HostWaits(trace, order, result).run();
}

}  // namespace schedlab::reconstruction
