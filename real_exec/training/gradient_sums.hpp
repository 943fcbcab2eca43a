// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "real_exec/ranks/rank_link.hpp"
#include "real_exec/training/pipeline_training.hpp"
#include "sim/graph/task_graph.hpp"

#include <cstdint>
#include <map>
#include <memory>
#include <vector>

namespace schedlab::detail {

using LocalStages = std::map<std::uint32_t, std::unique_ptr<TrainingStage>>;

/// The all-reduces of one rank: which parameters each of the graph's collectives sums, and those
/// under way. Gradients are packed into a buffer, summed, and written back to every stage of the
/// rank that has them.
class GradientSums {
 public:
  /// Groups of the link are made here, by all ranks alike.
  GradientSums(const PipelineTraining& training,
               const TaskGraph& graph,
               LocalStages& stages,
               RankLink& link);

  void start(TaskId task);
  [[nodiscard]] bool under_way(TaskId task) const;
  void finish(TaskId task);
  /// Copies of parameters on this rank alone, that no collective sums. Once an iteration, after all
  /// gradients.
  void add_local_copies();

 private:
  /// A part of a stage's gradients.
  struct Piece {
    std::uint32_t stage = 0;
    std::size_t offset = 0;
    std::size_t size = 0;
  };
  /// Pieces that hold copies of the same parameters.
  using Copies = std::vector<Piece>;
  struct Sum {
    RankLink::Group group = 0;
    std::vector<Copies> copies;
    std::vector<float> buffer;
    RankLink::Request request = 0;
    bool under_way = false;
  };
  [[nodiscard]] Copies copies_of(std::size_t owner) const;
  [[nodiscard]] std::span<float> gradient(const Piece& piece);
  void pack(Sum& sum);
  void unpack(Sum& sum);

  LocalStages& stages_;
  RankLink& link_;
  std::map<TaskId, Sum> sums_;
  std::vector<Copies> local_;
};

}  // namespace schedlab::detail
