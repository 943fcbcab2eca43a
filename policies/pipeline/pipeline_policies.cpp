// SPDX-License-Identifier: Apache-2.0
#include "policies/pipeline/rank_programs.hpp"
#include "policies/pipeline/schedule_csv.hpp"
#include "policies/pipeline/step_order.hpp"
#include "policies/policy_info.hpp"
#include "sim/base/error.hpp"
#include "sim/base/file.hpp"

#include <fmt/format.h>

#include <memory>
#include <optional>
#include <string>
#include <utility>

namespace schedlab {
namespace {

/// Where a rank's stages may be for an order.
enum class OrderFor : std::uint8_t { any, one_stage, loop, pair_of_v, two_directions };

/// What the workload has to say; nullptr: the shape fits.
const char* missing_for(OrderFor order, const PipelineShape& shape) {
  const bool one = shape.virtual_stages == 1 && shape.placement == StagePlacement::loop;
  const bool v = shape.placement == StagePlacement::v || shape.ranks == 1;
  switch (order) {
    case OrderFor::any:
      return nullptr;
    case OrderFor::one_stage:
      return one ? nullptr
                 : R"(pipeline_interleaved_1f1b, or "virtual_stages": 1 and "placement": "loop")";
    case OrderFor::loop:
      return shape.placement == StagePlacement::loop ? nullptr : R"("placement": "loop")";
    case OrderFor::pair_of_v:
      return v && shape.virtual_stages == 2 ? nullptr
                                            : R"("placement": "v" and "virtual_stages": 2)";
    case OrderFor::two_directions:
      return shape.placement == StagePlacement::bidirectional ? nullptr
                                                              : R"("placement": "bidirectional")";
  }
  return nullptr;
}

/// A schedule of a pipeline: the order of the steps of each rank decides it. For graphs that are
/// tagged as sim/pipeline/pipeline_work.hpp says.
class PipelinePolicy final : public Policy {
 public:
  PipelinePolicy(std::string name,
                 StepOrderOf order,
                 OrderFor order_for,
                 RankProgramOptions options)
      : name_(std::move(name)),
        order_(std::move(order)),
        order_for_(order_for),
        options_(options) {}
  [[nodiscard]] std::string_view name() const override { return name_; }
  /// Throws InfeasibleError if the graph is no pipeline, or its ranks have other stages than the
  /// order is for.
  [[nodiscard]] Plan plan(const Problem& problem) const override;

 private:
  std::string name_;
  StepOrderOf order_;
  OrderFor order_for_;
  RankProgramOptions options_;
};

GradientSums sums_from(std::string_view word) {
  if (word == "after_passes") return GradientSums::after_passes;
  return word == "before_sending" ? GradientSums::before_sending : GradientSums::overlapped;
}

PipelineTransfers transfers_from(std::string_view word) {
  if (word == "blocking") return PipelineTransfers::blocking;
  return word == "one_sided" ? PipelineTransfers::one_sided : PipelineTransfers::overlapped;
}

/// Of policies some of whose steps overlap.
OptionSpec overlap_spec(StepOverlap usual) {
  return {.name = "overlap",
          .default_value = std::string{usual == StepOverlap::in_turn ? "in_turn" : "interleaved"},
          .doc =
              "Of passes beside each other. in_turn: one follows the other; interleaved: while "
              "collectives of one (experts, tensor parallelism) are under way, on a stream of "
              "their own, the other computes.",
          .allowed = {"in_turn", "interleaved"}};
}

RankProgramOptions program_options(const Options& options, bool overlaps) {
  const bool interleaved = overlaps && options.text("overlap") == "interleaved";
  return {.sums = sums_from(options.text("gradient_sums")),
          .transfers = transfers_from(options.text("transfers")),
          .prefetch = static_cast<std::size_t>(options.integer("prefetch")),
          .overlap = interleaved ? StepOverlap::interleaved : StepOverlap::in_turn};
}

std::vector<OptionSpec> program_option_specs() {
  return {{.name = "gradient_sums",
           .default_value = std::string{"overlapped"},
           .doc = "Of a stage over the data-parallel replicas. overlapped: as soon as "
                  "gradients are there; after_passes: after the rank's last pass; "
                  "before_sending: the rank waits for the sum before it sends the "
                  "gradient of its input on.",
           .allowed = {"overlapped", "after_passes", "before_sending"}},
          {.name = "transfers",
           .default_value = std::string{"overlapped"},
           .doc = "overlapped: messages move while ranks compute; one_sided: likewise, without "
                  "asking the receiver; blocking: a rank sends and receives as with MPI_Send "
                  "and MPI_Recv, or MPI_Sendrecv where two ranks send to each other.",
           .allowed = {"overlapped", "one_sided", "blocking"}},
          {.name = "prefetch",
           .default_value = std::int64_t{1},
           .doc = "With the workload's zero 3: how many layers' parameters are gathered ahead of "
                  "those in use, or stages' where a pass is one task.",
           .minimum = 0,
           .maximum = 1e6}};
}

PolicyInfo pipeline_info(const std::string& name,
                         std::string summary,
                         std::string source,
                         StepOrder (*order)(const PipelineShape&, std::uint32_t),
                         OrderFor order_for,
                         std::optional<StepOverlap> overlap = std::nullopt) {
  std::vector<OptionSpec> options = program_option_specs();
  if (overlap) options.push_back(overlap_spec(*overlap));
  return {.name = name,
          .summary = std::move(summary),
          .source = std::move(source),
          .options = std::move(options),
          .make =
              [=](const Options& given) {
                return std::make_unique<PipelinePolicy>(
                    name, order, order_for, program_options(given, overlap.has_value()));
              },
          .for_ranks = true};
}

/// A schedule of torch.distributed.pipelining, for the pipeline that it names the stages of.
class PipelineFile final : public Policy {
 public:
  PipelineFile(std::string path, RankProgramOptions options)
      : path_(std::move(path)), options_(options) {}
  [[nodiscard]] std::string_view name() const override { return "pipeline_file"; }
  /// Throws InfeasibleError if the graph is no pipeline; InputError as parse_schedule_csv() and
  /// schedule_orders().
  [[nodiscard]] Plan plan(const Problem& problem) const override {
    const std::string policy{name()};
    const std::vector<StepOrder> orders = schedule_orders(
        parse_schedule_csv(read_file(path_), path_), pipeline_shape(problem.graph, policy), path_);
    return rank_programs(
        problem,
        policy,
        [&orders](const PipelineShape&, std::uint32_t place) { return orders[place]; },
        options_);
  }

 private:
  std::string path_;
  RankProgramOptions options_;
};

Plan PipelinePolicy::plan(const Problem& problem) const {
  const PipelineShape shape = pipeline_shape(problem.graph, name_);
  if (const char* missing = missing_for(order_for_, shape)) {
    throw InfeasibleError(
        fmt::format("{} does not order {} stages of each of {} ranks, placed as {}\n  use {}",
                    name_,
                    shape.stages_of(0).size(),
                    shape.ranks,
                    to_string(shape.placement),
                    missing));
  }
  return rank_programs(problem, name_, order_, options_);
}

}  // namespace

PolicyInfo pipeline_naive_info() {
  return pipeline_info("pipeline_naive",
                       "One micro-batch through all stages and back before the next.",
                       "model parallelism without a pipeline",
                       naive_order,
                       OrderFor::any);
}

PolicyInfo pipeline_flush_info() {
  return pipeline_info("pipeline_flush",
                       "All forward passes of an iteration, then all backward passes (GPipe).",
                       "Huang et al., GPipe, arXiv 1811.06965",
                       flush_order,
                       OrderFor::any);
}

PolicyInfo pipeline_1f1b_info() {
  return pipeline_info("pipeline_1f1b",
                       "Forward and backward passes in turns, so that few activations are kept.",
                       "Narayanan et al., PipeDream-Flush, arXiv 2006.09503",
                       one_f_one_b_order,
                       OrderFor::one_stage);
}

PolicyInfo pipeline_interleaved_1f1b_info() {
  return pipeline_info("pipeline_interleaved_1f1b",
                       "1F1B with several virtual stages on each rank, for a smaller bubble.",
                       "Narayanan et al., SC 2021, doi 10.1145/3458817.3476209",
                       interleaved_order,
                       OrderFor::loop);
}

PolicyInfo pipeline_zb_h1_info() {
  return pipeline_info("pipeline_zb_h1",
                       "1F1B that delays weight gradients to fill the bubble.",
                       "Qi et al., Zero Bubble Pipeline Parallelism, arXiv 2401.10241",
                       zb_h1_order,
                       OrderFor::one_stage);
}

PolicyInfo pipeline_zb_v_info() {
  return pipeline_info("pipeline_zb_v",
                       "Two stages of a V on each rank and delayed weight gradients: no bubble "
                       "where all passes last the same.",
                       "Qi et al., Zero Bubble Pipeline Parallelism, arXiv 2401.10241",
                       zb_v_order,
                       OrderFor::pair_of_v);
}

PolicyInfo pipeline_dualpipe_info() {
  return pipeline_info("pipeline_dualpipe",
                       "Micro-batches from both ends, each stage on two ranks; forward beside "
                       "backward passes of the other direction.",
                       "DeepSeek-AI, DeepSeek-V3 Technical Report, arXiv 2412.19437",
                       dualpipe_order,
                       OrderFor::two_directions,
                       StepOverlap::in_turn);
}

PolicyInfo pipeline_dualpipe_v_info() {
  return pipeline_info("pipeline_dualpipe_v",
                       "DualPipe cut in half: two stages of a V on each rank instead of copies.",
                       "github.com/deepseek-ai/DualPipe; Sea AI Lab, Cut-in-half",
                       dualpipe_v_order,
                       OrderFor::pair_of_v,
                       StepOverlap::in_turn);
}

PolicyInfo pipeline_chimera_info() {
  return pipeline_info("pipeline_chimera",
                       "Two pipelines in opposite directions whose passes fill each other's gaps.",
                       "Li, Hoefler, Chimera, SC 2021, doi 10.1145/3458817.3476145",
                       chimera_order,
                       OrderFor::two_directions);
}

PolicyInfo batch_overlap_info() {
  return pipeline_info("batch_overlap",
                       "Two micro-batches beside each other on each rank: one computes while the "
                       "other communicates.",
                       "DeepSeek-AI, DeepSeek-V3 Technical Report, arXiv 2412.19437; Wang et al., "
                       "Domino, arXiv 2409.15241",
                       batch_overlap_order,
                       OrderFor::one_stage,
                       StepOverlap::interleaved);
}

PolicyInfo pipeline_file_info() {
  std::vector<OptionSpec> options = program_option_specs();
  options.push_back(overlap_spec(StepOverlap::in_turn));
  options.insert(options.begin(),
                 {.name = "path",
                  .default_value = std::string{},
                  .doc = "The schedule as CSV, relative to the spec: a row for each rank, entries "
                         "as 0F0, 1I3, 1W3, 0B1, 1SEND_F0.",
                  .required = true});
  return {.name = "pipeline_file",
          .summary = "A schedule from a CSV of PyTorch, checked for hangs.",
          .source = "torch.distributed.pipelining",
          .options = std::move(options),
          .make =
              [](const Options& given) {
                return std::make_unique<PipelineFile>(given.text("path"),
                                                      program_options(given, true));
              },
          .for_ranks = true};
}

}  // namespace schedlab
