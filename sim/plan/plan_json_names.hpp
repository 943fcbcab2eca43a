// SPDX-License-Identifier: Apache-2.0
// Internal to plan_json: task names, both ways, for graphs of a million tasks.
#pragma once

#include "sim/graph/task_graph.hpp"

#include <cstdint>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace schedlab::plan_json {

/// The names of a graph's tasks, sorted by hash: 16 bytes a task instead of a map of strings.
class TaskNames {
 public:
  explicit TaskNames(const TaskGraph& graph);

  /// False also if another name merely has the same hash: then the number is written, which is
  /// right too.
  [[nodiscard]] bool unique(std::string_view name) const;

  struct Match {
    TaskId task;             ///< none() if no task has the name
    bool ambiguous = false;  ///< several have it
  };
  [[nodiscard]] Match find(std::string_view name) const;
  /// The most similar name, empty if none is near. Linear in the tasks: for error messages.
  [[nodiscard]] std::string closest(std::string_view name) const;

 private:
  using Entry = std::pair<std::uint64_t, TaskId>;

  const TaskGraph& graph_;
  std::vector<Entry> entries_;
};

}  // namespace schedlab::plan_json
