// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "sim/base/diagnostics.hpp"
#include "sim/graph/task_graph.hpp"
#include "workloads/formats/graph_totals.hpp"

#include <cstdint>
#include <map>
#include <string>
#include <string_view>
#include <unordered_map>
#include <utility>
#include <vector>

namespace schedlab::detail {

/// A task as another program describes it.
struct DraftTask {
  std::string key;        ///< what other tasks call it; unique in its file
  std::string name;       ///< for people; made unique with the key
  std::string operation;  ///< what tasks of one sort have in common
  TaskKind kind = TaskKind::fixed;
  std::vector<Kernel> kernels{};
  Duration duration{0};  ///< of a collective that of all its parts: no network is asked for it
};

/// Collects tasks and what they need in any order, counts what is odd, and makes the graph.
class GraphDraft {
 public:
  GraphDraft(std::string file, std::size_t file_bytes, Diagnostics& problems)
      : file_(std::move(file)), totals_(file_bytes), problems_(&problems) {}

  /// none() if there is a task of this key already (counted).
  TaskId add(DraftTask task);
  /// `task` needs the one that has this key, now or later; unknown ones are counted.
  void needs(TaskId task, std::string key) { needs_.emplace_back(task, std::move(key)); }
  void needs(TaskId task, TaskId other) { edges_.emplace_back(other, task); }

  /// From the first task on, all tasks must be given their rank.
  void set_rank(TaskId task, std::uint32_t rank) { builder_.set_rank(task, rank); }
  /// Tasks of kind collective, one of each rank, that run together.
  void join(const std::vector<TaskId>& parts, CollectiveSpec spec);

  void problem(Severity severity, const char* name, const std::string& example) {
    problems_->add(severity, name, example);
  }
  /// A size out of a file: negative and huge ones are counted and taken for 0.
  [[nodiscard]] std::int64_t size(std::int64_t number);
  /// A time out of a file: negative, huge ones and no numbers are counted and taken for 0.
  [[nodiscard]] Duration duration_us(double us);

  [[noreturn]] void refuse(const std::string& pointer,
                           const std::string& found,
                           const std::string& expected) const;

  [[nodiscard]] TaskGraph finish() &&;

 private:
  [[nodiscard]] OperationId operation_of(DraftTask& task);

  std::string file_;
  GraphTotals totals_;
  Diagnostics* problems_;
  TaskGraphBuilder builder_;
  std::vector<Operation> operations_;
  std::map<std::string, std::vector<OperationId>> by_name_;
  std::unordered_map<std::string, TaskId> by_key_;
  std::vector<std::pair<TaskId, std::string>> needs_;
  std::vector<std::pair<TaskId, TaskId>> edges_;
};

}  // namespace schedlab::detail
