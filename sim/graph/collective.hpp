// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "sim/base/enum_names.hpp"
#include "sim/base/ids.hpp"
#include "sim/base/units.hpp"

#include <cstdint>
#include <span>
#include <string_view>
#include <vector>

namespace schedlab {

using CollectiveId = StrongId<struct CollectiveIdTag>;

/// What a collective does with the `bytes` that each rank holds before (reduce_scatter, all_reduce,
/// broadcast's root), after (all_gather) or before and after (all_to_all) it.
enum class CollectiveOp : std::uint8_t {
  all_reduce,
  all_gather,
  reduce_scatter,
  broadcast,
  all_to_all,
};
template <>
struct EnumNames<CollectiveOp> {
  static constexpr auto names =
      name_list("all_reduce", "all_gather", "reduce_scatter", "broadcast", "all_to_all");
};

/// How the bytes travel (hw_models/collective.hpp); automatic: whatever is fastest.
enum class CollectiveAlgorithm : std::uint8_t {
  automatic,
  ring,
  tree,
  hierarchical,
  pairwise,
  in_switch,
};
template <>
struct EnumNames<CollectiveAlgorithm> {
  static constexpr auto names =
      name_list("automatic", "ring", "tree", "hierarchical", "pairwise", "in_switch");
};

struct CollectiveSpec {
  CollectiveOp op = CollectiveOp::all_reduce;
  Bytes bytes{};
  CollectiveAlgorithm algorithm = CollectiveAlgorithm::automatic;

  friend bool operator==(const CollectiveSpec&, const CollectiveSpec&) = default;
};

/// The collectives of a task graph: each joins one task of each rank that takes part. Its tasks
/// start when their streams let them, wait for each other, and end together.
class CollectiveTable {
 public:
  [[nodiscard]] std::size_t size() const { return specs_.size(); }
  [[nodiscard]] bool empty() const { return specs_.empty(); }
  [[nodiscard]] IdRange<CollectiveId> ids() const { return specs_.ids(); }
  [[nodiscard]] const CollectiveSpec& spec(CollectiveId id) const { return specs_[id]; }
  /// By rising id. The first is a broadcast's root.
  [[nodiscard]] std::span<const TaskId> tasks(CollectiveId id) const {
    return {tasks_.data() + offset_[id.value()], tasks_.data() + offset_[id.value() + 1]};
  }
  /// Position of the collective's first task among those of all collectives.
  [[nodiscard]] std::uint32_t offset(CollectiveId id) const { return offset_[id.value()]; }
  /// none() for all other tasks.
  [[nodiscard]] CollectiveId of(TaskId task) const {
    return of_.contains(task) ? of_[task] : CollectiveId::none();
  }
  [[nodiscard]] std::size_t memory_bytes() const;

 private:
  friend class TaskGraphBuilder;

  IdVector<CollectiveId, CollectiveSpec> specs_;
  std::vector<std::uint32_t> offset_{0};
  std::vector<TaskId> tasks_;
  IdVector<TaskId, CollectiveId> of_;  // empty: no collectives
};

}  // namespace schedlab
