// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "sim/base/enum_names.hpp"
#include "sim/base/units.hpp"
#include "sim/bounds/demands.hpp"

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace schedlab {

template <class T>
class Fields;

/// Why no plan is shorter. docs/bounds.md has the arguments.
enum class BoundKind : std::uint8_t {
  latency_path,  ///< a chain of dependent tasks, with the first launch and all delays
  host_launch,   ///< the launches of tasks with a tail of at least `tail`, then that tail
  subset,        ///< what tasks with long heads and tails take of one resource
  memory,        ///< the same of the memory bandwidth
  energetic,     ///< what all tasks must take of one resource within a window
};
template <>
struct EnumNames<BoundKind> {
  static constexpr auto names =
      name_list("latency_path", "host_launch", "subset", "memory", "energetic");
};

/// A task starts later than by any path, or more is left after it: tasks before it (after it) with
/// such a head and such a way to it take that long. Of calls: all with such a way from their start
/// on, and the task itself.
struct Tightening {
  TaskId task{};
  std::uint32_t pool = 0;  ///< its place in pools_of(), or host_pool
  Duration head{0};        ///< of a tail: with such a tail
  Duration tail{0};        ///< the way

  friend bool operator==(const Tightening&, const Tightening&) = default;
};
inline constexpr std::uint32_t host_pool = 0xffffffff;

/// A lower bound with what is needed to verify it. Heads are earliest starts, tails the least time
/// from the end of a task to the end of the run.
struct BoundWitness {
  BoundKind kind = BoundKind::latency_path;
  Duration bound{0};
  Pool pool{};                 ///< of subset, memory and energetic
  Duration head{0};            ///< subset and memory: of tasks with at least this head ...
  Duration tail{0};            ///< ... and this tail (host_launch: with their duration)
  Duration deadline{0};        ///< energetic: a plan no longer than this ...
  Duration begin{0};           ///< ... must use more than there is from here ...
  Duration end{0};             ///< ... to here
  std::vector<TaskId> path{};  ///< latency_path; of subset: only this task, from end to end
  /// Of all but latency_path: heads in a topological order, tails in one of the reversed graph.
  std::vector<Tightening> heads{};
  std::vector<Tightening> tails{};

  friend bool operator==(const BoundWitness&, const BoundWitness&) = default;
};

/// Its fields in files.
[[nodiscard]] const Fields<BoundWitness>& witness_fields();

/// Verifies a witness from graph, platform and costs alone: nullopt, or what is wrong with it.
/// Shares with what finds witnesses only the rules of the machine (demands.hpp). Cost  O(tasks +
/// edges).
[[nodiscard]] std::optional<std::string> refuse_witness(const BoundProblem& on,
                                                        const BoundWitness& witness);

}  // namespace schedlab
