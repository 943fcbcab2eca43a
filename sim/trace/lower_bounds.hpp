// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "sim/bounds/witness.hpp"
#include "sim/plan/policy.hpp"

#include <array>
#include <cstdint>
#include <span>
#include <string_view>
#include <vector>

namespace schedlab {

/// Times that no run can beat: host_issue no run of one plan, all others no run of any plan of
/// their class. 0: none was looked for, or nothing is limited.
struct LowerBounds {
  Duration critical_path{0};  ///< longest path of the graph, without launches and delays
  Duration work{0};           ///< unit-time of all tasks over the units of their class
  // The ladder of sim/bounds/, by kind.
  Duration latency_path{0};
  Duration host_launch{0};
  Duration subset{0};
  Duration memory{0};
  Duration network{0};
  Duration energetic{0};
  Duration host_issue{0};  ///< sum of the call costs of the busiest host thread
  PlanClass plans{};       ///< of which the ladder speaks; its host threads are counted

  [[nodiscard]] Duration largest() const;
  /// Its word: that of its member; the first among equals.
  [[nodiscard]] std::string_view largest_name() const;
  /// Without what holds for one plan only.
  [[nodiscard]] LowerBounds of_problem() const;
  /// Without what does not hold for this plan.
  [[nodiscard]] LowerBounds of_plan(const Plan& plan) const;
  friend bool operator==(const LowerBounds&, const LowerBounds&) = default;
};

/// A bound by its word.
struct NamedBound {
  std::string_view name;
  Duration LowerBounds::*value;
};
/// In the order of the members.
[[nodiscard]] std::span<const NamedBound> named_bounds();

/// The two bounds that depend on graph and costs alone; all others stay 0. Compute once per
/// problem. With several devices each task counts as if it ran where it needs least. Cost   O(tasks
/// + edges), times the number of devices.
[[nodiscard]] LowerBounds graph_lower_bounds(const Problem& problem);

/// Puts the bounds of the ladder into `bounds`.
void set_ladder(LowerBounds& bounds,
                const BoundProblem& on,
                const std::vector<BoundWitness>& ladder);

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
