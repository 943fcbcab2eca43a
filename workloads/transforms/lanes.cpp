// SPDX-License-Identifier: Apache-2.0
#include "workloads/transforms/lanes.hpp"

#include "sim/graph/levels.hpp"
#include "workloads/transforms/critical_partition.hpp"

#include <algorithm>
#include <limits>
#include <vector>

namespace schedlab::detail {
namespace {

constexpr std::size_t max_lanes = std::numeric_limits<std::int16_t>::max();

struct Lane {
  TaskId last;
  Duration free_from{0};
};

}  // namespace

IdVector<TaskId, std::int16_t> lanes(const TaskGraph& graph,
                                     const IdVector<TaskId, std::uint8_t>& critical) {
  IdVector<TaskId, Duration> length(graph.task_count());
  for (const TaskId task : graph.tasks()) length[task] = nominal_duration(graph, task);
  const IdVector<TaskId, Duration> start = downward_rank(graph, length);
  std::vector<TaskId> order = graph.topological_order();
  std::stable_sort(
      order.begin(), order.end(), [&](TaskId a, TaskId b) { return start[a] < start[b]; });

  IdVector<TaskId, std::int16_t> lane_of(graph.task_count(), std::int16_t{-1});
  std::vector<Lane> lanes;
  const auto fits = [&](const Lane& lane, TaskId task) { return lane.free_from <= start[task]; };
  for (const TaskId task : order) {
    if (critical[task] == 0) continue;
    std::size_t chosen = lanes.size();
    Duration latest{-1};
    for (const TaskId before : graph.predecessors(task)) {
      if (lane_of[before] < 0) continue;
      const auto lane = static_cast<std::size_t>(lane_of[before]);
      if (lanes[lane].last == before && start[before] + length[before] > latest) {
        latest = start[before] + length[before];
        chosen = lane;
      }
    }
    if (chosen == lanes.size()) {
      for (std::size_t lane = 0; lane < lanes.size(); ++lane) {
        if (!fits(lanes[lane], task)) continue;
        if (chosen == lanes.size() || lanes[lane].free_from > lanes[chosen].free_from) {
          chosen = lane;
        }
      }
    }
    if (chosen == lanes.size() && lanes.size() == max_lanes) chosen = task.value() % max_lanes;
    if (chosen == lanes.size()) lanes.emplace_back();
    lanes[chosen] = {.last = task, .free_from = start[task] + length[task]};
    lane_of[task] = static_cast<std::int16_t>(chosen);
  }
  return lane_of;
}

}  // namespace schedlab::detail
