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
  network,       ///< the same of a link between ranks
  energetic,     ///< what all tasks must take of one resource within windows
};
template <>
struct EnumNames<BoundKind> {
  static constexpr auto names =
      name_list("latency_path", "host_launch", "subset", "memory", "network", "energetic");
};

/// A task starts later than by any path, or more is left after it: tasks before it (after it) with
/// such a head and such a way to it take that long.
struct Tightening {
  TaskId task{};
  std::uint32_t pool = 0;  ///< its place in pools_of()
  Duration head{0};        ///< of a tail: with such a tail
  Duration tail{0};        ///< the way

  friend bool operator==(const Tightening&, const Tightening&) = default;
};

/// A step of the proof that nothing ends by a deadline. With a task: what if it starts before
/// `time` (`late`: after it)? With a window as well: that window is then overfilled, so it does
/// not. With a task alone the question stays open until a step without a task, after which what was
/// asked last is answered: the window is overfilled, or without one a task has too little time.
/// With no question open it ends the proof.
struct Deduction {
  TaskId task{};
  std::uint32_t pool = 0;  ///< of the window: its place in pools_of()
  bool late = false;
  Duration time{0};
  Duration begin{0};  ///< of the window; begin == end: there is none
  Duration end{0};

  friend bool operator==(const Deduction&, const Deduction&) = default;
};

/// A lower bound with what is needed to verify it. Heads are earliest starts, tails the least time
/// from the end of a task to the end of the run.
struct BoundWitness {
  BoundKind kind = BoundKind::latency_path;
  Duration bound{0};
  Pool pool{};       ///< of all but latency_path and energetic
  Duration head{0};  ///< its part in tasks with at least this head (use_head()) ...
  Duration tail{0};  ///< ... and this tail
  /// Of subset and memory, instead of both: before it starts tasks are launched, after it they
  /// take.
  TaskId pivot{};
  Duration deadline{0};        ///< energetic: nothing ends by then
  std::vector<TaskId> path{};  ///< latency_path; of subset: only this task, from end to end
  /// Of all but latency_path: heads in a topological order, tails in one of the reversed graph.
  std::vector<Tightening> heads{};
  std::vector<Tightening> tails{};
  std::vector<Deduction> deductions{};  ///< energetic: why

  friend bool operator==(const BoundWitness&, const BoundWitness&) = default;
};

/// What a bound by the pool's capacity between heads and tails is called.
[[nodiscard]] BoundKind kind_of(const Pool& pool);

/// Its fields in files.
[[nodiscard]] const Fields<BoundWitness>& witness_fields();

/// Verifies a witness from graph, platform and costs alone: nullopt, or what is wrong with it.
/// Shares with what finds witnesses only the rules of the machine (demands.hpp). Cost  O(tasks +
/// edges).
[[nodiscard]] std::optional<std::string> refuse_witness(const BoundProblem& on,
                                                        const BoundWitness& witness);

}  // namespace schedlab
