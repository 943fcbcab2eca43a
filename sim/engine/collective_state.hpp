// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "sim/plan/policy.hpp"

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

namespace schedlab::engine {

/// Who of each collective has started. The parts of a collective hold what they occupy until the
/// last of them has all it needs; its duration counts from then, and all end together.
class CollectiveState {
 public:
  void reset(const TaskGraph& graph, const CostTable& costs) {
    table_ = graph.collectives().empty() ? nullptr : &graph.collectives();
    costs_ = &costs;
    if (table_ == nullptr) return;
    started_.assign(table_->size(), 0U);
    streams_.resize(table_->offset(CollectiveId{static_cast<std::uint32_t>(table_->size())}));
  }

  [[nodiscard]] bool contains(TaskId task) const {
    return table_ != nullptr && table_->of(task).valid();
  }

  struct Complete {
    std::span<const StreamId> streams;  ///< empty: somebody is missing
    Duration duration{0};
  };
  /// The task's part has started, in this stream.
  Complete start(TaskId task, StreamId stream) {
    const CollectiveId id = table_->of(task);
    const std::uint32_t first = table_->offset(id);
    streams_[first + started_[id]++] = stream;
    const auto tasks = table_->tasks(id);
    if (started_[id] < tasks.size()) return {};
    return {.streams = {streams_.data() + first, tasks.size()}, .duration = duration(id)};
  }

  [[nodiscard]] std::uint32_t started(CollectiveId id) const { return started_[id]; }
  /// The streams in which parts have started so far.
  [[nodiscard]] std::span<const StreamId> streams(CollectiveId id) const {
    return {streams_.data() + table_->offset(id), started_[id]};
  }

  [[nodiscard]] std::size_t memory_bytes() const {
    return started_.raw().capacity() * sizeof(std::uint32_t) +
           streams_.capacity() * sizeof(StreamId);
  }

 private:
  /// Where single tasks have durations of their own (measured, or with noise), the slowest part.
  [[nodiscard]] Duration duration(CollectiveId id) const {
    if (costs_->task_durations().empty()) return costs_->duration(id);
    Duration longest{0};
    for (const TaskId task : table_->tasks(id)) {
      longest = std::max(longest, costs_->duration(task));
    }
    return longest;
  }

  const CollectiveTable* table_ = nullptr;
  const CostTable* costs_ = nullptr;
  IdVector<CollectiveId, std::uint32_t> started_;
  std::vector<StreamId> streams_;  // as the table's tasks; in the order of their start
};

}  // namespace schedlab::engine
