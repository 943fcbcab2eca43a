// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "workloads/traces/host_model.hpp"
#include "workloads/traces/imported_graphs.hpp"
#include "workloads/traces/replay_delays.hpp"

#include <map>
#include <vector>

namespace schedlab {

/// Waits that nothing in a trace explains, each longer than `unexplained_wait`. A replay keeps
/// them: something ran, or was waited for, that the profiler did not record.
///
/// An item, or a node of a graph, paused if it had been launched, all that it is known to need had
/// ended and all else that was launched before it and that it may have needed, and then devices
/// were idle for long (in all) before it started: so that it waited for no units, either. The host
/// paused if a call that waits returned so long after what it waited for, or if nothing is known
/// that it waited for.
class ReplayPauses {
 public:
  /// `until`: pauses of what began later are not those of the trace but the mean of what began
  /// before it and has the same name, behind something of the same name.
  ReplayPauses(const ImportedTrace& trace,
               const ReconstructedTrace& order,
               const LaunchDelays& launches,
               const ReplayDelays& delays,
               const std::vector<ImportedGraph>& graphs,
               const HostModel& host,
               Time until);

  /// Before an item; zero where there is none.
  [[nodiscard]] Duration before(StreamItemId item) const { return items_[item]; }
  /// Before a node of a graph that needs other nodes, in each launch of the graph, by place in its
  /// `launches`; empty if it does not pause in any of them.
  [[nodiscard]] const std::vector<Duration>& before_node(std::uint32_t graph,
                                                         std::uint32_t node) const;
  /// Pause of the host once what the step waits for has ended; zero where there is none.
  [[nodiscard]] Duration after(std::size_t step) const { return steps_[step]; }

 private:
  IdVector<StreamItemId, Duration> items_;
  std::map<std::pair<std::uint32_t, std::uint32_t>, std::vector<Duration>> nodes_;
  std::vector<Duration> steps_;
};

}  // namespace schedlab
