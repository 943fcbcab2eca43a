// SPDX-License-Identifier: Apache-2.0
#include "policies/eager_fifo.hpp"

#include "policies/option_specs.hpp"

namespace schedlab {

PlanBuilder EagerFifo::place(const Problem& problem) const {
  return dispatch_when_idle(problem, max_streams_, {});
}

PolicyInfo eager_fifo_info() {
  return {
      .name = "eager_fifo",
      .summary = "Tasks in the order in which they become ready, each to the first idle stream.",
      .source = "Graham, SIAM J. Appl. Math. 17(2), 1969, doi 10.1137/0117039",
      .options = list_options(),
      .make =
          [](const Options& options) {
            return std::make_unique<EagerFifo>(count_of(options, "max_streams"));
          },
      .plans_by_durations = true};
}

}  // namespace schedlab
