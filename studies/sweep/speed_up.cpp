// SPDX-License-Identifier: Apache-2.0
#include "studies/sweep/speed_up.hpp"

#include "sim/base/error.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <set>

namespace schedlab {

std::optional<Baseline> Baseline::of(const Spec& spec, const Grid& grid) {
  if (spec.baseline.empty()) return std::nullopt;
  const Components components(spec, grid);
  Baseline baseline(grid);
  std::set<std::string> names;
  for (std::uint64_t i = 0; i < grid.own_count(Part::policy); ++i) {
    const std::uint64_t scenario = grid.with_part(0, Part::policy, i);
    const std::uint64_t policy = grid.part_index(scenario, Part::policy);
    const std::string name = components.policy_name(policy);
    names.insert(name);
    if (name != spec.baseline) continue;
    if (baseline.alternatives_.empty()) baseline.label_ = grid.part_label(Part::policy, policy);
    baseline.alternatives_.push_back(i);
  }
  if (!baseline.alternatives_.empty()) return baseline;
  throw InputError({.file = spec.file,
                    .pointer = "/baseline",
                    .found = fmt::format("\"{}\"", spec.baseline),
                    .expected = fmt::format("a policy of this spec: {}", fmt::join(names, ", ")),
                    .hint =
                        "the baseline has to run on every workload and machine, so it must be an "
                        "unzipped value of \"policy\""});
}

std::int64_t Baseline::shortest(const std::vector<std::int64_t>& makespan_ps,
                                std::uint64_t scenario) const {
  std::int64_t shortest = 0;
  for (const std::uint64_t alternative : alternatives_) {
    const std::int64_t candidate =
        makespan_ps[grid_->with_part(scenario, Part::policy, alternative)];
    if (candidate > 0 && (shortest == 0 || candidate < shortest)) shortest = candidate;
  }
  return shortest;
}

}  // namespace schedlab
