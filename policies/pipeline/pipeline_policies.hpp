// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "policies/pipeline/rank_programs.hpp"
#include "policies/pipeline/step_order.hpp"
#include "policies/policy_info.hpp"

#include <string>
#include <utility>

namespace schedlab {

/// A schedule of a pipeline: the order of the steps of each rank decides it. For graphs that are
/// tagged as sim/pipeline/pipeline_work.hpp says.
class PipelinePolicy final : public Policy {
 public:
  /// `several_chunks`: the order is for ranks with several stages too.
  PipelinePolicy(std::string name,
                 StepOrderOf order,
                 bool several_chunks,
                 RankProgramOptions options)
      : name_(std::move(name)),
        order_(std::move(order)),
        several_chunks_(several_chunks),
        options_(options) {}
  [[nodiscard]] std::string_view name() const override { return name_; }
  /// Throws InfeasibleError if the graph is no pipeline, or ranks have several stages where the
  /// order is for one.
  [[nodiscard]] Plan plan(const Problem& problem) const override;

 private:
  std::string name_;
  StepOrderOf order_;
  bool several_chunks_;
  RankProgramOptions options_;
};

[[nodiscard]] PolicyInfo pipeline_naive_info();
[[nodiscard]] PolicyInfo pipeline_flush_info();
[[nodiscard]] PolicyInfo pipeline_1f1b_info();
[[nodiscard]] PolicyInfo pipeline_interleaved_1f1b_info();
[[nodiscard]] PolicyInfo pipeline_zb_h1_info();

}  // namespace schedlab
