// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "policies/registry.hpp"
#include "sim/plan/policy.hpp"

#include <map>
#include <string>
#include <string_view>

namespace schedlab::testing {

/// The plan of the registered policy; options that are not given have their defaults.
[[nodiscard]] inline Plan plan_by(std::string_view policy,
                                  const Problem& problem,
                                  const std::map<std::string, OptionValue>& options = {}) {
  return make_policy(policy, options)->plan(problem);
}

}  // namespace schedlab::testing
