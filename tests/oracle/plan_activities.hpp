// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "sim/plan/policy.hpp"
#include "tests/oracle/simgrid_dag.hpp"

#include <vector>

namespace schedlab::test {

/// Where the parts of a plan are among the activities of a SimGridDag.
struct PlanActivities {
  std::vector<std::uint32_t> tasks;        ///< by launch
  std::vector<SimGridDag::Set> submitted;  ///< by launch: the call returned when all these ended
  SimGridDag::Set host_end;                ///< the host's program ended when all these ended
};

/// Adds a plan of one host thread, device and unlimited units to `dag`.
///
/// Each stream is a resource that runs one task at a time, the host thread is one that runs the
/// costs of its calls, and each latency (launch, event, gap between tasks) is an activity on a
/// resource without competition. Left out, because an activity graph cannot say it: connections
/// (start after start), queries and synchronizations (what the host does next depends on them).
[[nodiscard]] PlanActivities add_plan(SimGridDag& dag, const Problem& problem, const Plan& plan);

}  // namespace schedlab::test
