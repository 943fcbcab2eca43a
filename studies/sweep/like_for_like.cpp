// SPDX-License-Identifier: Apache-2.0
#include "studies/sweep/like_for_like.hpp"

#include "sim/base/error.hpp"

#include <algorithm>
#include <set>
#include <stdexcept>

namespace schedlab {
namespace {

constexpr std::uint64_t max_examined = 10'000;  // alternatives, as in Components::check_all()

bool valid(const ScenarioResult& result) {
  return !result.failed && result.findings == 0;
}

}  // namespace

ResultLayout result_layout(const Components& components, const Grid& grid) {
  ResultLayout layout{.sampled = grid.part_value(Part::variability, 0).has_value()};
  if (!components.compares_like_for_like()) return layout;
  const std::uint64_t policies = std::min(grid.own_count(Part::policy), max_examined);
  std::set<Granularity> wanted;
  for (std::uint64_t i = 0; i < policies; ++i) {
    const std::uint64_t scenario = grid.with_part(0, Part::policy, i);
    wanted.insert(components.policy(grid.part_index(scenario, Part::policy))->granularity());
  }
  if (wanted.size() < 2) return layout;
  const std::uint64_t workloads = std::min(grid.part_count(Part::workload), max_examined);
  for (std::uint64_t i = 0; i < workloads; ++i) {
    if (!components.follows_policy(i)) continue;
    layout.granularities.assign(wanted.begin(), wanted.end());
    break;
  }
  return layout;
}

void LikeForLikeRuns::read_workload(std::uint64_t workload) {
  if (workload == workload_) return;
  const Components& components = space_.components();
  fixed_ = components.granularity(workload, Granularity::coarse);
  left_open_ = fixed_ != components.granularity(workload, Granularity::fine);
  workload_ = workload;
}

/// Whether or not this policy can run there: another one of the case may.
LowerBounds LikeForLikeRuns::graph_bounds(std::uint64_t scenario, Granularity granularity) {
  return space_.scenario(scenario, {.granularity = granularity}).problem->bounds;
}

void LikeForLikeRuns::add_to(ScenarioResult& result,
                             ScenarioRunner& runner,
                             std::uint64_t scenario,
                             bool check) {
  if (result.failed) return;
  LikeForLike& like = result.like_for_like;
  like.bounds = result.summary.bounds.of_problem();
  like.makespans.assign(layout_.granularities.size(), Duration{0});
  read_workload(space_.grid().part_index(scenario, Part::workload));
  like.granularity = left_open_ ? std::string{granularity_name(result.granularity)} : fixed_;
  if (!left_open_) return;
  for (std::size_t i = 0; i < layout_.granularities.size(); ++i) {
    const Granularity granularity = layout_.granularities[i];
    if (granularity == result.granularity) {
      if (valid(result)) like.makespans[i] = result.summary.makespan;
      continue;
    }
    try {
      const ScenarioResult other = runner.run(scenario, check, {.granularity = granularity}, false);
      if (valid(other)) like.makespans[i] = other.summary.makespan;
      const LowerBounds bounds =
          other.failed ? graph_bounds(scenario, granularity) : other.summary.bounds.of_problem();
      if (bounds.largest() < like.bounds.largest()) like.bounds = bounds;
    } catch (const Interrupted&) {
      throw;
    } catch (const std::runtime_error&) {
      // Not even the graph can be made so: no scenario of this case can have it.
    }
  }
}

}  // namespace schedlab
