// SPDX-License-Identifier: Apache-2.0
#include "workloads/traces/replay_delays.hpp"

#include "workloads/traces/imported_graphs.hpp"

#include <algorithm>
#include <optional>

namespace schedlab {
namespace {

constexpr std::size_t min_samples = 3;  // assumed: fewer say nothing of a sort

Duration median(std::vector<Duration> values) {
  if (values.empty()) return Duration{0};
  const std::size_t half = values.size() / 2;
  const auto middle = values.begin() + static_cast<std::ptrdiff_t>(half);
  std::nth_element(values.begin(), middle, values.end());
  if (values.size() % 2 != 0) return *middle;
  return (*middle + *std::max_element(values.begin(), middle)) / 2;
}

/// Without the lowest and the highest twentieth. The mean, as gaps add up over a full queue, and
/// many profilers round them to whole microseconds, of which the median is one.
Duration trimmed_mean(std::vector<Duration> values) {
  if (values.empty()) return Duration{0};
  std::sort(values.begin(), values.end());
  const std::size_t cut = values.size() / 20;
  Duration sum{0};
  for (std::size_t i = cut; i < values.size() - cut; ++i) sum += values[i];
  return sum / static_cast<std::int64_t>(values.size() - 2 * cut);
}

/// What an item of a stream had to wait for, the host apart.
struct Before {
  std::optional<Time> in_stream;  ///< the end of all items before it
  std::optional<Time> by_event;   ///< the last end among its dependencies
};

template <class Visitor>
void for_each_item(const ReconstructedTrace& order, Visitor visit) {
  for (const auto& queue : order.queues) {
    std::optional<Time> ended;
    for (const StreamItemId id : queue) {
      Before before{.in_stream = ended, .by_event = {}};
      for (const StreamDependency& dependency : order.dependencies_to(id)) {
        const Time end = order.items[dependency.from].ended;
        before.by_event = before.by_event ? std::max(*before.by_event, end) : end;
      }
      visit(id, before);
      ended = ended ? std::max(*ended, order.items[id].ended) : order.items[id].ended;
    }
  }
}

bool queued_behind(const std::optional<Time>& end, Time launched) {
  // assumed: what ended this long after the launch had returned was what the item waited for
  constexpr Duration margin = std::chrono::microseconds{20};
  return end && *end > launched + margin;
}

struct HostWaitSamples {
  std::vector<Duration> wake_ups;  // of calls that waited
  std::vector<Duration> calls;     // of those that did not
};

HostWaitSamples host_waits(const ImportedTrace& trace,
                           const ReconstructedTrace& order,
                           Time until) {
  HostWaitSamples samples;
  for (const HostStep& step : order.host) {
    if (step.kind != HostStepKind::synchronize_item) continue;
    const CallRow& call = trace.calls[step.call];
    const Time ended = order.items[step.item].ended;
    if (call.ended >= until || ended > call.ended) continue;
    const bool waited = ended > call.started;
    const Duration rest = call.ended - std::max(ended, call.started);
    if (rest <= unexplained_wait) (waited ? samples.wake_ups : samples.calls).push_back(rest);
  }
  return samples;
}

/// The calls that launch items, graphs or not.
Duration launch_call(const ImportedTrace& trace,
                     const ReconstructedTrace& order,
                     bool graphs,
                     Time until) {
  std::vector<Duration> calls;
  for (const StreamItemId id : order.items.ids()) {
    const StreamItem& item = order.items[id];
    if (!item.launched() || item.graph != graphs || item.holds_host) continue;
    const CallRow& call = trace.calls[item.call];
    if (call.ended < until) calls.push_back(call.ended - call.started);
  }
  return median(std::move(calls));
}

}  // namespace

LaunchDelays::LaunchDelays(const ImportedTrace& trace, const ReconstructedTrace& order, Time until)
    : trace_(trace), order_(order) {
  std::map<Sort, std::vector<Duration>> samples;
  std::vector<Duration> all;
  std::vector<Duration> calls;
  // assumed: an item this much later than what it may have waited for did not wait for it
  constexpr Duration clear = std::chrono::microseconds{3};
  for_each_item(order, [&](StreamItemId id, const Before& before) {
    const StreamItem& item = order.items[id];
    if (!item.launched() || !before.in_stream || item.started >= until) return;
    const Time last = std::max(*before.in_stream, before.by_event.value_or(Time::min()));
    if (last >= reference(id) || last > item.started - clear) return;
    const Duration delay = item.started - reference(id);
    for (const Sort& sort : sorts(id)) samples[sort].push_back(delay);
    if (item.graph || item.holds_host) return;
    all.push_back(delay);
    calls.push_back(trace.calls[item.call].ended - trace.calls[item.call].started);
  });
  for (const auto& [sort, delays] : samples) {
    if (delays.size() >= min_samples) delays_.emplace(sort, median(delays));
  }
  typical_ = std::max(median(all), Duration{0});
  typical_call_ = median(calls);
  samples_ = all.size();
}

bool LaunchDelays::from_begin(StreamItemId item) const {
  return order_.items[item].holds_host || order_.items[item].early;
}

Time LaunchDelays::reference(StreamItemId item) const {
  const CallRow& call = trace_.calls[order_.items[item].call];
  return from_begin(item) ? call.started : call.ended;
}

std::vector<LaunchDelays::Sort> LaunchDelays::sorts(StreamItemId id) const {
  const StreamItem& item = order_.items[id];
  const TextId call = trace_.calls[item.call].name;
  std::vector<Sort> result;
  if (!item.graph) {
    result.emplace_back(from_begin(id), call, trace_.device_rows[order_.rows_of(id).front()].name);
  }
  result.emplace_back(from_begin(id), call, TextId::none());
  if (!item.graph) result.emplace_back(from_begin(id), TextId::none(), TextId::none());
  return result;
}

Duration LaunchDelays::of(StreamItemId id) const {
  const StreamItem& item = order_.items[id];
  if (!item.launched()) return Duration{0};
  for (const Sort& sort : sorts(id)) {
    if (const auto found = delays_.find(sort); found != delays_.end()) return found->second;
  }
  return from_begin(id) ? typical_call_ + typical_ : typical_;
}

ReplayDelays fit_delays(const ImportedTrace& trace,
                        const ReconstructedTrace& order,
                        const LaunchDelays& launches,
                        Time until) {
  std::vector<Duration> gaps;
  std::vector<Duration> events;
  for_each_item(order, [&](StreamItemId id, const Before& before) {
    const StreamItem& item = order.items[id];
    if (!item.launched() || item.started >= until) return;
    const Time launched = launches.reference(id);
    const bool event_last =
        before.by_event && *before.by_event > before.in_stream.value_or(Time::min());
    if (event_last) {
      if (queued_behind(before.by_event, launched))
        events.push_back(item.started - *before.by_event);
    } else if (queued_behind(before.in_stream, launched) && item.started >= *before.in_stream) {
      gaps.push_back(item.started - *before.in_stream);
    }
  });
  const HostWaitSamples waits = host_waits(trace, order, until);
  std::vector<Duration> nodes;
  for (const ImportedGraph& graph : imported_graphs(trace, order)) {
    collect_node_gaps(trace, order, graph, until, nodes);
  }
  ReplayDelays result{.launch_latency = launches.typical(),
                      .stream_gap = trimmed_mean(gaps),
                      .event_latency = std::max(median(events), Duration{0}),
                      .graph_node_gap = std::max(trimmed_mean(nodes), Duration{0}),
                      .wake_up = median(waits.wake_ups),
                      .synchronize = median(waits.calls),
                      .launch_call = launch_call(trace, order, false, until),
                      .graph_call = launch_call(trace, order, true, until),
                      .latencies = launches.samples(),
                      .gaps = gaps.size(),
                      .events = events.size(),
                      .nodes = nodes.size(),
                      .wake_ups = waits.wake_ups.size()};
  if (events.empty()) result.event_latency = result.stream_gap;
  return result;
}

}  // namespace schedlab
