// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "policies/plan_search.hpp"

#include <vector>

namespace schedlab {

/// The plans of all registered policies with their default options that can plan the problem,
/// shortest first, in the order of the registry among equals: of a pipeline those for ranks. Not
/// among them: ready-made plans. Never empty.
[[nodiscard]] std::vector<ScoredPlan> plans_of_policies(const Problem& problem, const PlanRun& run);

}  // namespace schedlab
