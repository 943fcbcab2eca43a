// SPDX-License-Identifier: Apache-2.0
#include "policies/pipeline/pass_tasks.hpp"

#include "policies/pipeline/rank_programs.hpp"
#include "sim/base/error.hpp"
#include "sim/pipeline/pipeline_work.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <optional>
#include <utility>

namespace schedlab {
namespace {

/// forward 0, backward_data 1, backward_weight 2; nullopt: of no micro-batch.
std::optional<std::size_t> pass_of(PipelineWork work) {
  switch (work) {
    case PipelineWork::labels:
    case PipelineWork::receive_activation:
    case PipelineWork::forward:
    case PipelineWork::send_activation:
    case PipelineWork::gather_forward:
      return 0;
    case PipelineWork::recompute:
    case PipelineWork::receive_gradient:
    case PipelineWork::backward_data:
    case PipelineWork::send_gradient:
    case PipelineWork::gather_backward:
      return 1;
    case PipelineWork::backward_weight:
      return 2;
    case PipelineWork::all_reduce:
    case PipelineWork::update:
      return std::nullopt;
  }
  return std::nullopt;
}

/// Items by bucket, in each by rising number. `bucket_of` says nullopt for those that are not
/// there.
template <class BucketOf>
void sort_into(const TaskGraph& graph,
               std::size_t buckets,
               const BucketOf& bucket_of,
               std::vector<TaskId>& items,
               std::vector<std::uint32_t>& begin) {
  begin.assign(buckets + 1, 0);
  for (const TaskId task : graph.tasks()) {
    if (const std::optional<std::size_t> bucket = bucket_of(task)) ++begin[*bucket + 1];
  }
  for (std::size_t i = 1; i < begin.size(); ++i) begin[i] += begin[i - 1];
  items.resize(begin.back());
  std::vector<std::uint32_t> next(begin.begin(), begin.end() - 1);
  for (const TaskId task : graph.tasks()) {
    if (const std::optional<std::size_t> bucket = bucket_of(task)) items[next[*bucket]++] = task;
  }
}

/// A task that is not where the shape's placement has it.
TaskId first_misplaced(const TaskGraph& graph,
                       const PipelineRanks& ranks,
                       const PipelineShape& shape) {
  const StageMap map = shape.map();
  for (const TaskId task : graph.tasks()) {
    const Tags& tags = graph.tags(task);
    if (*pipeline_work(tags) == PipelineWork::all_reduce) continue;
    const std::uint32_t place = ranks.place(graph.rank(task));
    const auto stage = static_cast<std::uint32_t>(tags.stage);
    const bool right =
        tags.microbatch >= 0
            ? place == shape.place(stage, static_cast<std::uint32_t>(tags.microbatch))
            : place == map.place(stage, 0) || place == map.place(stage, map.copies() - 1);
    if (!right) return task;
  }
  return TaskId::none();
}

[[noreturn]] void refuse(const std::string& policy, const std::string& why) {
  throw InfeasibleError(
      fmt::format("{} schedules the stages of a pipeline: {}\n  use the workload \"pipeline\", or "
                  "a policy that is not one of pipeline_*",
                  policy,
                  why));
}

}  // namespace

PipelineShape pipeline_shape(const TaskGraph& graph, const std::string& policy) {
  std::int64_t stages = 0;
  std::int64_t microbatches = 0;
  for (const TaskId task : graph.tasks()) {
    const Tags& tags = graph.tags(task);
    const auto work = pipeline_work(tags);
    if (!work) refuse(policy, fmt::format("{} has no stage", graph.name(task)));
    if (pass_of(*work).has_value() != (tags.microbatch >= 0)) {
      refuse(policy, fmt::format("{} has the micro-batch {}", graph.name(task), tags.microbatch));
    }
    stages = std::max<std::int64_t>(stages, tags.stage + 1);
    microbatches = std::max<std::int64_t>(microbatches, tags.microbatch + 1);
  }
  const PipelineRanks of = pipeline_ranks(graph);
  if (of.replicas == 0 || microbatches == 0) {
    refuse(policy, "the graph has no forward pass of stage 0");
  }
  const std::uint32_t ranks = of.places;
  if (ranks * of.replicas * of.tensor_parallel != graph.rank_count() || stages % ranks != 0) {
    refuse(policy,
           fmt::format("{} stages of {} replicas are not spread evenly over {} ranks",
                       stages,
                       of.replicas,
                       graph.rank_count()));
  }
  PipelineShape shape{.ranks = ranks,
                      .virtual_stages = static_cast<std::uint32_t>(stages / ranks),
                      .microbatches = static_cast<std::uint32_t>(microbatches)};
  const TaskId misplaced = first_misplaced(graph, of, shape);
  if (!misplaced.valid()) return shape;
  for (const StagePlacement other : {StagePlacement::v, StagePlacement::bidirectional}) {
    shape.placement = other;
    if (!first_misplaced(graph, of, shape).valid()) return shape;
  }
  refuse(policy, fmt::format("{} is on rank {}", graph.name(misplaced), graph.rank(misplaced)));
}

PassTasks::PassTasks(const TaskGraph& graph, const PipelineShape& shape, const PipelineRanks& ranks)
    : stages_(std::size_t{shape.ranks} * shape.virtual_stages), microbatches_(shape.microbatches) {
  const std::size_t lines = graph.rank_count() / shape.ranks;
  sort_into(
      graph,
      lines * stages_ * passes * microbatches_,
      [&](TaskId task) -> std::optional<std::size_t> {
        const Tags& tags = graph.tags(task);
        const auto pass = pass_of(*pipeline_work(tags));
        if (!pass) return std::nullopt;
        return key(ranks.line(graph.rank(task)),
                   static_cast<std::uint32_t>(tags.stage),
                   *pass,
                   static_cast<std::uint32_t>(tags.microbatch));
      },
      tasks_,
      begin_);
  const auto of_rank = [&](PipelineWork wanted) {
    return [&graph, wanted](TaskId task) -> std::optional<std::size_t> {
      if (*pipeline_work(graph.tags(task)) != wanted) return std::nullopt;
      return graph.rank(task);
    };
  };
  sort_into(graph, graph.rank_count(), of_rank(PipelineWork::all_reduce), parts_, parts_begin_);
  sort_into(graph, graph.rank_count(), of_rank(PipelineWork::update), updates_, updates_begin_);
}

std::array<std::span<const TaskId>, 2> PassTasks::of(std::uint32_t line,
                                                     const PipelineStep& step) const {
  const auto pass = [&](std::size_t which) {
    return row(tasks_, begin_, key(line, step.stage, which, step.microbatch));
  };
  switch (step.kind) {
    case StepKind::forward:
      return {pass(0), {}};
    case StepKind::backward:
      return {pass(1), pass(2)};
    case StepKind::backward_data:
      return {pass(1), {}};
    case StepKind::backward_weight:
      return {pass(2), {}};
  }
  return {};
}

}  // namespace schedlab
