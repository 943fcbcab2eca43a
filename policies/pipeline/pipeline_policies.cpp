// SPDX-License-Identifier: Apache-2.0
#include "policies/pipeline/rank_programs.hpp"
#include "policies/pipeline/step_order.hpp"
#include "policies/policy_info.hpp"
#include "sim/base/error.hpp"

#include <fmt/format.h>

#include <memory>
#include <string>
#include <utility>

namespace schedlab {
namespace {

/// A schedule of a pipeline: the order of the steps of each rank decides it. For graphs that are
/// tagged as sim/pipeline/pipeline_work.hpp says.
class PipelinePolicy final : public Policy {
 public:
  /// `several_virtual_stages`: the order is for ranks with several stages too.
  PipelinePolicy(std::string name,
                 StepOrderOf order,
                 bool several_virtual_stages,
                 RankProgramOptions options)
      : name_(std::move(name)),
        order_(std::move(order)),
        several_virtual_stages_(several_virtual_stages),
        options_(options) {}
  [[nodiscard]] std::string_view name() const override { return name_; }
  /// Throws InfeasibleError if the graph is no pipeline, or ranks have several stages where the
  /// order is for one.
  [[nodiscard]] Plan plan(const Problem& problem) const override;

 private:
  std::string name_;
  StepOrderOf order_;
  bool several_virtual_stages_;
  RankProgramOptions options_;
};

GradientSums sums_from(std::string_view word) {
  if (word == "after_passes") return GradientSums::after_passes;
  return word == "before_sending" ? GradientSums::before_sending : GradientSums::overlapped;
}

PolicyInfo pipeline_info(const std::string& name,
                         std::string summary,
                         std::string source,
                         StepOrder (*order)(const PipelineShape&, std::uint32_t),
                         bool several_virtual_stages) {
  return {.name = name,
          .summary = std::move(summary),
          .source = std::move(source),
          .options = {{.name = "gradient_sums",
                       .default_value = std::string{"overlapped"},
                       .doc = "Of a stage over the data-parallel replicas. overlapped: as soon as "
                              "gradients are there; after_passes: after the rank's last pass; "
                              "before_sending: the rank waits for the sum before it sends the "
                              "gradient of its input on.",
                       .allowed = {"overlapped", "after_passes", "before_sending"}},
                      {.name = "transfers",
                       .default_value = std::string{"overlapped"},
                       .doc = "overlapped: messages move while ranks compute; blocking: a rank "
                              "sends and receives as with MPI_Send and MPI_Recv, or MPI_Sendrecv "
                              "where two ranks send to each other.",
                       .allowed = {"overlapped", "blocking"}}},
          .make =
              [=](const Options& options) {
                return std::make_unique<PipelinePolicy>(
                    name,
                    order,
                    several_virtual_stages,
                    RankProgramOptions{.sums = sums_from(options.text("gradient_sums")),
                                       .transfers = options.text("transfers") == "blocking"
                                                        ? PipelineTransfers::blocking
                                                        : PipelineTransfers::overlapped});
              },
          .for_ranks = true};
}

Plan PipelinePolicy::plan(const Problem& problem) const {
  const PipelineShape shape = pipeline_shape(problem.graph, name_);
  if (shape.virtual_stages > 1 && !several_virtual_stages_) {
    throw InfeasibleError(
        fmt::format("{} has one stage on each rank, the workload has {} virtual stages\n  use "
                    "pipeline_interleaved_1f1b, or \"virtual_stages\": 1",
                    name_,
                    shape.virtual_stages));
  }
  return rank_programs(problem, name_, order_, options_);
}

}  // namespace

PolicyInfo pipeline_naive_info() {
  return pipeline_info("pipeline_naive",
                       "One micro-batch through all stages and back before the next.",
                       "model parallelism without a pipeline",
                       naive_order,
                       true);
}

PolicyInfo pipeline_flush_info() {
  return pipeline_info("pipeline_flush",
                       "All forward passes of an iteration, then all backward passes (GPipe).",
                       "Huang et al., GPipe, arXiv 1811.06965",
                       flush_order,
                       true);
}

PolicyInfo pipeline_1f1b_info() {
  return pipeline_info("pipeline_1f1b",
                       "Forward and backward passes in turns, so that few activations are kept.",
                       "Narayanan et al., PipeDream-Flush, arXiv 2006.09503",
                       one_f_one_b_order,
                       false);
}

PolicyInfo pipeline_interleaved_1f1b_info() {
  return pipeline_info("pipeline_interleaved_1f1b",
                       "1F1B with several virtual stages on each rank, for a smaller bubble.",
                       "Narayanan et al., SC 2021, doi 10.1145/3458817.3476209",
                       interleaved_order,
                       true);
}

PolicyInfo pipeline_zb_h1_info() {
  return pipeline_info("pipeline_zb_h1",
                       "1F1B that delays weight gradients to fill the bubble.",
                       "Qi et al., Zero Bubble Pipeline Parallelism, arXiv 2401.10241",
                       zb_h1_order,
                       false);
}

}  // namespace schedlab
