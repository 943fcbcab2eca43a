// SPDX-License-Identifier: Apache-2.0
// Internal to the plan checker: who holds how much when tasks run in launch order.
#pragma once

#include "sim/plan/check/plan_check_index.hpp"
#include "sim/plan/check/plan_check_report.hpp"

#include <vector>

namespace schedlab::checker {

/// Reports each device whose capacity is exceeded, once, at its peak. Life times as in TensorTable;
/// a tensor without a writer is an input that lives from its first reader on. A tensor is held by
/// the device of its first writer (of its first reader if it is persistent and never written). Cost
/// O(tasks + tensor uses).
void check_memory(const PlanIndex& index,
                  const std::vector<TaskId>& launch_order,
                  FindingList& findings);

}  // namespace schedlab::checker
