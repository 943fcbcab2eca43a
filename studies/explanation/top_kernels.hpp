// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "sim/sweep/table.hpp"
#include "studies/explanation/explained_run.hpp"

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace schedlab {

/// All tasks of one operation.
struct KernelTotal {
  std::string operation;
  std::uint32_t tasks = 0;
  Duration running{0};    ///< sum of durations
  Duration no_slack{0};   ///< of those that could not have ended later
  Duration min_slack{0};  ///< by how much any of them could have ended later, at least
  bool reliable = true;   ///< false: a profile lacks some of them
};

/// By how much each task could have ended later without anything else that the trace shows being
/// later: the time to the start of what comes behind it in its stream or graph, or to the return of
/// a host call that waited for it, handed on from the end of the run. A task that nothing waits for
/// has all of the time to the end of the last task.
/// Shapes   one per task; tasks that did not run have 0.
[[nodiscard]] IdVector<TaskId, Duration> measured_slack(const ExplainedRun& run);

/// The longest in all first.
[[nodiscard]] std::vector<KernelTotal> kernel_totals(const ExplainedRun& run);

/// The first `most` of them, for a terminal; `mark` goes behind the heading.
[[nodiscard]] std::string kernel_totals_text(const std::vector<KernelTotal>& totals,
                                             std::size_t most,
                                             std::string_view mark);
/// kernels.csv
[[nodiscard]] Table kernel_totals_table(const std::vector<KernelTotal>& totals);

}  // namespace schedlab
