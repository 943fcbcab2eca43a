// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "policies/pipeline/step_order.hpp"
#include "sim/graph/task_graph.hpp"
#include "sim/pipeline/pipeline_work.hpp"

#include <array>
#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

namespace schedlab {

/// The tasks of a pipeline's graph by the pass that they belong to, in the order of their numbers.
class PassTasks {
 public:
  /// `shape` as from pipeline_shape().
  PassTasks(const TaskGraph& graph, const PipelineShape& shape, const PipelineRanks& ranks);

  /// The tasks of a step of a rank of that line (PipelineRanks::line): one pass, or two of which
  /// the second is empty where the step is one.
  [[nodiscard]] std::array<std::span<const TaskId>, 2> of(std::uint32_t line,
                                                          const PipelineStep& step) const;
  /// Parts of collectives of a rank.
  [[nodiscard]] std::span<const TaskId> parts(std::uint32_t rank) const {
    return row(parts_, parts_begin_, rank);
  }
  [[nodiscard]] std::span<const TaskId> updates(std::uint32_t rank) const {
    return row(updates_, updates_begin_, rank);
  }

 private:
  static constexpr std::size_t passes = 3;  // forward, backward_data, backward_weight

  [[nodiscard]] static std::span<const TaskId> row(const std::vector<TaskId>& items,
                                                   const std::vector<std::uint32_t>& begin,
                                                   std::size_t index) {
    return {items.data() + begin[index], items.data() + begin[index + 1]};
  }
  [[nodiscard]] std::size_t key(std::uint32_t line,
                                std::uint32_t stage,
                                std::size_t pass,
                                std::uint32_t microbatch) const {
    return ((std::size_t{line} * stages_ + stage) * passes + pass) * microbatches_ + microbatch;
  }

  std::size_t stages_;
  std::size_t microbatches_;
  std::vector<TaskId> tasks_;
  std::vector<std::uint32_t> begin_;  // by key
  std::vector<TaskId> parts_;
  std::vector<std::uint32_t> parts_begin_;  // by rank
  std::vector<TaskId> updates_;
  std::vector<std::uint32_t> updates_begin_;  // likewise
};

}  // namespace schedlab
