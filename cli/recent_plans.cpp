// SPDX-License-Identifier: Apache-2.0
#include "cli/recent_plans.hpp"

#include <algorithm>
#include <utility>

namespace schedlab {
namespace {

constexpr std::size_t most_plans = 4096;
constexpr std::size_t most_tasks = 4096;
constexpr std::size_t most_plan_bytes = std::size_t{32} << 20U;

bool lasts_as_long(const std::vector<Duration>& durations, const CostTable& costs) {
  for (std::uint32_t i = 0; i < durations.size(); ++i) {
    if (durations[i] != costs.duration(TaskId{i})) return false;
  }
  return true;
}

}  // namespace

void RecentPlans::make_room(std::size_t bytes) {
  if (entries_.empty() || bytes_ + bytes > most_plan_bytes) {
    entries_.assign(most_plans, Entry{});
    bytes_ = 0;
  }
  bytes_ += bytes;  // what is replaced is not taken off: that only empties the table sooner
}

Plan RecentPlans::plan(std::uint64_t number,
                       const Policy& policy,
                       const std::shared_ptr<const TaskGraph>& graph,
                       const Problem& problem) {
  if (graph->task_count() > most_tasks) return policy.plan(problem);
  if (!entries_.empty()) {
    const Entry& entry = entries_[number % most_plans];
    if (entry.graph == graph && entry.number == number &&
        lasts_as_long(entry.durations, problem.costs)) {
      return entry.plan;
    }
  }
  Plan plan = policy.plan(problem);
  make_room(plan.memory_bytes() + graph->task_count() * sizeof(Duration));
  entries_[number % most_plans] = {
      .number = number, .graph = graph, .durations = problem.costs.durations().raw(), .plan = plan};
  return plan;
}

}  // namespace schedlab
