// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "sim/graph/task_graph.hpp"
#include "workloads/formats/json_place.hpp"

#include <cstdint>
#include <string_view>
#include <unordered_map>
#include <utility>
#include <vector>

namespace schedlab::detail {

/// What a reference in a graph file is for; the key it stands under.
enum class ReferenceUse : std::uint8_t { needs, written_by, read_by };

/// References between tasks and from tensors to tasks while a JSON file is read: those to tasks
/// that come later, or by name, are checked and added after the last task. Names must outlive the
/// object.
class GraphReferences {
 public:
  /// false if another task has the name: its index is in first.
  [[nodiscard]] std::pair<std::uint32_t, bool> add_name(std::string_view name, std::uint32_t task) {
    const auto [it, added] = task_by_name_.try_emplace(name, task);
    return {it->second, added};
  }
  /// `task` needs `before`, which may not exist (yet).
  void need(std::uint32_t task, std::uint32_t element, std::uint32_t before) {
    if (before > task) forward_.push_back({task, element, before});
  }
  /// `owner`: the task that needs, or the tensor that is used.
  void by_name(ReferenceUse use,
               std::uint32_t owner,
               std::uint32_t element,
               std::string_view name) {
    named_.push_back({name, owner, element, use});
  }
  /// A use by index, already checked.
  void by_index(ReferenceUse use, std::uint32_t tensor, std::uint32_t task) {
    (use == ReferenceUse::written_by ? writes_ : reads_)
        .emplace_back(TaskId{task}, TensorId{tensor});
  }

  /// Adds everything to `builder`, which has all tasks and tensors. Throws InputError through
  /// `place`.
  void resolve(TaskGraphBuilder& builder, JsonPlace& place);

 private:
  struct Named {
    std::string_view name;
    std::uint32_t owner = 0;
    std::uint32_t element = 0;  // place in the list
    ReferenceUse use = ReferenceUse::needs;
  };
  struct Forward {
    std::uint32_t task = 0;
    std::uint32_t element = 0;
    std::uint32_t before = 0;
  };
  [[noreturn]] void refuse(const Named& reference, std::size_t task_count, JsonPlace& place) const;

  std::unordered_map<std::string_view, std::uint32_t> task_by_name_;
  std::vector<Named> named_;
  std::vector<Forward> forward_;
  std::vector<std::pair<TaskId, TensorId>> writes_;
  std::vector<std::pair<TaskId, TensorId>> reads_;
};

}  // namespace schedlab::detail
