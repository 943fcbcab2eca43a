// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "studies/scenario/components.hpp"
#include "studies/spec/grid.hpp"
#include "studies/spec/spec.hpp"

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace schedlab {

/// What scenarios are compared with: the same workload, machine and so on under the baseline policy
/// of the spec; where that policy has axes of its own, its shortest run.
class Baseline {
 public:
  /// nullopt when the spec names no baseline. Throws InputError if its policies do not include it,
  /// or if the policy is zipped with another axis so that there is nothing to compare.
  [[nodiscard]] static std::optional<Baseline> of(const Spec& spec, const Grid& grid);

  /// How the results call the baseline policy.
  [[nodiscard]] const std::string& label() const { return label_; }
  /// Its shortest run in the case of `scenario`; 0: none has a makespan there.
  [[nodiscard]] std::int64_t shortest(const std::vector<std::int64_t>& makespan_ps,
                                      std::uint64_t scenario) const;

 private:
  explicit Baseline(const Grid& grid) : grid_(&grid) {}

  const Grid* grid_;
  std::string label_;
  std::vector<std::uint64_t> alternatives_;  // of the axes that belong to the policy alone
};

}  // namespace schedlab
