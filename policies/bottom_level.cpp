// SPDX-License-Identifier: Apache-2.0
#include "policies/bottom_level.hpp"

#include "policies/option_specs.hpp"
#include "sim/graph/levels.hpp"

namespace schedlab {

PlanBuilder BottomLevel::place(const Problem& problem) const {
  const Urgency rank = urgency_of(upward_rank(problem.graph, problem.costs.durations()));
  return dispatch_when_idle(problem, max_streams_, rank);
}

PolicyInfo bottom_level_info() {
  return {.name = "bottom_level",
          .summary = "An idle stream takes the ready task with the longest path to an exit.",
          .source = "Adam, Chandy, Dickson, CACM 17(12), 1974, doi 10.1145/361604.361619",
          .options = list_options(),
          .make =
              [](const Options& options) {
                return std::make_unique<BottomLevel>(count_of(options, "max_streams"));
              },
          .plans_by_durations = true};
}

}  // namespace schedlab
