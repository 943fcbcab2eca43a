// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "sim/base/ids.hpp"
#include "sim/base/units.hpp"
#include "sim/graph/transform.hpp"

#include <cstdint>
#include <string_view>

namespace schedlab {

/// How long the task takes on an ideal device, to weigh tasks of one graph against each other: its
/// given duration, else of each kernel the longer of its FLOPs at 9.3 TFLOP/s and its bytes at 732
/// GB/s (the data sheet of a P100, S1's first device). A partition is therefore a property of the
/// graph and not of the machine, as in the source.
[[nodiscard]] Duration nominal_duration(const TaskGraph& graph, TaskId task);

/// Which tasks the rest of the graph waits for (1), and which may be put off (0).
///
/// A task may be put off if it is off the critical path and everything that needs its results,
/// directly or not, takes no longer than the task can be delayed without making the critical path
/// longer; this is so for all tasks of an operation if it is so for more than half of them, and
/// never for a task whose result another critical task needs. Of dependencies only those count that
/// carry data: not the order of tasks that add into one buffer, nor what needs an update of
/// parameters (class update), which belongs to the next training step.
/// Cost O(tasks + edges + uses of tensors).
[[nodiscard]] IdVector<TaskId, std::uint8_t> critical_tasks(const TaskGraph& graph);

/// Cuts any graph of operators into critical and other tasks of balanced size, as TurboLSTM cuts a
/// gradient node of an LSTM (system S1, section 3.1): sub-computations without a path between them
/// may run side by side, and those that gain nothing apart become one task.
///
///  1. Critical are critical_tasks().
///  2. A task is negligible if it takes at most `negligible` of the longest among its neighbours:
///     what it needs, what needs it, and what waits for the same tasks. As long as there are any,
///     both critical or both not,
///      - a negligible task joins the only task it needs;
///      - a negligible task joins the only task that needs it;
///      - a negligible task joins the shortest of the tasks that wait for the same ones (of equal
///        ones the nearest in the order of ids), if it is not critical or both lead to the same.
///     In unrolled recurrent layers only tasks of one node (layer, step) join. Updates, copies,
///     collectives and work of the host stay alone.
///  3. Joined kernels become one, with the bytes between them saved and what both read read once,
///     where all but one are point-wise or reductions of one data type; else they are launched one
///     after the other.
///  4. Classes say what is critical; declared weight gradients, updates and transfers keep theirs.
///  Unless the graph has unrolled layers, the tag `layer` becomes
///     the lane of a critical task, of as few lanes as an unlimited device needs: a task continues
///     the lane of the task it needs last. critical_first gives two streams to each.
///
/// Keeps FLOPs, given durations (summed), persistent tensors and every dependency between tasks
/// that are not joined. Errors: InfeasibleError if the graph has ranks or collectives.
/// Cost O(rounds * (tasks * operations + edges + uses of tensors)), rounds about the longest chain
/// of joints. Source: TurboLSTM, section 3.1, in words; the rules that make them an algorithm and
/// the constant are ours.
class CriticalPartition final : public Transform {
 public:
  static constexpr double default_negligible = 0.25;  // assumed
  explicit CriticalPartition(double negligible = default_negligible) : negligible_(negligible) {}

  [[nodiscard]] std::string_view name() const override { return "critical_partition"; }
  [[nodiscard]] TaskGraph apply(const TaskGraph& graph) const override;

 private:
  double negligible_;
};

}  // namespace schedlab
