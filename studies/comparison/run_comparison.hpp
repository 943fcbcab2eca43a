// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "sim/base/enum_names.hpp"
#include "sim/base/fields.hpp"
#include "studies/explanation/explanation.hpp"
#include "studies/explanation/run_difference.hpp"

#include <array>
#include <cstdint>
#include <string>
#include <vector>

namespace schedlab {

/// What a stretch of the critical path was spent on.
enum class PathPart : std::uint8_t {
  device,         ///< kernels run
  communication,  ///< copies and collectives run, or a message is on its way
  host,           ///< host work runs, or the next task is not yet submitted
  launch,         ///< a task is submitted, and not yet arrived at the device
  waiting,        ///< between two tasks: for units, for the order of a stream, for an event
  end,            ///< after the last task
};
inline constexpr std::size_t path_part_count = 6;
template <>
struct EnumNames<PathPart> {
  static constexpr auto names =
      name_list("device", "communication", "host", "launch", "waiting", "end");
};
/// Times by PathPart; they sum to the makespan.
struct PathParts {
  std::array<Duration, path_part_count> times{};

  [[nodiscard]] Duration of(PathPart part) const { return times[static_cast<std::size_t>(part)]; }
};

/// How tasks of two runs are taken for the same.
enum class TaskMatch : std::uint8_t {
  by_number,  ///< both graphs have the same tasks: the same number, the same name
  by_name,    ///< the k-th to start of a name in one run is the k-th to start of it in the other
};
template <>
struct EnumNames<TaskMatch> {
  static constexpr auto names = name_list("by_number", "by_name");
};

/// Tasks of one kind, one operation or one stream.
struct TaskTotals {
  std::uint32_t tasks = 0;
  Duration running{0};  ///< sum of durations
  Duration on_path{0};  ///< of those on the critical path
};
struct TotalsChange {
  std::string name;
  TaskTotals first;
  TaskTotals second;

  [[nodiscard]] Duration longer() const { return second.running - first.running; }
};

/// A task that both runs have.
struct TaskChange {
  std::string task;
  std::string operation;
  std::string first_stream;
  std::string second_stream;
  Duration first{0};  ///< how long it ran
  Duration second{0};
  bool first_on_path = false;
  bool second_on_path = false;

  [[nodiscard]] Duration longer() const { return second - first; }
};

/// Tasks of one run that the other does not have.
struct UnmatchedTasks {
  std::uint32_t tasks = 0;
  Duration running{0};
  std::vector<std::string> names;  ///< of the first few, each name once
};

/// What is different between two runs. Changes are those from the first to the second.
struct RunComparison {
  Duration first{0};  ///< makespan
  Duration second{0};
  CostEvidence first_evidence = CostEvidence::data_sheet;  ///< what their times rest on
  CostEvidence second_evidence = CostEvidence::data_sheet;
  DataLoss first_loss{};  ///< of profiles
  DataLoss second_loss{};
  PathParts first_path;
  PathParts second_path;
  RunDifference difference;              ///< of the second, against the first
  std::vector<TotalsChange> kinds;       ///< in the order of TaskKind
  std::vector<TotalsChange> operations;  ///< the largest change first
  std::vector<TotalsChange> streams;     ///< by name, in the order of the first run
  TaskMatch match = TaskMatch::by_number;
  std::vector<TaskChange> tasks;  ///< in both: what takes longer first, what is faster last
  UnmatchedTasks first_only;
  UnmatchedTasks second_only;
};

/// Cost  O(tasks * log tasks).
[[nodiscard]] RunComparison compare_runs(const Explanation& first, const Explanation& second);

[[nodiscard]] const Fields<RunComparison>& run_comparison_fields();
/// One task, in comparison.json and (a row) in comparison.csv.
[[nodiscard]] const Fields<TaskChange>& task_change_fields();

}  // namespace schedlab
