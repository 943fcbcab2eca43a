// SPDX-License-Identifier: Apache-2.0
#include "workloads/transforms/join_groups.hpp"

#include "workloads/transforms/copy_graph.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <limits>
#include <optional>
#include <string>
#include <utility>
#include <vector>

namespace schedlab::detail {
namespace {

constexpr std::size_t max_named = 5;  // of longer groups only the first names the task

using TensorsOf = IdVector<TaskId, std::vector<TensorId>>;

bool is_row_kernel(const Kernel& kernel) {
  return kernel.kind == TaskKind::pointwise || kernel.kind == TaskKind::reduction;
}

/// Joins tasks; used once.
class Joiner {
 public:
  Joiner(const TaskGraph& graph, const IdVector<TaskId, TaskId>& group_of)
      : graph_(graph),
        group_of_(group_of),
        operations_(builder_),
        members_(graph.task_count()),
        reads_(graph.task_count()),
        writes_(graph.task_count()),
        gone_(graph.tensors().size(), 0) {
    for (const TaskId task : graph.topological_order()) members_[group_of[task]].push_back(task);
    for (const TensorId id : graph.tensors().ids()) {
      for (const TaskId task : graph.tensors().readers(id)) reads_[task].push_back(id);
      for (const TaskId task : graph.tensors().writers(id)) writes_[task].push_back(id);
    }
  }

  [[nodiscard]] JoinedGraph run() {
    IdVector<TaskId, TaskId> new_id(graph_.task_count(), TaskId::none());
    for (const TaskId task : graph_.tasks()) {
      if (group_of_[task] == task) new_id[task] = add(members_[task]);
    }
    for (const TaskId task : graph_.tasks()) new_id[task] = new_id[group_of_[task]];
    copy_edges_and_tensors(graph_, new_id, builder_, &gone_);
    return {std::move(builder_).build(), std::move(new_id)};
  }

 private:
  [[nodiscard]] TaskId add(const std::vector<TaskId>& members) {
    const TaskId first = members.front();
    if (members.size() == 1) {
      return copy_task(graph_, first, operations_.add(graph_.operation(first)), builder_);
    }
    Operation joined = graph_.operation(heaviest(members));
    joined.name = joined_name(members, [&](TaskId task) { return graph_.operation(task).name; });
    Duration duration{0};
    for (const TaskId task : members) duration += graph_.fixed_duration(task);
    joined.fixed_duration = graph_.has_task_durations() ? Duration{0} : duration;
    if (const auto kernel = one_kernel(members)) {
      joined.kernels = {*kernel};
    } else {
      joined.kernels.clear();
      for (const TaskId task : members) {
        const auto& kernels = graph_.operation(task).kernels;
        joined.kernels.insert(joined.kernels.end(), kernels.begin(), kernels.end());
        if (graph_.operation(task).kind != joined.kind) joined.kind = TaskKind::composite;
      }
    }
    const OperationId operation = operations_.add(joined);
    const bool named = !name_to_keep(graph_, first).empty();
    const Tags& tags = graph_.tags(first);
    const TaskId task =
        named ? builder_.add_task(
                    operation,
                    tags,
                    joined_name(members, [&](TaskId member) { return graph_.name(member); }))
              : builder_.add_task(operation, tags);
    if (graph_.has_task_durations()) builder_.set_duration(task, duration);
    return task;
  }

  template <class NameOf>
  [[nodiscard]] static std::string joined_name(const std::vector<TaskId>& members,
                                               const NameOf& name_of) {
    if (members.size() > max_named) {
      return fmt::format("{}+{} more", name_of(members.front()), members.size() - 1);
    }
    std::string name;
    for (const TaskId task : members) {
      if (!name.empty()) name += '+';
      name += name_of(task);
    }
    return name;
  }

  /// The task whose operation the joined one resembles.
  [[nodiscard]] TaskId heaviest(const std::vector<TaskId>& members) const {
    return *std::max_element(members.begin(), members.end(), [&](TaskId a, TaskId b) {
      const auto weight = [&](TaskId task) {
        const Operation& operation = graph_.operation(task);
        return std::pair{operation.flops().count(),
                         (operation.bytes_read() + operation.bytes_written()).count()};
      };
      return weight(a) < weight(b);
    });
  }

  /// nullopt: they are launched one after the other.
  [[nodiscard]] std::optional<Kernel> one_kernel(const std::vector<TaskId>& members) {
    std::optional<Kernel> result;
    std::size_t others = 0;  // neither point-wise nor reductions
    Flops flops{};
    Bytes read{};
    Bytes written{};
    for (const TaskId task : members) {
      const auto& kernels = graph_.operation(task).kernels;
      if (kernels.size() != 1) return std::nullopt;
      const Kernel& kernel = kernels.front();
      if (result && kernel.type != result->type) return std::nullopt;
      const bool row = is_row_kernel(kernel);
      if (!row) ++others;
      if (!result || (is_row_kernel(*result) && !row)) result = kernel;
      flops += kernel.flops;
      read += kernel.bytes_read;
      written += kernel.bytes_written;
    }
    if (others > 1) return std::nullopt;
    save_traffic(members, read, written);
    result->flops = flops;
    result->bytes_read = std::max(read, Bytes{0});
    result->bytes_written = std::max(written, Bytes{0});
    return result;
  }

  /// What lies between the members is never moved, what several read is read once.
  void save_traffic(const std::vector<TaskId>& members, Bytes& read, Bytes& written) {
    const TensorTable& tensors = graph_.tensors();
    std::vector<std::pair<TensorId, TaskId>> uses;
    for (const TaskId task : members) {
      for (const TensorId id : reads_[task]) uses.emplace_back(id, task);
    }
    std::sort(uses.begin(), uses.end());
    for (std::size_t begin = 0, end = 0; begin < uses.size(); begin = end) {
      const TensorId id = uses[begin].first;
      Bytes least = Bytes{std::numeric_limits<std::int64_t>::max()};
      while (end < uses.size() && uses[end].first == id) {
        least = std::min(least, graph_.operation(uses[end].second).bytes_read());
        ++end;
      }
      // Of a tensor larger than what a member reads the parts are unknown.
      if (tensors.bytes(id) > least) continue;
      const auto count = static_cast<std::int64_t>(end - begin);
      const auto writers = tensors.writers(id);
      const bool inside =
          writers.size() == 1 && !tensors.accumulate(id) &&
          std::find(members.begin(), members.end(), writers.front()) != members.end();
      read -= (inside ? count : count - 1) * tensors.bytes(id);
      if (inside && !tensors.persistent(id) &&
          static_cast<std::size_t>(count) == tensors.readers(id).size()) {
        written -= tensors.bytes(id);
        gone_[id] = 1;
      }
    }
  }

  const TaskGraph& graph_;
  const IdVector<TaskId, TaskId>& group_of_;
  TaskGraphBuilder builder_;
  OperationSet operations_;
  IdVector<TaskId, std::vector<TaskId>> members_;  ///< of the lowest id of a group
  TensorsOf reads_;
  TensorsOf writes_;
  IdVector<TensorId, std::uint8_t> gone_;
};

}  // namespace

JoinedGraph join_groups(const TaskGraph& graph, const IdVector<TaskId, TaskId>& group_of) {
  return Joiner{graph, group_of}.run();
}

}  // namespace schedlab::detail
