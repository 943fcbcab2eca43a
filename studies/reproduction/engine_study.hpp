// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "sim/base/interrupt.hpp"
#include "sim/sweep/table.hpp"
#include "studies/reproduction/engine_study_spec.hpp"

#include <cstdint>
#include <functional>
#include <vector>

namespace schedlab {

// What follows from published times of operator classes: rows of a table whose column `quantity`
// says what a row is. `fitted_on` says which networks' times the costs come from.
//
//   class_time     ms of one class (`class`) of a network on a `processor`; fitted on each pair of
//                  the other networks, "A+B"
//   step_time      s of its whole step, likewise
//   pair_median, pair_mean, pair_worst
//                  % error of the steps that a pair predicts
//   many_core      step time on the management core over that on the array
//   non_conv_share % of the array's step that is no convolution
//   table_...      the same worked out of the published tables alone, `fitted_on` "nothing":
//                  table_ratio (of a class, or "step"), table_share, table_coverage (% of the step
//                  that the timed classes cover), table_bandwidth (GB/s that the step's operators
//                  move on one core group)
//   fit_residual   % error of each class's time where all networks were fitted ("all")
//   rest_ratio     what the timed classes leave of the step, management core over array
//   framework_ms   what the framework takes for each operator by the largest rest_ratio
//                  (scaled_to_both of hw_models/engine_fit.hpp)
//   speed_up       of all core groups over one without split, by split, policy and scheduling_us.
//                  fitted_on "own": the network's own times (scaled_to of
//                  hw_models/engine_fit.hpp), by operator_share; "both": the same with the
//                  framework's time for each operator; "both_in_turn": one group after another
//                  spends that time; "all": of all networks; "machine": costs of the machine's file
//   best_speed_up, best_split
//                  over the splits above 1; split_gain: % that the best brings over none

/// Number of simulations, which is what takes time.
[[nodiscard]] std::uint64_t simulation_count(const EngineStudySpec& spec);

[[nodiscard]] const std::vector<Column>& engine_columns();
/// The values that occur, one list per column; empty for those that are no axis.
[[nodiscard]] std::vector<std::vector<Cell>> engine_axis_values(const EngineStudySpec& spec);

/// Throws InputError (unknown machine, workload or policy, options they do not have),
/// InfeasibleError if the times cannot be fitted, Interrupted when asked to stop.
[[nodiscard]] Table run_engine_study(const EngineStudySpec& spec,
                                     const StopFlag* stop,
                                     const std::function<void(std::uint64_t done)>& observer);

}  // namespace schedlab
