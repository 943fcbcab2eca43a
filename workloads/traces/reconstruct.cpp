// SPDX-License-Identifier: Apache-2.0
#include "workloads/traces/reconstruct.hpp"

#include "workloads/traces/launch_index.hpp"
#include "workloads/traces/reconstruct_parts.hpp"

#include <algorithm>
#include <map>
#include <unordered_map>
#include <utility>

namespace schedlab {
namespace reconstruction {
namespace {

/// Which item each row belongs to; makes the items and the streams.
class ItemMaker {
 public:
  ItemMaker(const ImportedTrace& trace, ReconstructedTrace& result)
      : trace_(trace), result_(result), calls_(trace.calls) {}

  void run() {
    std::vector<StreamItemId> item_of;
    item_of.reserve(trace_.device_rows.size());
    for (const DeviceRow& row : trace_.device_rows) item_of.push_back(item(row));
    place_rows(item_of);
    for (const StreamItemId id : result_.items.ids()) {
      StreamItem& made = result_.items[id];
      made.holds_host = holds_host(made);
      made.early = made.graph && made.launched() && made.started < trace_.calls[made.call].ended;
      auto& queue = result_.queues[made.stream];
      if (!queue.empty() && made.started + slack(trace_) < result_.items[queue.back()].ended) {
        ++result_.overlaps;
      }
      queue.push_back(id);
    }
  }

 private:
  StreamId stream(const DeviceRow& row) {
    const auto [place, added] = streams_.try_emplace({row.device, row.stream});
    if (added) {
      place->second = result_.streams.push_back({.device = row.device, .stream = row.stream});
      result_.queues.push_back({});
    }
    return place->second;
  }

  StreamItemId item(const DeviceRow& row) {
    const StreamId in = stream(row);
    const auto call = calls_.find(row.correlation);
    const bool known = call && launches(trace_.calls[*call].kind);
    const bool graph = known ? trace_.calls[*call].kind == CallKind::launch_graph
                             : row.graph != 0 && row.correlation != 0;
    if (graph) {
      if (const auto made = graphs_.find(row.correlation); made != graphs_.end()) {
        StreamItem& whole = result_.items[made->second];
        ++whole.row_count;
        whole.ended = std::max(whole.ended, row.ended);
        return made->second;
      }
    }
    const StreamItemId made = result_.items.push_back({.stream = in,
                                                       .first_row = 0,
                                                       .row_count = 1,
                                                       .call = known ? *call : StreamItem::no_call,
                                                       .graph = graph,
                                                       .holds_host = false,
                                                       .early = false,
                                                       .started = row.started,
                                                       .ended = row.ended});
    if (graph) graphs_.emplace(row.correlation, made);
    return made;
  }

  void place_rows(const std::vector<StreamItemId>& item_of) {
    std::uint32_t first = 0;
    for (StreamItem& made : result_.items) {
      made.first_row = first;
      first += made.row_count;
      made.row_count = 0;
    }
    result_.rows.resize(item_of.size());
    for (std::uint32_t row = 0; row < item_of.size(); ++row) {
      StreamItem& made = result_.items[item_of[row]];
      result_.rows[made.first_row + made.row_count++] = row;
    }
  }

  /// Only copies of pageable memory and those without "Async" hold their host; the profiler does
  /// not say which they are, but their calls last as long as they do.
  [[nodiscard]] bool holds_host(const StreamItem& made) const {
    if (!made.launched()) return false;
    const CallRow& call = trace_.calls[made.call];
    return call.kind == CallKind::copy && made.started + slack(trace_) < call.ended &&
           call.ended - call.started >= made.ended - made.started;
  }

  const ImportedTrace& trace_;
  ReconstructedTrace& result_;
  LaunchIndex calls_;
  std::map<std::pair<std::int32_t, std::int64_t>, StreamId> streams_;
  std::unordered_map<std::uint64_t, StreamItemId> graphs_;
};

bool earlier(const Launch& launch, Time when) {
  return launch.called < when;
}

const Launch* before(const std::vector<Launch>& launches, Time when) {
  const auto next = std::lower_bound(launches.begin(), launches.end(), when, earlier);
  return next == launches.begin() ? nullptr : &*(next - 1);
}

const Launch* after(const std::vector<Launch>& launches, Time when) {
  const auto next = std::upper_bound(
      launches.begin(), launches.end(), when, [](Time w, const Launch& l) { return w < l.called; });
  return next == launches.end() ? nullptr : &*next;
}

}  // namespace

Duration slack(const ImportedTrace& trace) {
  return std::max(trace.resolution, Duration{0});
}

LaunchOrder::LaunchOrder(const ImportedTrace& trace, const ReconstructedTrace& result) {
  for (const StreamItemId id : result.items.ids()) {
    const StreamItem& item = result.items[id];
    if (!item.launched()) continue;
    const CallRow& call = trace.calls[item.call];
    all_.push_back(
        {.called = call.started, .thread = call.thread, .item = id, .stream = item.stream});
  }
  std::stable_sort(all_.begin(), all_.end(), [](const Launch& a, const Launch& b) {
    return a.called < b.called;
  });
  by_stream_.resize(result.streams.size());
  for (const Launch& launch : all_) {
    by_stream_[launch.stream].push_back(launch);
    by_thread_[launch.thread].push_back(launch);
  }
  for (const StreamId id : result.streams.ids()) {
    streams_[{result.streams[id].device, result.streams[id].stream}] = id;
  }
  for (const SyncRow& row : trace.synchronizations) rows_.emplace(row.correlation, &row);
  for (const CallRow& call : trace.calls) {
    if (call.kind == CallKind::record_event) recordings_.emplace(call.correlation, &call);
  }
}

const Launch* LaunchOrder::last_before(StreamId stream, Time when) const {
  return before(by_stream_[stream], when);
}

const Launch* LaunchOrder::first_after(StreamId stream, Time when) const {
  return after(by_stream_[stream], when);
}

const Launch* LaunchOrder::next_of(HostThreadId thread, Time when) const {
  const auto own = by_thread_.find(thread);
  const Launch* found = own == by_thread_.end() ? nullptr : after(own->second, when);
  return found != nullptr ? found : after(all_, when);
}

const Launch* LaunchOrder::last_of(HostThreadId thread, Time when) const {
  const auto own = by_thread_.find(thread);
  const Launch* found = own == by_thread_.end() ? nullptr : before(own->second, when);
  return found != nullptr ? found : before(all_, when);
}

StreamId LaunchOrder::stream(std::int32_t device, std::int64_t stream) const {
  const auto found = streams_.find({device, stream});
  return found == streams_.end() ? StreamId::none() : found->second;
}

const SyncRow* LaunchOrder::row(const CallRow& call) const {
  const auto found = call.correlation == 0 ? rows_.end() : rows_.find(call.correlation);
  return found == rows_.end() ? nullptr : found->second;
}

const CallRow* LaunchOrder::recording(std::uint64_t correlation) const {
  const auto found = correlation == 0 ? recordings_.end() : recordings_.find(correlation);
  return found == recordings_.end() ? nullptr : found->second;
}

}  // namespace reconstruction

std::span<const StreamDependency> ReconstructedTrace::dependencies_to(StreamItemId item) const {
  const auto first =
      std::lower_bound(dependencies.begin(),
                       dependencies.end(),
                       item,
                       [](const StreamDependency& t, StreamItemId i) { return t.to < i; });
  auto last = first;
  while (last != dependencies.end() && last->to == item) ++last;
  return {first, last};
}

ReconstructedTrace reconstruct(const ImportedTrace& trace) {
  ReconstructedTrace result;
  reconstruction::ItemMaker(trace, result).run();
  const reconstruction::LaunchOrder order(trace, result);
  reconstruction::find_ties(trace, order, result);
  reconstruction::find_host_steps(trace, order, result);
  return result;
}

}  // namespace schedlab
