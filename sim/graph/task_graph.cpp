// SPDX-License-Identifier: Apache-2.0
#include "sim/graph/task_graph.hpp"

#include "sim/base/error.hpp"
#include "sim/base/huge_pages.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <limits>
#include <numeric>

namespace schedlab {
namespace {

std::string made_name(const Operation& operation, const Tags& tags, TaskId task) {
  if (tags.stage >= 0 && tags.microbatch >= 0) {
    return fmt::format("{}[stage {}, microbatch {}]", operation.name, tags.stage, tags.microbatch);
  }
  if (tags.stage >= 0) return fmt::format("{}[stage {}]", operation.name, tags.stage);
  if (tags.layer >= 0 && tags.step >= 0) {
    return fmt::format("{}({},{})", operation.name, tags.layer, tags.step);
  }
  if (tags.layer >= 0) return fmt::format("{}({})", operation.name, tags.layer);
  return fmt::format("{}#{}", operation.name, task.value());
}

constexpr std::uint32_t unvisited = std::numeric_limits<std::uint32_t>::max();

/// Rows sorted by target id, duplicates removed in place. Offsets are rewritten.
void sort_rows(std::vector<std::uint32_t>& offset, std::vector<TaskId>& items) {
  std::uint32_t write = 0;
  for (std::size_t row = 0; row + 1 < offset.size(); ++row) {
    const auto begin = items.begin() + offset[row];
    const auto end = items.begin() + offset[row + 1];
    if (!std::is_sorted(begin, end)) std::sort(begin, end);
    const auto last = std::unique(begin, end);
    offset[row] = write;
    for (auto it = begin; it != last; ++it) items[write++] = *it;
  }
  offset.back() = write;
  items.resize(write);
}

/// Kahn's order; shorter than the graph if there is a cycle.
std::vector<TaskId> kahn_order(const TaskGraph& graph) {
  IdVector<TaskId, std::uint32_t> missing(graph.task_count(), 0U);
  std::vector<TaskId> order;
  order.reserve(graph.task_count());
  for (const TaskId task : graph.tasks()) {
    missing[task] = static_cast<std::uint32_t>(graph.predecessors(task).size());
    if (missing[task] == 0) order.push_back(task);
  }
  for (std::size_t head = 0; head < order.size(); ++head) {
    for (const TaskId next : graph.successors(order[head])) {
      if (--missing[next] == 0) order.push_back(next);
    }
  }
  return order;
}

/// Some cycle among tasks that Kahn's algorithm could not order: walk predecessors until one
/// repeats.
std::string printed_cycle(const TaskGraph& graph, const std::vector<TaskId>& ordered) {
  IdVector<TaskId, std::uint8_t> done(graph.task_count(), 0);
  for (const TaskId task : ordered) done[task] = 1;
  TaskId task{0};
  while (done[task] != 0) ++task;
  std::vector<TaskId> path;
  IdVector<TaskId, std::uint32_t> position(graph.task_count(), unvisited);
  while (position[task] == unvisited) {
    position[task] = static_cast<std::uint32_t>(path.size());
    path.push_back(task);
    const auto before = graph.predecessors(task);
    task = *std::find_if(before.begin(), before.end(), [&](TaskId t) { return done[t] == 0; });
  }
  std::string text = graph.name(task);
  for (std::size_t i = path.size(); i-- > position[task];) {
    text += " -> " + graph.name(path[i]);
    if (path.size() - i >= 12 && i > position[task] + 1) {
      return text + fmt::format(" -> ... ({} tasks) -> ", path.size() - position[task]) +
             graph.name(task);
    }
  }
  return text;
}

}  // namespace

std::string TaskGraph::name(TaskId task) const {
  if (!name_offset_.empty()) {
    const std::uint32_t begin = name_offset_[task.value()];
    const std::uint32_t end = name_offset_[task.value() + 1];
    if (end > begin) return name_pool_.substr(begin, end - begin);
  }
  return made_name(operation(task), tags(task), task);
}

TaskId TaskGraph::find(std::string_view name) const {
  for (const TaskId task : tasks()) {
    if (this->name(task) == name) return task;
  }
  return TaskId::none();
}

std::vector<TaskId> TaskGraph::topological_order() const {
  if (!topologically_numbered_) return kahn_order(*this);
  std::vector<TaskId> order;
  order.reserve(task_count());
  for (const TaskId task : tasks()) order.push_back(task);
  return order;
}

std::size_t TaskGraph::memory_bytes() const {
  std::size_t bytes =
      operation_of_.raw().capacity() * sizeof(OperationId) + tags_.raw().capacity() * sizeof(Tags) +
      fixed_durations_.raw().capacity() * sizeof(Duration) +
      (successor_offset_.capacity() + predecessor_offset_.capacity() + name_offset_.capacity()) *
          sizeof(std::uint32_t) +
      (successors_.capacity() + predecessors_.capacity()) * sizeof(TaskId) + name_pool_.capacity() +
      tensors_.memory_bytes() + collectives_.memory_bytes() +
      rank_of_.raw().capacity() * sizeof(std::uint32_t);
  for (const Operation& operation : operations_) {
    bytes += sizeof(Operation) + operation.kernels.capacity() * sizeof(Kernel);
  }
  return bytes;
}

OperationId TaskGraphBuilder::add_operation(Operation operation) {
  return graph_.operations_.push_back(std::move(operation));
}

TaskId TaskGraphBuilder::add_task(OperationId operation, Tags tags) {
  SCHEDLAB_EXPECTS(graph_.operations_.contains(operation),
                   fmt::format("operation of task {}", task_count()));
  if (!graph_.fixed_durations_.empty()) {
    graph_.fixed_durations_.push_back(graph_.operations_[operation].fixed_duration);
  }
  graph_.tags_.push_back(tags);
  return graph_.operation_of_.push_back(operation);
}

TaskId TaskGraphBuilder::add_task(OperationId operation, Tags tags, std::string_view name) {
  const TaskId task = add_task(operation, tags);
  graph_.name_offset_.resize(task.value() + 1,
                             static_cast<std::uint32_t>(graph_.name_pool_.size()));
  graph_.name_pool_ += name;
  graph_.name_offset_.push_back(static_cast<std::uint32_t>(graph_.name_pool_.size()));
  return task;
}

TaskId TaskGraphBuilder::add_first_timed_task(OperationId operation, Tags tags, Duration duration) {
  const TaskId task = add_task(operation, tags);
  set_duration(task, duration);
  return task;
}

void TaskGraphBuilder::set_duration(TaskId task, Duration duration) {
  SCHEDLAB_EXPECTS(task.value() < task_count() && duration >= Duration{0},
                   fmt::format("duration of task {}", task.value()));
  auto& durations = graph_.fixed_durations_;
  if (durations.empty()) {
    durations.reserve(graph_.operation_of_.raw().capacity());
    for (const OperationId op : graph_.operation_of_) {
      durations.push_back(graph_.operations_[op].fixed_duration);
    }
  }
  durations[task] = duration;
}

void TaskGraphBuilder::set_rank(TaskId task, std::uint32_t rank) {
  SCHEDLAB_EXPECTS(task.value() < task_count(), fmt::format("rank of task {}", task.value()));
  if (rank == 0 && graph_.rank_of_.empty()) return;
  graph_.rank_of_.resize(task_count(), 0);
  graph_.rank_of_[task] = rank;
  graph_.rank_count_ = std::max(graph_.rank_count_, rank + 1);
}

CollectiveId TaskGraphBuilder::add_collective(CollectiveSpec spec) {
  SCHEDLAB_EXPECTS(spec.bytes >= Bytes{0},
                   fmt::format("bytes of collective {}", graph_.collectives_.size()));
  return graph_.collectives_.specs_.push_back(spec);
}

// NOLINTNEXTLINE(performance-unnecessary-value-param): most callers give a temporary object
TensorId TaskGraphBuilder::add_tensor(TensorInfo info) {
  graph_.tensors_.add(info);
  return TensorId{static_cast<std::uint32_t>(graph_.tensors_.size() - 1)};
}

void TaskGraphBuilder::reserve(std::size_t tasks, std::size_t edges) {
  reserve_large(graph_.operation_of_.raw(), tasks);
  reserve_large(graph_.tags_.raw(), tasks);
  reserve_large(graph_.predecessor_offset_, tasks + 1);
  reserve_large(graph_.predecessors_, edges);
}

void TaskGraphBuilder::add_edge_out_of_order(TaskId from, TaskId to) {
  if (edges_.empty()) {
    auto& offset = graph_.predecessor_offset_;
    auto& before = graph_.predecessors_;
    edges_.reserve(std::max(before.capacity(), std::size_t{16}));
    offset.push_back(static_cast<std::uint32_t>(before.size()));
    for (std::uint32_t row = 0; row + 1 < offset.size(); ++row) {
      for (std::uint32_t i = offset[row]; i < offset[row + 1]; ++i) {
        edges_.emplace_back(before[i], TaskId{row});
      }
    }
    offset = {0};
    before = {};
  }
  edges_.emplace_back(from, to);
}

void TaskGraphBuilder::derive_edges_from_tensors() {
  TensorTable& tensors = graph_.tensors_;
  tensors.set_uses(writes_, reads_);
  for (const TensorId tensor : tensors.ids()) {
    const auto writers = tensors.writers(tensor);
    SCHEDLAB_EXPECTS(writers.size() <= 1 || tensors.accumulate(tensor),
                     fmt::format("tensor {} \"{}\" has {} writers but does not accumulate",
                                 tensor.value(),
                                 tensors.name(tensor),
                                 writers.size()));
    for (const TaskId reader : tensors.readers(tensor)) {
      if (std::find(writers.begin(), writers.end(), reader) != writers.end()) continue;
      for (const TaskId writer : writers) add_edge(writer, reader);
    }
  }
  writes_ = {};
  reads_ = {};
}

void TaskGraphBuilder::finish_predecessors() {
  if (!edges_.empty()) {
    sort_edges_into_rows();
    return;
  }
  auto& offset = graph_.predecessor_offset_;
  const std::size_t edges = graph_.predecessors_.size();
  SCHEDLAB_EXPECTS(edges < std::numeric_limits<std::uint32_t>::max(),
                   fmt::format("{} edges", edges));
  SCHEDLAB_EXPECTS(edges == 0 || offset.size() <= task_count(),
                   fmt::format("edge to task {} of {} tasks", offset.size() - 1, task_count()));
  offset.resize(task_count() + 1, static_cast<std::uint32_t>(edges));
}

void TaskGraphBuilder::sort_edges_into_rows() {
  const std::size_t n = task_count();
  SCHEDLAB_EXPECTS(edges_.size() < std::numeric_limits<std::uint32_t>::max(),
                   fmt::format("{} edges", edges_.size()));
  auto& offset = graph_.predecessor_offset_;
  offset.assign(n + 2, 0);
  for (const auto& [from, to] : edges_) {
    SCHEDLAB_EXPECTS(from.value() < n && to.value() < n,
                     fmt::format("edge {} -> {} of {} tasks", from.value(), to.value(), n));
    ++offset[to.value() + 2];
  }
  // Filling a row moves its beginning to its end, which is where the next begins.
  std::partial_sum(offset.begin(), offset.end(), offset.begin());
  auto& items = graph_.predecessors_;
  items.resize(edges_.size());
  for (const auto& [from, to] : edges_) items[offset[to.value() + 1]++] = from;
  offset.pop_back();
  edges_ = {};
}

void TaskGraphBuilder::check_rows() {
  auto& offset = graph_.predecessor_offset_;
  auto& items = graph_.predecessors_;
  bool ascending = true;
  std::uint32_t highest = 0;
  for (std::uint32_t row = 0; row + 1 < offset.size(); ++row) {
    for (std::uint32_t i = offset[row]; i < offset[row + 1]; ++i) {
      const std::uint32_t before = items[i].value();
      highest = std::max(highest, before);
      if (before >= row) graph_.topologically_numbered_ = false;
      if (i > offset[row] && items[i] <= items[i - 1]) ascending = false;
    }
  }
  SCHEDLAB_EXPECTS(items.empty() || highest < task_count(),
                   fmt::format("edge from task {} of {} tasks", highest, task_count()));
  if (!ascending) sort_rows(offset, items);
  if (items.capacity() > 2 * items.size()) items.shrink_to_fit();
}

void TaskGraphBuilder::transpose_rows() {
  const auto& offset = graph_.predecessor_offset_;
  const auto& items = graph_.predecessors_;
  auto& begin = graph_.successor_offset_;
  begin.assign(task_count() + 2, 0);
  for (const TaskId before : items) ++begin[before.value() + 2];
  std::partial_sum(begin.begin(), begin.end(), begin.begin());
  auto& successors = graph_.successors_;
  successors.resize(items.size());
  for (std::uint32_t row = 0; row + 1 < offset.size(); ++row) {  // ascending: rows come out sorted
    for (std::uint32_t i = offset[row]; i < offset[row + 1]; ++i) {
      successors[begin[items[i].value() + 1]++] = TaskId{row};
    }
  }
  begin.pop_back();
}

void TaskGraphBuilder::build_collectives() {
  CollectiveTable& table = graph_.collectives_;
  if (!graph_.rank_of_.empty()) graph_.rank_of_.resize(task_count(), 0);
  if (table.empty()) {
    SCHEDLAB_EXPECTS(joins_.empty(), "a task joins a collective that was never added");
    return;
  }
  std::sort(joins_.begin(), joins_.end());
  table.of_.assign(task_count(), CollectiveId::none());
  table.offset_.assign(table.size() + 1, 0);
  for (const auto& [collective, task] : joins_) {
    SCHEDLAB_EXPECTS(table.specs_.contains(collective) && task.value() < task_count(),
                     fmt::format("task {} in collective {}", task.value(), collective.value()));
    SCHEDLAB_EXPECTS(
        graph_.operation(task).kind == TaskKind::collective && !table.of_[task].valid(),
        fmt::format("task {} \"{}\" joins collective {}: it must be of kind "
                    "collective and in no other",
                    task.value(),
                    graph_.name(task),
                    collective.value()));
    table.of_[task] = collective;
    table.tasks_.push_back(task);
    ++table.offset_[collective.value() + 1];
  }
  for (std::size_t i = 1; i < table.offset_.size(); ++i) table.offset_[i] += table.offset_[i - 1];
  std::vector<std::uint32_t> seen_by(graph_.rank_count_, 0);  // by rank; ids from 1
  for (const CollectiveId id : table.ids()) {
    SCHEDLAB_EXPECTS(!table.tasks(id).empty(),
                     fmt::format("collective {} has no tasks", id.value()));
    for (const TaskId task : table.tasks(id)) {
      std::uint32_t& seen = seen_by[graph_.rank(task)];
      SCHEDLAB_EXPECTS(seen != id.value() + 1,
                       fmt::format("collective {} has two tasks on rank {}, \"{}\" is the second",
                                   id.value(),
                                   graph_.rank(task),
                                   graph_.name(task)));
      seen = id.value() + 1;
    }
  }
  joins_ = {};
}

void TaskGraphBuilder::check_acyclic() const {
  if (graph_.topologically_numbered_) return;
  const std::vector<TaskId> ordered = kahn_order(graph_);
  if (ordered.size() == graph_.task_count()) return;
  throw InputError({.file = {},
                    .pointer = {},
                    .found = "the cycle " + printed_cycle(graph_, ordered),
                    .expected = "a graph without cycles",
                    .hint = "remove one of these dependencies"});
}

TaskGraph TaskGraphBuilder::build() && {
  if (!graph_.name_offset_.empty()) {
    graph_.name_offset_.resize(task_count() + 1,
                               static_cast<std::uint32_t>(graph_.name_pool_.size()));
  }
  derive_edges_from_tensors();
  build_collectives();
  finish_predecessors();
  check_rows();
  transpose_rows();
  check_acyclic();
  return std::move(graph_);
}

}  // namespace schedlab
