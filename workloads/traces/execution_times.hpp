// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "workloads/traces/foreign_graph.hpp"
#include "workloads/traces/imported_trace.hpp"

#include <cstdint>
#include <filesystem>
#include <string>
#include <string_view>
#include <vector>

namespace schedlab {

/// How well an execution trace and a profile of the same run fit together.
struct JoinCounts {
  std::uint64_t operators = 0;         ///< of the execution trace
  std::uint64_t matched_by_id = 0;     ///< by the number that both have (rf_id)
  std::uint64_t matched_by_order = 0;  ///< by the order of names in a thread, where there is none
  std::uint64_t activities = 0;        ///< of the profile
  std::uint64_t attributed = 0;        ///< those that a matched operator launched
  Duration activity_time{0};           ///< summed over the activities
  Duration attributed_time{0};         ///< likewise

  [[nodiscard]] std::uint64_t matched() const { return matched_by_id + matched_by_order; }
};

/// An execution trace with the times of a profile.
struct TimedExecutionTrace {
  ForeignGraph foreign;
  JoinCounts counts;
  /// By task of the graph: what it launched, in ImportedTrace::device_rows of the profile.
  IdVector<TaskId, std::vector<std::uint32_t>> rows;
};

/// Shapes and dependencies of the execution trace; the time of each task is that of the activities
/// that its operator launched in the profile, summed up. Operators that launched something
/// themselves are tasks even if they have parts. Matched operators that launched nothing take no
/// time; unmatched ones are left to a cost model.
///
/// Operators match if the profile has their `Record function id`, and the same name; where the
/// profile has none of these numbers, thread by thread in the order of their begins, as far as
/// names agree, from the first place on at which several do.
///
/// Errors  those of read_foreign_graph(); InputError if nothing matches.
/// Cost    O(bytes + rows log rows).
[[nodiscard]] TimedExecutionTrace join_execution_trace(std::string_view text,
                                                       const std::string& file,
                                                       const ImportedTrace& profile);
/// The same from a file, plain or gzip.
[[nodiscard]] TimedExecutionTrace join_execution_trace(const std::filesystem::path& path,
                                                       const ImportedTrace& profile);

}  // namespace schedlab
