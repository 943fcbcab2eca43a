// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "workloads/traces/reconstruct.hpp"

#include <cstddef>
#include <map>
#include <tuple>
#include <vector>

namespace schedlab {

/// What a device and its driver add between the recorded calls and the recorded work, read off a
/// trace: every figure over the items that waited for nothing else last.
struct ReplayDelays {
  Duration launch_latency{0};  ///< median, from the return of a launch to its start
  Duration stream_gap{0};      ///< mean, between items of a stream that were both waiting
  Duration event_latency{0};   ///< median, from the end of an item to what waits for its event
  Duration graph_node_gap{0};  ///< mean, from a node's end to the first node that needs it
  Duration wake_up{0};  ///< median, from what the host waits for to the return of the call, where
                        ///< that is no longer than `unexplained_wait`
  Duration synchronize{0};  ///< median, a synchronisation that finds nothing to wait for; likewise
  Duration launch_call{0};  ///< median, the call that launches one kernel
  Duration graph_call{0};   ///< median, the call that launches a device graph; 0: there is none
  std::size_t latencies = 0;  ///< samples of each
  std::size_t gaps = 0;
  std::size_t events = 0;
  std::size_t nodes = 0;
  std::size_t wake_ups = 0;
};

/// When items reach their stream, as far as the host decides it: the reference time of an item's
/// launch plus the median delay of launches of its sort. The sort is the name of the call and of
/// the activity, where that was seen three times, else the name of the call, else any.
class LaunchDelays {
 public:
  /// Learns from items that started before `until` and found their stream idle.
  LaunchDelays(const ImportedTrace& trace, const ReconstructedTrace& order, Time until);

  /// Median over all sorts: the device's launch latency; at least 0.
  [[nodiscard]] Duration typical() const { return typical_; }
  [[nodiscard]] std::size_t samples() const { return samples_; }
  /// From the item's reference time (see reference()) to its arrival; may be negative, where the
  /// work begins before the call returns. 0 of an item without a launch.
  [[nodiscard]] Duration of(StreamItemId id) const;
  /// What the delay of an item counts from: the return of its call; of a copy that holds the host,
  /// and of a graph that begins before its call returns, the begin.
  [[nodiscard]] Time reference(StreamItemId item) const;

 private:
  using Sort = std::tuple<bool, TextId, TextId>;  // counts from the begin, call, activity
  [[nodiscard]] bool from_begin(StreamItemId item) const;
  [[nodiscard]] std::vector<Sort> sorts(StreamItemId id) const;

  const ImportedTrace& trace_;
  const ReconstructedTrace& order_;
  std::map<Sort, Duration> delays_;
  Duration typical_{0};
  Duration typical_call_{0};
  std::size_t samples_ = 0;
};

/// Fits the delays to the items that started before `until`.
[[nodiscard]] ReplayDelays fit_delays(const ImportedTrace& trace,
                                      const ReconstructedTrace& order,
                                      const LaunchDelays& launches,
                                      Time until = Time::max());

}  // namespace schedlab
