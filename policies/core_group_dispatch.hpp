// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "sim/base/options.hpp"
#include "sim/graph/task_graph.hpp"
#include "sim/plan/policy.hpp"

#include <cstdint>
#include <string>
#include <vector>

namespace schedlab {

/// Core groups of the SW26010-Pro, each of which runs one operator at a time.
inline constexpr std::uint32_t default_core_groups = 6;

/// The operators that may start, as the threads of the core groups see them.
class ReadyOperators {
 public:
  virtual ~ReadyOperators() = default;
  ReadyOperators() = default;
  ReadyOperators(const ReadyOperators&) = delete;
  ReadyOperators& operator=(const ReadyOperators&) = delete;

  /// All predecessors of `task` have ended.
  virtual void arrive(TaskId task) = 0;
  /// What an idle `group` runs next, having run `last` (none() at first); none(): it stays idle.
  /// What is returned is taken.
  [[nodiscard]] virtual TaskId take(StreamId group, TaskId last) = 0;
};

/// How operators are handed to core groups.
struct CoreGroupOptions {
  std::uint32_t max_streams = default_core_groups;
  /// What choosing an operator takes. The groups' threads choose from one pool, one thread at a
  /// time, and only once their group is idle. 0: not counted, and groups do not wait for threads.
  Duration scheduling{0};

  [[nodiscard]] static CoreGroupOptions from(const Options& options);
};

/// Published states of an operator.
enum class OperatorState : std::uint8_t {
  unavailable,  ///< a predecessor has not ended
  available,
  running,
  done,
};

/// Plays the graph on core groups, a stream each ("core group 0", ...), in estimated time: whenever
/// operators have ended, those that became available arrive by rising id, then idle groups take by
/// rising number. With a scheduling cost the plan's host thread waits until the group is idle,
/// sleeps for that long and launches, as the run decides; it stands for all threads, of which one
/// chooses at a time.
/// Cost O((tasks + edges) log tasks) and what `ready` takes.
/// Errors   InfeasibleError if one choice takes longer than a call can sleep (4 s).
[[nodiscard]] Plan dispatch_to_core_groups(const Problem& problem,
                                           std::string policy_name,
                                           const CoreGroupOptions& options,
                                           ReadyOperators& ready);

/// The knobs of policies for core groups: as many streams as core groups, at least 1, and the
/// scheduling cost.
[[nodiscard]] std::vector<OptionSpec> core_group_options();

/// "core group 3": what a stream is called that stands for one.
[[nodiscard]] std::string core_group_name(std::uint32_t group);

}  // namespace schedlab
