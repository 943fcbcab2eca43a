// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "sim/plan/policy.hpp"

#include <algorithm>
#include <array>
#include <cstdint>
#include <string_view>

namespace schedlab {

/// Times that no schedule (the first two) or no run of a plan (the third) can beat.
struct LowerBounds {
  Duration critical_path{
      0};            ///< longest path of the graph, each task on the device where it is shortest
  Duration work{0};  ///< unit-time of all tasks over the units of their class; 0 if unlimited
  Duration host_issue{0};  ///< sum of the call costs of the busiest host thread

  [[nodiscard]] Duration largest() const { return std::max({critical_path, work, host_issue}); }
  /// The word of the largest: "critical_path", "work" or "host_issue"; the first among equals.
  [[nodiscard]] std::string_view largest_name() const;
  friend bool operator==(const LowerBounds&, const LowerBounds&) = default;
};

/// The two bounds that depend on graph and costs alone; host_issue stays 0. Compute once per
/// problem. With several devices each task counts as if it ran where it needs least. Cost   O(tasks
/// + edges), times the number of devices.
[[nodiscard]] LowerBounds graph_lower_bounds(const Problem& problem);

/// What one call of each kind costs a host thread (the one that calls the driver, if the front end
/// has its own); of a launch: per kernel; of a graph: without its
/// nodes.
[[nodiscard]] std::array<Duration, host_call_kind_count> call_costs(const Host& host);
/// Host time of `launches` kernel launches in the front end, where that has a thread of its own.
[[nodiscard]] Duration front_end_time(const Host& host, std::int64_t launches);

/// What such a call costs per node of its graph; 0 for calls without one.
[[nodiscard]] Duration graph_node_cost(const HostCosts& costs, HostCallKind kind);

/// What the calls of one host thread cost, without the times it is blocked or sleeps.
[[nodiscard]] Duration host_issue_time(const Problem& problem, const Plan& plan, HostId host);

}  // namespace schedlab
