// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "sim/plan/plan.hpp"

#include <optional>
#include <span>

namespace schedlab {

/// How far decisions differ from predicted ones: the share of tasks that come behind another task
/// on their stream than predicted (or first on it, and were not). Streams may have changed their
/// numbers. Both plans launch the same tasks, one by one.
[[nodiscard]] double changed_decisions(const Plan& predicted, const Plan& decided);

/// The median over plans that were decided while they ran; nullopt: none was.
[[nodiscard]] std::optional<double> changed_decisions(const Plan& predicted,
                                                      std::span<const Plan> decided);

}  // namespace schedlab
