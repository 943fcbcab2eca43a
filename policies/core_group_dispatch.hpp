// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "sim/base/options.hpp"
#include "sim/graph/task_graph.hpp"
#include "sim/plan/policy.hpp"

#include <cstdint>
#include <string>

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

/// Plays the graph on `groups` core groups, a stream each, in estimated time: whenever operators
/// have ended, those that became ready arrive by rising id, then idle groups take by rising number.
/// Cost O((tasks + edges) log tasks) and what `ready` takes.
[[nodiscard]] Plan dispatch_to_core_groups(const Problem& problem,
                                           std::string policy_name,
                                           std::uint32_t groups,
                                           ReadyOperators& ready);

/// The knob of both policies: as many streams as core groups, at least 1.
[[nodiscard]] OptionSpec core_groups_option();

}  // namespace schedlab
