// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "policies/policy_info.hpp"

#include <map>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

namespace schedlab {

/// All policies, in the order of the manual.
[[nodiscard]] const std::vector<PolicyInfo>& policies();

/// Throws InputError with the closest spelling.
[[nodiscard]] const PolicyInfo& find_policy(std::string_view name);

/// A policy with its knobs; those not given have their defaults.
/// Throws InputError for an unknown policy or option, a wrong type, range or word; its pointer is
/// "/name" or "/OPTION", for the caller to complete.
[[nodiscard]] std::unique_ptr<Policy> make_policy(
    std::string_view name, const std::map<std::string, OptionValue>& options = {});

}  // namespace schedlab
