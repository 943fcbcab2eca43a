// SPDX-License-Identifier: Apache-2.0
#include "sim/pipeline/pipeline_work.hpp"

#include "sim/base/error.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <limits>

namespace schedlab {

std::string_view to_string(PipelineWork work) {
  static constexpr std::array<std::string_view, pipeline_work_count> words{"labels",
                                                                           "receive_activation",
                                                                           "forward",
                                                                           "send_activation",
                                                                           "recompute",
                                                                           "receive_gradient",
                                                                           "backward_data",
                                                                           "send_gradient",
                                                                           "backward_weight",
                                                                           "all_reduce",
                                                                           "update",
                                                                           "gather_forward",
                                                                           "gather_backward"};
  return words[static_cast<std::size_t>(work)];
}

std::optional<PipelineWork> pipeline_work(const Tags& tags) {
  if (tags.stage < 0 || tags.step < 0) return std::nullopt;
  if (tags.step >= static_cast<std::int32_t>(pipeline_work_count)) return std::nullopt;
  return static_cast<PipelineWork>(tags.step);
}

Tags pipeline_tags(std::uint32_t stage, std::int64_t microbatch, PipelineWork work) {
  SCHEDLAB_EXPECTS(stage <= std::numeric_limits<std::int16_t>::max(),
                   fmt::format("stage {}", stage));
  return {.layer = -1,
          .stage = static_cast<std::int16_t>(stage),
          .step = static_cast<std::int32_t>(work),
          .microbatch = static_cast<std::int32_t>(microbatch)};
}

PipelineRanks pipeline_ranks(const TaskGraph& graph) {
  PipelineRanks ranks;
  // Of other graphs the first task says it.
  if (graph.task_count() == 0 || !pipeline_work(graph.tags(TaskId{0}))) return ranks;
  std::vector<bool> has_first_stage(graph.rank_count(), false);
  for (const TaskId task : graph.tasks()) {
    const Tags& tags = graph.tags(task);
    if (tags.stage == 0 && tags.microbatch == 0 && pipeline_work(tags) == PipelineWork::forward) {
      has_first_stage[graph.rank(task)] = true;
    }
  }
  const auto lines =
      static_cast<std::uint32_t>(std::count(has_first_stage.begin(), has_first_stage.end(), true));
  for (const CollectiveId id : graph.collectives().ids()) {
    const auto parts = graph.collectives().tasks(id);
    const PipelineWork work = *pipeline_work(graph.tags(parts.front()));
    if (joins_replicas(work) || work == PipelineWork::update) continue;
    ranks.tensor_parallel = static_cast<std::uint32_t>(parts.size());
    break;
  }
  ranks.replicas = lines / ranks.tensor_parallel;
  if (lines > 0) ranks.places = std::max(graph.rank_count() / lines, 1U);
  return ranks;
}

std::vector<RankMessage> rank_messages(const TaskGraph& graph) {
  std::vector<RankMessage> messages;
  for (const TaskId task : graph.tasks()) {
    const std::size_t first = messages.size();
    for (const TaskId after : graph.successors(task)) {
      const std::uint32_t to = graph.rank(after);
      if (to == graph.rank(task)) continue;
      const auto same = [to](const RankMessage& m) { return m.to == to; };
      const auto begin = messages.begin() + static_cast<std::ptrdiff_t>(first);
      if (std::none_of(begin, messages.end(), same)) messages.push_back({task, to, Bytes{0}});
    }
    std::sort(messages.begin() + static_cast<std::ptrdiff_t>(first),
              messages.end(),
              [](const RankMessage& a, const RankMessage& b) { return a.to < b.to; });
  }
  const TensorTable& tensors = graph.tensors();
  const auto less = [](const RankMessage& m, TaskId producer) { return m.producer < producer; };
  for (const TensorId tensor : tensors.ids()) {
    const auto readers = tensors.readers(tensor);
    for (const TaskId writer : tensors.writers(tensor)) {
      auto message = std::lower_bound(messages.begin(), messages.end(), writer, less);
      for (; message != messages.end() && message->producer == writer; ++message) {
        const bool read = std::any_of(readers.begin(), readers.end(), [&](TaskId reader) {
          return graph.rank(reader) == message->to;
        });
        if (read) message->bytes += tensors.bytes(tensor);
      }
    }
  }
  return messages;
}

}  // namespace schedlab
