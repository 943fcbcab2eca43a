// SPDX-License-Identifier: Apache-2.0
#include "workloads/traces/replay_pauses.hpp"

#include <algorithm>
#include <tuple>
#include <utility>

namespace schedlab {
namespace {

/// How long devices were idle, and what ended when.
class Activity {
 public:
  Activity(const ImportedTrace& trace, const ReconstructedTrace& order)
      : launched_(trace.device_rows.size(), Time{}) {
    Time busy{};
    Duration idle{0};
    for (const DeviceRow& row : trace.device_rows) {
      if (row.started > busy) {
        idle += row.started - busy;
        gaps_.push_back({busy, row.started, idle});
      }
      busy = std::max(busy, row.ended);
    }
    gaps_.push_back({busy, Time::max(), idle});
    for (const StreamItem& item : order.items) {
      if (!item.launched()) continue;
      for (std::uint32_t i = 0; i < item.row_count; ++i) {
        launched_[order.rows[item.first_row + i]] = trace.calls[item.call].started;
      }
    }
    for (std::uint32_t row = 0; row < trace.device_rows.size(); ++row) {
      by_end_.emplace_back(trace.device_rows[row].ended, row);
    }
    std::sort(by_end_.begin(), by_end_.end());
  }

  /// The wait of what started at `started`, had been launched at `called` and was ready at `ready`
  /// as far as the trace knows. Zero unless, once all had ended that was launched before it and
  /// that it may have waited for, devices were idle for long; `gap` lies between the wait and it.
  [[nodiscard]] Duration pause(Time called, Time ready, Time started, Duration gap) const {
    if (started - ready <= unexplained_wait) return Duration{0};
    Time over = ready;
    auto next = std::upper_bound(by_end_.begin(), by_end_.end(), std::pair{started, ~0U});
    while (next != by_end_.begin() && (--next)->first > ready) {
      if (launched_[next->second] > called) continue;
      over = next->first;
      break;
    }
    if (idle(over, started) <= unexplained_wait) return Duration{0};
    return std::max(Duration{0}, started - ready - gap);
  }

  [[nodiscard]] Duration idle(Time from, Time to) const {
    return idle_until(to) - idle_until(from);
  }

 private:
  struct Gap {
    Time begin{};
    Time end{};
    Duration idle{0};  // in all gaps up to this one's end
  };

  [[nodiscard]] Duration idle_until(Time when) const {
    const auto next = std::upper_bound(
        gaps_.begin(), gaps_.end(), when, [](Time t, const Gap& gap) { return t < gap.end; });
    const Duration before = next == gaps_.begin() ? Duration{0} : (next - 1)->idle;
    return next == gaps_.end() || when <= next->begin ? before : before + (when - next->begin);
  }

  std::vector<Gap> gaps_;
  std::vector<std::pair<Time, std::uint32_t>> by_end_;  // with the row
  std::vector<Time> launched_;                          // by row; Time{}: not known
};

/// What paused, and behind what: pauses of one sort are alike.
using Sort = std::tuple<int, std::uint32_t, std::uint32_t>;

/// Replaces what began at `until` or later by the mean of the same sort before it.
class Expectation {
 public:
  explicit Expectation(Time until) : until_(until) {}

  void add(const Sort& sort, Time began, Duration& pause) {
    if (until_ == Time::max()) return;
    if (began < until_) {
      auto& [sum, count] = known_[sort];
      sum += pause;
      ++count;
    } else {
      expected_.emplace_back(sort, &pause);
    }
  }

  void apply() const {
    for (const auto& [sort, pause] : expected_) {
      const auto found = known_.find(sort);
      *pause = found == known_.end() ? Duration{0} : found->second.first / found->second.second;
    }
  }

 private:
  Time until_;
  std::map<Sort, std::pair<Duration, std::int64_t>> known_;
  std::vector<std::pair<Sort, Duration*>> expected_;
};

std::uint32_t name_of(const ImportedTrace& trace,
                      const ReconstructedTrace& order,
                      StreamItemId id) {
  return id.valid() ? trace.device_rows[order.rows_of(id).front()].name.value()
                    : TextId::none().value();
}

IdVector<StreamItemId, Duration> item_pauses(const ImportedTrace& trace,
                                             const ReconstructedTrace& order,
                                             const LaunchDelays& launches,
                                             const ReplayDelays& delays,
                                             Time until) {
  const Activity activity(trace, order);
  IdVector<StreamItemId, Duration> result(order.items.size(), Duration{0});
  Expectation expectation(until);
  for (const auto& queue : order.queues) {
    Time free{};
    StreamItemId before;
    for (const StreamItemId id : queue) {
      const StreamItem& item = order.items[id];
      if (item.launched()) {
        Time ready = std::max(free, launches.reference(id) + launches.of(id));
        for (const StreamDependency& dependency : order.dependencies_to(id)) {
          ready = std::max(ready, order.items[dependency.from].ended + delays.event_latency);
        }
        result[id] =
            activity.pause(trace.calls[item.call].started, ready, item.started, delays.stream_gap);
        expectation.add({0, name_of(trace, order, before), name_of(trace, order, id)},
                        trace.calls[item.call].started,
                        result[id]);
      }
      free = std::max(free, item.ended + delays.stream_gap);
      before = id;
    }
  }
  expectation.apply();
  return result;
}

/// Of one node, by launch of its graph; empty if it pauses in none.
std::vector<Duration> node_pauses(const ImportedTrace& trace,
                                  const ReconstructedTrace& order,
                                  const ImportedGraph& graph,
                                  std::uint32_t node,
                                  const Activity& activity,
                                  const ReplayDelays& delays) {
  std::vector<Duration> result;
  bool any = false;
  for (const StreamItemId launch : graph.launches) {
    const auto rows = order.rows_of(launch);
    Time ready{};
    for (const std::uint32_t need : graph.needs[node]) {
      ready = std::max(ready, trace.device_rows[rows[need]].ended + delays.graph_node_gap);
    }
    const Time started = trace.device_rows[rows[node]].started;
    const StreamItem& item = order.items[launch];
    const Time called = item.launched() ? trace.calls[item.call].started : started;
    const Duration found = activity.pause(called, ready, started, delays.graph_node_gap);
    any = any || found > Duration{0};
    result.push_back(std::max(Duration{0}, started - ready - delays.graph_node_gap));
  }
  return any ? result : std::vector<Duration>{};
}

std::vector<Duration> host_pauses(const ImportedTrace& trace,
                                  const ReconstructedTrace& order,
                                  const ReplayDelays& delays,
                                  const HostModel& host,
                                  Time until) {
  const Activity activity(trace, order);
  std::vector<Time> ends;
  for (const DeviceRow& row : trace.device_rows) ends.push_back(row.ended);
  std::sort(ends.begin(), ends.end());
  std::vector<Duration> result(order.host.size(), Duration{0});
  Expectation expectation(until);
  std::uint32_t before = TextId::none().value();
  for (std::size_t step = 0; step < order.host.size(); ++step) {
    const HostStep& made = order.host[step];
    const CallRow& call = trace.calls[made.call];
    if (host.waits(step)) {
      Time over = call.started;
      if (made.item.valid()) {
        over = std::max(over, order.items[made.item].ended);
      } else if (made.kind == HostStepKind::synchronize_device) {
        const auto next = std::upper_bound(ends.begin(), ends.end(), call.ended);
        if (next != ends.begin()) over = std::max(over, *(next - 1));
      }
      // The host wakes up twice, and what it waits for in between has to be launched.
      const Duration own = 2 * delays.wake_up + delays.launch_latency;
      const Duration idle = made.kind == HostStepKind::wait_outside
                                ? call.ended - over
                                : activity.idle(over, call.ended);
      if (idle > unexplained_wait) result[step] = std::max(Duration{0}, call.ended - over - own);
      expectation.add({1, before, call.name.value()}, call.started, result[step]);
    }
    before = call.name.value();
  }
  expectation.apply();
  return result;
}

}  // namespace

ReplayPauses::ReplayPauses(const ImportedTrace& trace,
                           const ReconstructedTrace& order,
                           const LaunchDelays& launches,
                           const ReplayDelays& delays,
                           const std::vector<ImportedGraph>& graphs,
                           const HostModel& host,
                           Time until)
    : items_(item_pauses(trace, order, launches, delays, until)),
      steps_(host_pauses(trace, order, delays, host, until)) {
  const Activity activity(trace, order);
  for (std::uint32_t which = 0; which < graphs.size(); ++which) {
    const ImportedGraph& graph = graphs[which];
    for (std::uint32_t node = 0; node < graph.node_count(); ++node) {
      if (graph.needs[node].empty()) continue;
      std::vector<Duration> pauses = node_pauses(trace, order, graph, node, activity, delays);
      if (pauses.empty()) continue;
      Expectation expectation(until);
      for (std::size_t launch = 0; launch < pauses.size(); ++launch) {
        const Time called = order.items[graph.launches[launch]].started;
        expectation.add({2, which, node}, called, pauses[launch]);
      }
      expectation.apply();
      nodes_.emplace(std::pair{which, node}, std::move(pauses));
    }
  }
}

const std::vector<Duration>& ReplayPauses::before_node(std::uint32_t graph,
                                                       std::uint32_t node) const {
  static const std::vector<Duration> none;
  const auto found = nodes_.find({graph, node});
  return found == nodes_.end() ? none : found->second;
}

}  // namespace schedlab
