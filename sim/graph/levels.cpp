// SPDX-License-Identifier: Apache-2.0
#include "sim/graph/levels.hpp"

#include "sim/base/error.hpp"

#include <fmt/format.h>

#include <algorithm>

namespace schedlab {
namespace {

void expect_one_per_task(const TaskGraph& graph, const IdVector<TaskId, Duration>& durations) {
  SCHEDLAB_EXPECTS(durations.size() == graph.task_count(),
                   fmt::format("{} durations for {} tasks", durations.size(), graph.task_count()));
  for (const TaskId task : graph.tasks()) {
    SCHEDLAB_EXPECTS(durations[task] >= Duration{0},
                     fmt::format("duration of task {}", graph.name(task)));
  }
}

}  // namespace

IdVector<TaskId, Duration> upward_rank(const TaskGraph& graph,
                                       const IdVector<TaskId, Duration>& durations) {
  expect_one_per_task(graph, durations);
  IdVector<TaskId, Duration> rank(graph.task_count(), Duration{0});
  const std::vector<TaskId> order = graph.topological_order();
  for (std::size_t i = order.size(); i-- > 0;) {
    const TaskId task = order[i];
    Duration longest{0};
    for (const TaskId next : graph.successors(task)) longest = std::max(longest, rank[next]);
    rank[task] = longest + durations[task];
  }
  return rank;
}

IdVector<TaskId, Duration> downward_rank(const TaskGraph& graph,
                                         const IdVector<TaskId, Duration>& durations) {
  expect_one_per_task(graph, durations);
  IdVector<TaskId, Duration> rank(graph.task_count(), Duration{0});
  for (const TaskId task : graph.topological_order()) {
    for (const TaskId before : graph.predecessors(task)) {
      rank[task] = std::max(rank[task], rank[before] + durations[before]);
    }
  }
  return rank;
}

IdVector<TaskId, Duration> slack(const TaskGraph& graph,
                                 const IdVector<TaskId, Duration>& durations) {
  const auto up = upward_rank(graph, durations);
  const auto down = downward_rank(graph, durations);
  const Duration length = critical_path_length(graph, durations);
  IdVector<TaskId, Duration> result(graph.task_count(), Duration{0});
  for (const TaskId task : graph.tasks()) result[task] = length - up[task] - down[task];
  return result;
}

std::vector<TaskId> critical_path(const TaskGraph& graph,
                                  const IdVector<TaskId, Duration>& durations) {
  const auto rank = upward_rank(graph, durations);
  std::vector<TaskId> path;
  TaskId at;
  for (const TaskId task : graph.tasks()) {
    if (!graph.predecessors(task).empty()) continue;
    if (!at.valid() || rank[task] > rank[at]) at = task;
  }
  while (at.valid()) {
    path.push_back(at);
    TaskId following;
    for (const TaskId next : graph.successors(at)) {
      if (!following.valid() || rank[next] > rank[following]) following = next;
    }
    at = following;
  }
  return path;
}

Duration critical_path_length(const TaskGraph& graph, const IdVector<TaskId, Duration>& durations) {
  const auto rank = upward_rank(graph, durations);
  return rank.empty() ? Duration{0} : *std::max_element(rank.begin(), rank.end());
}

IdVector<TaskId, std::uint32_t> levels(const TaskGraph& graph) {
  IdVector<TaskId, std::uint32_t> level(graph.task_count(), 0U);
  for (const TaskId task : graph.topological_order()) {
    for (const TaskId before : graph.predecessors(task)) {
      level[task] = std::max(level[task], level[before] + 1);
    }
  }
  return level;
}

}  // namespace schedlab
