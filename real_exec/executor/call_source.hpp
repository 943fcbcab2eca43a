// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "sim/engine/call_source.hpp"
#include "sim/plan/plan.hpp"
#include "sim/plan/policy.hpp"

#include <functional>
#include <optional>
#include <string_view>

namespace schedlab::detail {

/// Where the host calls of a run come from, for executors.
struct CallSource {
  std::function<std::optional<OnlineStep>(const HostView&)> next;
  std::function<void(bool idle)> answer;  ///< of the query just made
};

/// The calls of the plan's one host. Answers of queries change nothing. `plan` must outlive it.
[[nodiscard]] CallSource calls_of(const Plan& plan);
/// What a policy decides call by call. `source` must outlive it.
[[nodiscard]] CallSource calls_of(PolicySource& source);

/// Throws InfeasibleError, which begins with `executor`, for a plan of several hosts.
void expect_one_host(const Plan& plan, std::string_view executor);

}  // namespace schedlab::detail
