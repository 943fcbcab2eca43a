// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "cli/components.hpp"
#include "cli/grid.hpp"
#include "cli/spec.hpp"

#include <cstdint>
#include <optional>
#include <vector>

namespace schedlab {

/// Which scenario another one is compared with: the same workload, machine and so on under the
/// baseline policy of the spec.
class Baseline {
 public:
  /// nullopt when the spec names no baseline. Throws InputError if its policies do not include it,
  /// or if the policy is zipped with another axis so that there is nothing to compare.
  [[nodiscard]] static std::optional<Baseline> of(const Spec& spec, const Grid& grid);

  [[nodiscard]] std::uint64_t scenario_for(std::uint64_t scenario) const {
    return grid_->with_part(scenario, Part::policy, alternative_);
  }

 private:
  Baseline(const Grid& grid, std::uint64_t alternative) : grid_(&grid), alternative_(alternative) {}

  const Grid* grid_;
  std::uint64_t alternative_;
};

/// Baseline's makespan over this one's; 0 where either is missing (0).
[[nodiscard]] double speed_up(const std::vector<std::int64_t>& makespan_ps,
                              const Baseline& baseline,
                              std::uint64_t scenario);

}  // namespace schedlab
