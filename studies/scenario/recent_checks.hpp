// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "sim/plan/check/plan_check_plain.hpp"
#include "sim/plan/plan_check.hpp"
#include "studies/scenario/recent_slots.hpp"

#include <cstddef>
#include <cstdint>
#include <memory>
#include <vector>

namespace schedlab {

/// The last plan of each policy in which the checker found nothing: an equal plan for the same
/// graph, on a machine in which all that the checker looks at is equal, is right as well. Of plans
/// of up to 4,096 tasks, and no more than 32 MiB. Not thread-safe.
class RecentChecks {
 public:
  /// What schedlab::check() finds in `plan`, made by the policy of this number.
  [[nodiscard]] std::vector<Finding> check(std::uint64_t number,
                                           const std::shared_ptr<const TaskGraph>& graph,
                                           const Platform& platform,
                                           const Plan& plan,
                                           const CheckOptions& options);
  /// How often the answer was known.
  [[nodiscard]] std::uint64_t known() const { return known_; }

 private:
  struct Entry {
    std::uint64_t number = 0;                // of the policy
    std::shared_ptr<const TaskGraph> graph;  // kept, so that no other gets its address
    checker::PlainFacts facts;
    Plan plan;
    std::size_t bytes = 0;
  };

  RecentSlots<Entry> entries_;
  std::uint64_t known_ = 0;
};

}  // namespace schedlab
