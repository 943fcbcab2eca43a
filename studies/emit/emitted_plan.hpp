// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "sim/base/interrupt.hpp"
#include "sim/base/units.hpp"
#include "sim/plan/plan.hpp"
#include "studies/scenario/prepared_problem.hpp"
#include "workloads/models/recurrent/recurrent.hpp"

#include <memory>
#include <optional>
#include <string>

namespace schedlab {

/// A plan with all that a program that runs it must say and know.
struct EmittedPlan {
  std::string title;  ///< name, policy and machine of the scenario
  std::string machine;
  std::shared_ptr<const PreparedProblem> problem;
  Plan plan;
  Duration makespan{0};                    ///< simulated
  std::optional<RecurrentSpec> recurrent;  ///< what the graph is, if it is a recurrent network

  [[nodiscard]] const TaskGraph& graph() const { return *problem->graph; }
};

/// The plan of the one scenario of a spec; of a folder that simulate or execute left (run.json) its
/// plan.json; with `plan_file` the plan of that file, for the scenario's graph. Simulated, checked.
/// Throws InputError; InfeasibleError for a plan with findings, for what no single host thread can
/// do on one device, and what making the scenario throws; Interrupted when asked to stop.
[[nodiscard]] EmittedPlan load_emitted_plan(const std::string& input,
                                            const std::string& plan_file,
                                            const StopFlag* stop = nullptr);
/// The same for any number of devices and ranks.
[[nodiscard]] EmittedPlan load_checked_plan(const std::string& input,
                                            const std::string& plan_file,
                                            const StopFlag* stop = nullptr);

/// Tasks in the order in which the host launches them.
[[nodiscard]] std::vector<TaskId> launch_order(const Plan& plan);

}  // namespace schedlab
