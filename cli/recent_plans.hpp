// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "sim/plan/plan.hpp"
#include "sim/plan/policy.hpp"

#include <cstddef>
#include <cstdint>
#include <memory>
#include <vector>

namespace schedlab {

/// The last plan of each policy, all of which plan by the graph and the durations of tasks alone
/// (PolicyInfo::plans_by_durations): in a sweep over latencies, call costs or sharing models it is
/// planned once. Of graphs of up to 4,096 tasks, and no more than 32 MiB. Not thread-safe.
class RecentPlans {
 public:
  /// What `policy`, known by its number, plans for the problem, of which `graph` is the graph.
  /// Throws what it throws.
  [[nodiscard]] Plan plan(std::uint64_t number,
                          const Policy& policy,
                          const std::shared_ptr<const TaskGraph>& graph,
                          const Problem& problem);

 private:
  struct Entry {
    std::uint64_t number = 0;                // of the policy
    std::shared_ptr<const TaskGraph> graph;  // kept, so that no other gets its address
    std::vector<Duration> durations;
    Plan plan;
  };

  void make_room(std::size_t bytes);

  std::vector<Entry> entries_;  // policy number modulo their number
  std::size_t bytes_ = 0;
};

}  // namespace schedlab
