// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "sim/plan/plan_check.hpp"

#include <string>
#include <vector>

namespace schedlab {

/// A line for each of the first ten findings, "PREFIXkind: message", and one for how many more
/// there are; empty without findings. No line break at the end.
[[nodiscard]] std::string findings_text(const std::vector<Finding>& findings,
                                        const std::string& prefix);

/// For a plan that broke off a run: throws InfeasibleError with the findings and with `reason`,
/// what broke it off (may be empty). Does nothing without findings: then the plan is not at fault.
void expect_runnable(const std::vector<Finding>& findings, const std::string& reason);

}  // namespace schedlab
