// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "sim/bounds/demands.hpp"

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

namespace schedlab {

/// Tasks of which every rule of demands.hpp but those of delays says the same, as one kind: those
/// of one operation, where nothing else tells tasks apart; else each is its own. So rules are asked
/// once for each kind.
class TaskKinds {
 public:
  /// `problem` must outlive it. Cost  O(tasks * kinds of devices).
  explicit TaskKinds(const Problem& problem);

  /// One task of each kind, by kind.
  [[nodiscard]] std::span<const TaskId> examples() const { return examples_; }
  [[nodiscard]] std::size_t of(TaskId task) const { return kind_of_[task]; }

  /// What `rule(task)` says of each kind.
  template <class Rule>
  [[nodiscard]] auto ask(const Rule& rule) const {
    std::vector<decltype(rule(TaskId{}))> answers;
    answers.reserve(examples_.size());
    for (const TaskId task : examples_) answers.push_back(rule(task));
    return answers;
  }

 private:
  std::vector<TaskId> examples_;
  IdVector<TaskId, std::uint32_t> kind_of_;
};

/// time_step() of a problem whose tasks are of these kinds. Cost  O(kinds).
[[nodiscard]] Duration time_step(const BoundProblem& on, const TaskKinds& kinds);

}  // namespace schedlab
