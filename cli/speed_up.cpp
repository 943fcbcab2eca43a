// SPDX-License-Identifier: Apache-2.0
#include "cli/speed_up.hpp"

#include "sim/base/error.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <set>

namespace schedlab {

std::optional<Baseline> Baseline::of(const Spec& spec, const Grid& grid) {
  if (spec.baseline.empty()) return std::nullopt;
  const Components components(spec, grid);
  std::set<std::string> names;
  for (std::uint64_t i = 0; i < grid.own_count(Part::policy); ++i) {
    const std::uint64_t scenario = grid.with_part(0, Part::policy, i);
    const std::string name = components.policy_name(grid.part_index(scenario, Part::policy));
    if (name == spec.baseline) return Baseline(grid, i);
    names.insert(name);
  }
  throw InputError({.file = spec.file,
                    .pointer = "/baseline",
                    .found = fmt::format("\"{}\"", spec.baseline),
                    .expected = fmt::format("a policy of this spec: {}", fmt::join(names, ", ")),
                    .hint =
                        "the baseline has to run on every workload and machine, so it must be an "
                        "unzipped value of \"policy\""});
}

double speed_up(const std::vector<std::int64_t>& makespan_ps,
                const Baseline& baseline,
                std::uint64_t scenario) {
  const std::int64_t own = makespan_ps[scenario];
  const std::int64_t reference = makespan_ps[baseline.scenario_for(scenario)];
  return own > 0 && reference > 0 ? static_cast<double>(reference) / static_cast<double>(own) : 0.0;
}

}  // namespace schedlab
