// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "sim/launch/launch.hpp"
#include "sim/machine/cost_model.hpp"
#include "studies/scenario/prepared_problem.hpp"

#include <string>
#include <string_view>

namespace schedlab {

/// Costs, bounds and steps of a problem that has its graph and its machine.
void set_costs(const CostModel& model, PreparedProblem& made);

/// The same, with the gaps of this problem. Where kernels were measured, the time of one is the
/// mean of its blocks, and its stream, or one that waits for its event, goes on after the last of
/// them: KernelProfile::last_block_wait times the mean time of the problem's kernels is added to
/// the gaps of its machine, as a device has one gap for all its kernels.
void set_costs_and_gaps(const CostModel& model, PreparedProblem& made);

/// How note_on_durations() begins.
inline constexpr std::string_view durations_given = "the graph gives ";
inline constexpr std::string_view all_durations_given = "the graph gives all durations";
/// Says of how many tasks the graph gives the durations, where the machine could have estimated
/// them: they are the same on every machine. Empty: of none.
[[nodiscard]] std::string note_on_durations(const TaskGraph& graph, const Platform& platform);
/// What a reader of a result must know: that, that device graphs are launched for nothing, and that
/// tasks of several kernels do not share their device by kernels. Empty: nothing.
[[nodiscard]] std::string note_on(const PreparedProblem& problem, LaunchMode launch);

}  // namespace schedlab
