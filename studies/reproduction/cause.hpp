// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "studies/reproduction/outcome.hpp"

#include <string>
#include <vector>

namespace schedlab {

/// Why samples do not meet a published point, in sentences made of the runs themselves: which open
/// axes decide, and what limits each side of the comparison where the point is not met. It names
/// what the numbers show and no more; `effects` by falling effect.
[[nodiscard]] std::string cause_of(const Table& table,
                                   const Measure& measure,
                                   const PublishedPoint& point,
                                   const ClaimSamples& found,
                                   const std::vector<AxisEffect>& effects);

}  // namespace schedlab
