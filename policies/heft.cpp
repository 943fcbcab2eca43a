// SPDX-License-Identifier: Apache-2.0
#include "policies/heft.hpp"

#include "policies/option_specs.hpp"
#include "sim/graph/levels.hpp"

namespace schedlab {

PlanBuilder Heft::place(const Problem& problem) const {
  const Urgency rank = urgency_of(upward_rank(problem.graph, problem.costs.durations()));
  return place_on_earliest_finish(problem, max_streams_, rank, insertion_);
}

PolicyInfo heft_info() {
  return {.name = "heft",
          .summary =
              "Highest upward rank first, each task where it ends earliest, in an idle gap of a "
              "stream if it fits.",
          .source = "Topcuoglu, Hariri, Wu, IEEE TPDS 13(3), 2002, doi 10.1109/71.993206",
          .options = list_options(),
          .make =
              [](const Options& options) {
                return std::make_unique<Heft>(count_of(options, "max_streams"));
              },
          .plans_by_durations = true};
}

PolicyInfo heft_no_insertion_info() {
  PolicyInfo info = heft_info();
  info.name = "heft_no_insertion";
  info.summary =
      "As heft, but a task always goes behind what its stream has, as a dispatcher must.";
  info.make = [](const Options& options) {
    return std::make_unique<Heft>(count_of(options, "max_streams"), Insertion::none);
  };
  return info;
}

}  // namespace schedlab
