// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "policies/pipeline/pass_tasks.hpp"
#include "policies/pipeline/step_order.hpp"
#include "sim/graph/task_graph.hpp"
#include "sim/pipeline/pipeline_work.hpp"

#include <cstdint>
#include <map>
#include <utility>
#include <vector>

namespace schedlab {

/// Which messages of a pipeline two ranks send to each other before either receives: with blocking
/// calls both would wait forever.
class CrossingMessages {
 public:
  /// `orders`: the steps of each place of a group. Cost O(tasks + messages log messages).
  CrossingMessages(const TaskGraph& graph,
                   const PassTasks& tasks,
                   const PipelineRanks& ranks,
                   const std::vector<StepOrder>& orders,
                   const std::vector<RankMessage>& messages);

  /// Calls visit(other) for what the receiver of `message` sends its sender in its next step that
  /// sends to it, if that comes before the step that needs `message`. `received(other)`: has the
  /// sender of `message` received it?
  template <class Received, class Visitor>
  void for_each_crossing(std::uint32_t message, Received received, Visitor visit) {
    const Ends& sent = ends_[message];
    auto& [list, next] = between_[{sent.to, sent.from}];
    while (next < list.size() && received(list[next])) ++next;
    if (next == list.size() || ends_[list[next]].made_by >= sent.needed_by) return;
    const std::uint32_t step = ends_[list[next]].made_by;
    for (std::size_t i = next; i < list.size() && ends_[list[i]].made_by == step; ++i) {
      if (!received(list[i])) visit(list[i]);
    }
  }

 private:
  /// Ranks of a message, and the steps of theirs that make and need it.
  struct Ends {
    std::uint32_t from = 0;
    std::uint32_t to = 0;
    std::uint32_t made_by = 0;
    std::uint32_t needed_by = 0;
  };
  /// Messages by the step that makes them, and the first that has not been received.
  struct Queue {
    std::vector<std::uint32_t> list;
    std::size_t next = 0;
  };

  std::vector<Ends> ends_;                                            // by message
  std::map<std::pair<std::uint32_t, std::uint32_t>, Queue> between_;  // by sender and receiver
};

}  // namespace schedlab
