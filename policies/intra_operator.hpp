// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "policies/policy_info.hpp"

namespace schedlab {

/// Parallelism inside operators only: one operator at a time, on all core groups together, in
/// topological order. How far an operator spreads is the machine's (`units_per_kernel`), so that
/// the machine must let it: what it takes there is in the costs that policies see.
/// Errors: InfeasibleError if the costs of an operator leave units of its class idle by rule; names
/// the operator and the key to set. Cost: O(tasks + edges). Ties: lower task id first.
class IntraOperator final : public Policy {
 public:
  [[nodiscard]] std::string_view name() const override { return "intra_operator"; }
  [[nodiscard]] Plan plan(const Problem& problem) const override;
};

[[nodiscard]] PolicyInfo intra_operator_info();

}  // namespace schedlab
