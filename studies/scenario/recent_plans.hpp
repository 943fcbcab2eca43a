// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "sim/plan/plan.hpp"
#include "sim/plan/plan_builder.hpp"
#include "sim/plan/policy.hpp"
#include "studies/scenario/recent_slots.hpp"

#include <cstddef>
#include <cstdint>
#include <memory>
#include <vector>

namespace schedlab {

/// The last plan of each policy, all of which plan by the graph and the durations of tasks alone
/// (PolicyInfo::plans_by_durations): in a sweep over latencies, call costs or sharing models it is
/// planned once. Where durations differ, a PlacingPolicy only places the tasks, if it does not by
/// the graph alone: if all are where they were, so is the plan. Of graphs of up to 4,096 tasks, and
/// no more than 32 MiB. Not thread-safe.
class RecentPlans {
 public:
  /// What `policy`, known by its number, plans for the problem, of which `graph` is the graph.
  /// Valid until the next call. Throws what it throws.
  [[nodiscard]] const Plan& plan(std::uint64_t number,
                                 const Policy& policy,
                                 const std::shared_ptr<const TaskGraph>& graph,
                                 const Problem& problem);

 private:
  struct Entry {
    std::uint64_t number = 0;                // of the policy
    std::shared_ptr<const TaskGraph> graph;  // kept, so that no other gets its address
    std::vector<Duration> durations;
    Placement placement;  // of a PlacingPolicy
    Plan plan;
    std::size_t bytes = 0;
  };

  RecentSlots<Entry> entries_;
  Plan unkept_;  // the last one of a large graph
};

}  // namespace schedlab
