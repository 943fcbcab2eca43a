// SPDX-License-Identifier: Apache-2.0
#include "policies/pipeline/crossing_messages.hpp"

#include <algorithm>
#include <limits>

namespace schedlab {
namespace {

/// By task: which step of its rank it belongs to, overlapping ones being one; collectives and
/// updates come after all.
std::vector<std::uint32_t> steps_of_tasks(const TaskGraph& graph,
                                          const PassTasks& tasks,
                                          const PipelineRanks& ranks,
                                          const std::vector<StepOrder>& orders) {
  std::vector<std::uint32_t> steps(graph.task_count(), std::numeric_limits<std::uint32_t>::max());
  for (std::uint32_t rank = 0; rank < graph.rank_count(); ++rank) {
    const StepOrder& order = orders[ranks.place(rank)];
    std::uint32_t number = 0;
    for (const PipelineStep& step : order) {
      for (const auto pass : tasks.of(ranks.line(rank), step)) {
        for (const TaskId task : pass) steps[task.value()] = number;
      }
      if (!step.with_next) ++number;
    }
  }
  return steps;
}

}  // namespace

CrossingMessages::CrossingMessages(const TaskGraph& graph,
                                   const PassTasks& tasks,
                                   const PipelineRanks& ranks,
                                   const std::vector<StepOrder>& orders,
                                   const std::vector<RankMessage>& messages) {
  const std::vector<std::uint32_t> steps = steps_of_tasks(graph, tasks, ranks, orders);
  for (std::uint32_t i = 0; i < messages.size(); ++i) {
    const RankMessage& message = messages[i];
    Ends ends{.from = graph.rank(message.producer),
              .to = message.to,
              .made_by = steps[message.producer.value()],
              .needed_by = std::numeric_limits<std::uint32_t>::max()};
    for (const TaskId reader : graph.successors(message.producer)) {
      if (graph.rank(reader) == message.to) {
        ends.needed_by = std::min(ends.needed_by, steps[reader.value()]);
      }
    }
    // Labels do not wait for their receiver.
    if (pipeline_work(graph.tags(message.producer)) != PipelineWork::labels) {
      between_[{ends.from, ends.to}].list.push_back(i);
    }
    ends_.push_back(ends);
  }
  for (auto& [ends, queue] : between_) {
    std::stable_sort(queue.list.begin(), queue.list.end(), [this](auto a, auto b) {
      return ends_[a].made_by < ends_[b].made_by;
    });
  }
}

}  // namespace schedlab
