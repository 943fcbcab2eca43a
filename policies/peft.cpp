// SPDX-License-Identifier: Apache-2.0
#include "policies/peft.hpp"

#include "policies/option_specs.hpp"
#include "sim/graph/levels.hpp"

namespace schedlab {

PlanBuilder Peft::place(const Problem& problem) const {
  const IdVector<TaskId, Duration> duration = problem.costs.durations();
  IdVector<TaskId, Duration> rank_oct = upward_rank(problem.graph, duration);
  for (const TaskId task : rank_oct.ids()) rank_oct[task] -= duration[task];
  return place_on_earliest_finish(problem, max_streams_, urgency_of(rank_oct), insertion_);
}

PolicyInfo peft_info() {
  return {.name = "peft",
          .summary =
              "Highest optimistic cost of what follows first, each task where it ends earliest, in "
              "an idle gap of a stream if it fits.",
          .source = "Arabnejad, Barbosa, IEEE TPDS 25(3), 2014, doi 10.1109/TPDS.2013.57",
          .options = list_options(),
          .make =
              [](const Options& options) {
                return std::make_unique<Peft>(count_of(options, "max_streams"));
              },
          .plans_by_durations = true};
}

PolicyInfo peft_no_insertion_info() {
  PolicyInfo info = peft_info();
  info.name = "peft_no_insertion";
  info.summary =
      "As peft, but a task always goes behind what its stream has, as a dispatcher must.";
  info.make = [](const Options& options) {
    return std::make_unique<Peft>(count_of(options, "max_streams"), Insertion::none);
  };
  return info;
}

}  // namespace schedlab
