// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "policies/registry.hpp"

#include <algorithm>
#include <vector>

namespace schedlab::testing {

/// The policies that make a plan for any graph: all that need no option, such as a file,
/// and no ranks.
[[nodiscard]] inline std::vector<PolicyInfo> planning_policies() {
  std::vector<PolicyInfo> result;
  for (const PolicyInfo& info : policies()) {
    const bool needs_option = std::any_of(
        info.options.begin(), info.options.end(), [](const OptionSpec& o) { return o.required; });
    if (!needs_option && !info.for_ranks) result.push_back(info);
  }
  return result;
}

}  // namespace schedlab::testing
