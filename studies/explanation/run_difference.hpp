// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "sim/base/fields.hpp"
#include "studies/explanation/explanation.hpp"

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace schedlab {

/// Tasks of one class or kind, and how much later they start than in another run.
struct StartShift {
  std::string tasks;
  std::uint32_t count = 0;
  Duration later{0};  ///< on average; negative: earlier
};

/// What tasks of equal names do in two runs.
struct TaskDifference {
  std::uint32_t tasks = 0;
  std::uint32_t other_before = 0;  ///< that follow another task in their stream
  std::vector<StartShift> shifts;  ///< the largest sum first
  /// How much later a quarter, half and three quarters of the work are done, by the tasks'
  /// durations in this run.
  Duration quarter{0};
  Duration half{0};
  Duration three_quarters{0};
};

/// What a run does differently from another run of the same workload.
struct RunDifference {
  std::string other;  ///< its title
  Duration makespan{0};
  Duration other_makespan{0};
  std::vector<std::string> sentences;
  std::optional<TaskDifference> tasks;  ///< nullopt: the workload is cut otherwise there
};

[[nodiscard]] RunDifference run_difference(const Explanation& run, const Explanation& other);
[[nodiscard]] const Fields<RunDifference>& run_difference_fields();

}  // namespace schedlab
