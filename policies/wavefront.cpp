// SPDX-License-Identifier: Apache-2.0
#include "policies/wavefront.hpp"

#include "sim/graph/levels.hpp"
#include "sim/trace/time_order.hpp"

#include <algorithm>
#include <numeric>
#include <queue>
#include <utility>

namespace schedlab {
namespace {

using Keyed = std::pair<std::int64_t, TaskId>;

bool is_topological(const TaskGraph& graph, const std::vector<TaskId>& order) {
  IdVector<TaskId, std::uint8_t> seen(graph.task_count(), 0);
  for (const TaskId task : order) {
    for (const TaskId before : graph.predecessors(task)) {
      if (seen[before] == 0) return false;
    }
    seen[task] = 1;
  }
  return true;
}

/// By rising key, equal ones by rising id.
std::vector<TaskId> sorted_by(const std::vector<std::int64_t>& keys) {
  std::vector<TaskId> order(keys.size());
  constexpr std::int64_t far = std::int64_t{1} << 61U;  // differences fit into 64 bits
  if (std::all_of(keys.begin(), keys.end(), [](std::int64_t k) { return k > -far && k < far; })) {
    TimeOrder by_key;
    const auto indices = by_key.by_time(keys);
    std::transform(indices.begin(), indices.end(), order.begin(), [](std::uint32_t index) {
      return TaskId{index};
    });
    return order;
  }
  for (std::uint32_t i = 0; i < keys.size(); ++i) order[i] = TaskId{i};
  std::stable_sort(order.begin(), order.end(), [&](TaskId a, TaskId b) {
    return keys[a.value()] < keys[b.value()];
  });
  return order;
}

/// Of the ready tasks always the one with the lowest key.
std::vector<TaskId> order_of_ready(const TaskGraph& graph, const std::vector<std::int64_t>& keys) {
  const auto keyed = [&](TaskId task) { return Keyed{keys[task.value()], task}; };
  std::priority_queue<Keyed, std::vector<Keyed>, std::greater<>> ready;
  IdVector<TaskId, std::uint32_t> missing(graph.task_count(), 0);
  for (const TaskId task : graph.tasks()) {
    missing[task] = static_cast<std::uint32_t>(graph.predecessors(task).size());
    if (missing[task] == 0) ready.push(keyed(task));
  }
  std::vector<TaskId> order;
  order.reserve(graph.task_count());
  while (!ready.empty()) {
    const TaskId task = ready.top().second;
    ready.pop();
    order.push_back(task);
    for (const TaskId after : graph.successors(task)) {
      if (--missing[after] == 0) ready.push(keyed(after));
    }
  }
  return order;
}

}  // namespace

std::uint32_t layer_count(const TaskGraph& graph) {
  std::uint32_t count = 0;
  for (const TaskId task : graph.tasks()) {
    count = std::max(count, static_cast<std::uint32_t>(graph.tags(task).layer + 1));
  }
  return count;
}

std::uint32_t deepest_stack(const TaskGraph& graph) {
  const std::uint32_t layers = layer_count(graph);
  std::vector<std::uint32_t> stack(layers);  // of a layer: another one of its stack, or itself
  std::iota(stack.begin(), stack.end(), 0U);
  const auto root = [&](std::uint32_t layer) {
    while (stack[layer] != layer) layer = stack[layer] = stack[stack[layer]];
    return layer;
  };
  std::vector<std::uint8_t> used(layers, 0);
  for (const TaskId task : graph.tasks()) {
    const Tags tags = graph.tags(task);
    if (tags.layer < 0) continue;
    used[static_cast<std::size_t>(tags.layer)] = 1;
    for (const TaskId before : graph.predecessors(task)) {
      const Tags other = graph.tags(before);
      if (other.layer < 0 || other.step != tags.step) continue;
      stack[root(static_cast<std::uint32_t>(other.layer))] =
          root(static_cast<std::uint32_t>(tags.layer));
    }
  }
  std::vector<std::uint32_t> count(layers, 0);
  std::uint32_t deepest = 0;
  for (std::uint32_t layer = 0; layer < layers; ++layer) {
    if (used[layer] != 0) deepest = std::max(deepest, ++count[root(layer)]);
  }
  return deepest;
}

std::vector<TaskId> wavefront_order(const TaskGraph& graph) {
  const IdVector<TaskId, std::uint32_t> level = levels(graph);
  std::vector<std::uint32_t> next;  // counting sort, stable in the id
  for (const std::uint32_t l : level) {
    if (l + 1 >= next.size()) next.resize(l + 2, 0);
    ++next[l + 1];
  }
  for (std::size_t i = 1; i < next.size(); ++i) next[i] += next[i - 1];
  std::vector<TaskId> order(graph.task_count());
  for (const TaskId task : graph.tasks()) order[next[level[task]]++] = task;
  return order;
}

std::uint32_t widest_level(const TaskGraph& graph) {
  std::vector<std::uint32_t> width;
  for (const std::uint32_t l : levels(graph)) {
    if (l >= width.size()) width.resize(l + 1, 0);
    ++width[l];
  }
  return width.empty() ? 0 : *std::max_element(width.begin(), width.end());
}

std::vector<TaskId> order_by_key(const TaskGraph& graph,
                                 const std::function<std::int64_t(TaskId)>& key) {
  std::vector<std::int64_t> keys(graph.task_count());
  for (const TaskId task : graph.tasks()) keys[task.value()] = key(task);
  std::vector<TaskId> order = sorted_by(keys);
  // If no task stands before its predecessor, the task with the lowest key is always a ready one.
  if (!is_topological(graph, order)) order = order_of_ready(graph, keys);
  return order;
}

}  // namespace schedlab
