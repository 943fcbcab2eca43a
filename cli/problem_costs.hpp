// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "cli/scenario.hpp"
#include "sim/machine/cost_model.hpp"

namespace schedlab {

/// Costs, bounds and steps of a problem that has its graph and its machine.
void set_costs(const CostModel& model, PreparedProblem& made);

/// The same, with the gaps of this problem. Where kernels were measured, the time of one is the
/// mean of its blocks, and its stream, or one that waits for its event, goes on after the last of
/// them: KernelProfile::last_block_wait times the mean time of the problem's kernels is added to
/// the gaps of its machine, as a device has one gap for all its kernels.
void set_costs_and_gaps(const CostModel& model, PreparedProblem& made);

}  // namespace schedlab
