// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "sim/graph/transform.hpp"

#include <cstdint>
#include <string_view>

namespace schedlab {

/// The same training step several times, each as early as parameters allow: task t becomes t of
/// iteration 0, tasks + t of iteration 1 and so on. Unlike RepeatRuns no iteration waits for the
/// end of the one before: a task that reads what is there from the beginning (parameters) needs the
/// updates of its layer in the iteration before, where tasks without a layer are a layer of their
/// own; and users of a persistent tensor that the step writes need those of the iteration before.
/// So updates, and the weight gradients they wait for, may run beneath the next forward pass, as S1
/// puts them off.
///
/// Keeps FLOPs and bytes of each iteration. Persistent tensors are those of iteration 0, in whose
/// place later ones write; all others, and gradient buffers (`accumulate`), each iteration has for
/// itself, so that memory shows what overlap costs. Inputs are there from the beginning.
/// Errors: InfeasibleError for a graph without tensors or updates, with ranks or collectives, or of
/// too many tasks in all. Cost O(iterations * (tasks + edges + uses + updates * readers of a
/// layer)).
class OverlapIterations final : public Transform {
 public:
  explicit OverlapIterations(std::uint32_t iterations) : iterations_(iterations) {}

  [[nodiscard]] std::string_view name() const override { return "overlap_iterations"; }
  [[nodiscard]] TaskGraph apply(const TaskGraph& graph) const override;

 private:
  std::uint32_t iterations_;
};

}  // namespace schedlab
