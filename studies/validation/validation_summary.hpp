// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "studies/validation/validation.hpp"

namespace schedlab {

/// Fills in what is said of all scenarios together about order, error budgets and kinds, from the
/// scenarios, groups, pairs and speed-ups that are there.
void summarize_validation(Validation& all);

}  // namespace schedlab
