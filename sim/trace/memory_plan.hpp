// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "sim/plan/policy.hpp"
#include "sim/trace/trace.hpp"

#include <optional>
#include <string>
#include <vector>

namespace schedlab {

/// Where a tensor lies in the arena of its device graph, and when in the run it holds its bytes.
struct PlacedTensor {
  TensorId tensor;
  std::string name;
  Bytes offset{};
  Bytes bytes{};  ///< rounded up to the alignment
  Time from{};
  Time until{};
};

/// Static memory of a device graph: tensors that are not persistent get offsets in one arena, those
/// that are never there at once may share bytes. Persistent ones lie elsewhere, all the time.
struct MemoryPlan {
  Bytes alignment{};
  Bytes persistent{};
  Bytes without_reuse{};  ///< every tensor by itself
  Bytes lifetimes{};      ///< most that is held at once in this run: no arena is smaller
  Bytes planned{};        ///< this plan, which holds whatever the timing
  Bytes best_fit{};  ///< an allocator that places each tensor as it comes into being, in this run
  std::vector<PlacedTensor> tensors;  ///< by rising offset, then name

  /// What is lost over `lifetimes`, as a share of it; 0 if nothing is held.
  [[nodiscard]] double planned_fragmentation() const { return lost(planned); }
  [[nodiscard]] double best_fit_fragmentation() const { return lost(best_fit); }

 private:
  [[nodiscard]] double lost(Bytes size) const {
    return lifetimes.count() == 0 ? 0.0 : size / lifetimes - 1.0;
  }
};

/// The plan for the one device graph of `plan`; nullopt if there are none or several, if one of
/// several devices runs it, the graph of tasks has no tensors, a task that uses one is no node, or
/// the graph has more than 30,000 nodes.
///
/// Two tensors may share bytes if the needs of the graph's nodes order all users of the one before
/// whoever begins the other: so the plan is safe however long tasks take, unlike one by times.
/// Largest first, each at the lowest offset that is free of all it may not share with: greedy by
/// size of Pisarchyk and Lee, arXiv 2001.03288, on this relation instead of intervals. `best_fit`
/// is held against it: in the order of times, in the smallest hole that is large enough.
/// Cost O(nodes * needs + nodes^2 / 64 + tensors^2 * users).
[[nodiscard]] std::optional<MemoryPlan> memory_plan(const Problem& problem,
                                                    const Plan& plan,
                                                    const Trace& trace);

/// memory_plan.json and its JSON Schema (draft 7).
[[nodiscard]] std::string memory_plan_json(const MemoryPlan& plan);
[[nodiscard]] std::string memory_plan_schema();

}  // namespace schedlab
