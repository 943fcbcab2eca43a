// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "studies/reproduction/outcome.hpp"

#include <string>
#include <vector>

namespace schedlab {

/// What the runs show of a published point that they do not meet: which open axes move the value
/// most, and what limits each side of the comparison. Statistics, which are no cause; `effects` by
/// falling effect.
[[nodiscard]] std::string statistics_of(const Table& table,
                                        const Measure& measure,
                                        const PublishedPoint& point,
                                        const ClaimSamples& found,
                                        const std::vector<AxisEffect>& effects);

}  // namespace schedlab
