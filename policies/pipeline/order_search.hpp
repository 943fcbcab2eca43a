// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "policies/pipeline/pass_tasks.hpp"
#include "policies/plan_search.hpp"

#include <optional>
#include <span>
#include <vector>

namespace schedlab {

/// Local search over the orders in which the ranks of a pipeline do their passes, with late
/// acceptance. Passes move a few places, or into a gap in which their rank waited for others.
/// Backward passes are cut in two, so that weight gradients may fill the bubble. All replicas and
/// all ranks that share a stage have one order. Messages overlap with computing. A plan in which
/// ranks wait for each other for ever, or that does not fit into the memory of a device, is never
/// taken.
class PipelineOrderSearch final : public PlanImprover {
 public:
  /// Shapes  as PlanSearch. Throws InfeasibleError if the graph is no pipeline.
  PipelineOrderSearch(const Problem& problem,
                      std::span<const ScoredPlan> starts,
                      PlanRun run,
                      const PlanSearchOptions& options);

  void advance(std::uint64_t evaluations) override;
  void offer(const ScoredPlan& plan) override;

 private:
  using Orders = std::vector<StepOrder>;  // by place

  void begin_from(const ScoredPlan& plan);
  [[nodiscard]] bool move_step(Orders& orders);
  [[nodiscard]] bool fill_gap(Orders& orders);
  [[nodiscard]] bool in_order(const StepOrder& order) const;
  void step();

  Problem problem_;
  PipelineShape shape_;
  PipelineRanks ranks_;
  PassTasks tasks_;
  Orders orders_;
  LateAcceptance late_;
  IdVector<TaskId, Time> started_;  // in the run of these orders; empty: not known
  IdVector<TaskId, Time> ended_;
};

}  // namespace schedlab
