// SPDX-License-Identifier: Apache-2.0
#include "workloads/transforms/overlap_iterations.hpp"

#include "sim/base/error.hpp"
#include "workloads/transforms/copy_graph.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <limits>
#include <map>
#include <span>
#include <string>
#include <utility>
#include <vector>

namespace schedlab {
namespace {

/// Of something that an iteration leaves to the next: who uses it first and last.
struct Use {
  std::vector<TaskId> first;
  std::vector<TaskId> last;
};

Use use_of(const TaskGraph& graph, TensorId id) {
  std::vector<TaskId> users;
  for (const auto tasks : {graph.tensors().writers(id), graph.tensors().readers(id)}) {
    users.insert(users.end(), tasks.begin(), tasks.end());
  }
  std::sort(users.begin(), users.end());
  users.erase(std::unique(users.begin(), users.end()), users.end());
  const auto none_uses = [&](std::span<const TaskId> tasks) {
    return std::none_of(tasks.begin(), tasks.end(), [&](TaskId task) {
      return std::binary_search(users.begin(), users.end(), task);
    });
  };
  Use use;
  for (const TaskId user : users) {
    if (none_uses(graph.predecessors(user))) use.first.push_back(user);
    if (none_uses(graph.successors(user))) use.last.push_back(user);
  }
  return use;
}

/// What an iteration needs of the one before; by layer and for each tensor that the step writes.
std::vector<Use> carried_over(const TaskGraph& graph) {
  std::map<int, Use> by_layer;
  for (const TaskId task : graph.tasks()) {
    if (graph.operation(task).task_class == TaskClass::update) {
      by_layer[graph.tags(task).layer].last.push_back(task);
    }
  }
  if (by_layer.empty()) {
    throw InfeasibleError(
        "overlap_iterations: no task of class update\n  iterations are of training steps");
  }
  std::vector<Use> uses;
  const TensorTable& tensors = graph.tensors();
  for (const TensorId id : tensors.ids()) {
    if (!tensors.persistent(id) || tensors.accumulate(id)) continue;
    if (!tensors.writers(id).empty()) {
      uses.push_back(use_of(graph, id));
      continue;
    }
    for (const TaskId task : tensors.readers(id)) {
      by_layer[graph.tags(task).layer].first.push_back(task);
    }
  }
  for (auto& [layer, use] : by_layer) {
    std::sort(use.first.begin(), use.first.end());
    use.first.erase(std::unique(use.first.begin(), use.first.end()), use.first.end());
    uses.push_back(std::move(use));
  }
  return uses;
}

/// Adds iteration `i`; "cell(3,9)" of iteration 2 is "cell(3,9)#2".
IdVector<TaskId, TaskId> add_tasks(const TaskGraph& graph,
                                   std::uint32_t i,
                                   TaskGraphBuilder& builder) {
  IdVector<TaskId, TaskId> copies;
  for (const TaskId task : graph.tasks()) {
    const std::string name =
        i == 0 ? detail::name_to_keep(graph, task) : fmt::format("{}#{}", graph.name(task), i);
    const OperationId operation = graph.operation_id(task);
    copies.push_back(name.empty() ? builder.add_task(operation, graph.tags(task))
                                  : builder.add_task(operation, graph.tags(task), name));
    if (graph.has_task_durations()) {
      builder.set_duration(copies[task], graph.fixed_duration(task));
    }
  }
  return copies;
}

void add_own_tensors(const TaskGraph& graph,
                     std::uint32_t i,
                     const IdVector<TaskId, TaskId>& copies,
                     TaskGraphBuilder& builder) {
  const TensorTable& tensors = graph.tensors();
  for (const TensorId id : tensors.ids()) {
    if (tensors.persistent(id) && !tensors.accumulate(id)) continue;
    const std::string name = tensors.name(id);
    const TensorId copy =
        builder.add_tensor({.name = name.empty() ? name : fmt::format("{}#{}", name, i),
                            .bytes = tensors.bytes(id),
                            .accumulate = tensors.accumulate(id)});
    for (const TaskId task : tensors.writers(id)) builder.writes(copies[task], copy);
    for (const TaskId task : tensors.readers(id)) builder.reads(copies[task], copy);
  }
}

}  // namespace

TaskGraph OverlapIterations::apply(const TaskGraph& graph) const {
  SCHEDLAB_EXPECTS(iterations_ > 0, "at least one iteration");
  detail::expect_tensors_on_one_device(graph, name());
  if (std::uint64_t{iterations_} * graph.task_count() >=
      std::numeric_limits<std::uint32_t>::max()) {
    throw InfeasibleError(fmt::format("{} iterations of {} tasks are more than can be numbered",
                                      iterations_,
                                      graph.task_count()));
  }
  const std::vector<Use> uses = carried_over(graph);
  TaskGraphBuilder builder;
  builder.reserve(iterations_ * graph.task_count(), iterations_ * graph.edge_count());
  for (const Operation& operation : graph.operations()) builder.add_operation(operation);
  IdVector<TaskId, TaskId> before;
  for (std::uint32_t i = 0; i < iterations_; ++i) {
    IdVector<TaskId, TaskId> copies = add_tasks(graph, i, builder);
    if (i == 0) {
      detail::copy_edges_and_tensors(graph, copies, builder);
    } else {
      for (const TaskId task : graph.tasks()) {
        for (const TaskId next : graph.successors(task)) {
          builder.add_edge(copies[task], copies[next]);
        }
      }
      add_own_tensors(graph, i, copies, builder);
      for (const Use& use : uses) {
        for (const TaskId from : use.last) {
          for (const TaskId to : use.first) builder.add_edge(before[from], copies[to]);
        }
      }
    }
    before = std::move(copies);
  }
  return std::move(builder).build();
}

}  // namespace schedlab
