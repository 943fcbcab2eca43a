// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "real_exec/training/labelled_samples.hpp"
#include "real_exec/training/net_spec.hpp"
#include "real_exec/training/training_stage.hpp"
#include "sim/graph/task_graph.hpp"
#include "workloads/pipeline/pipeline_graph.hpp"

#include <cstdint>
#include <memory>
#include <vector>

namespace schedlab {

/// A net that is trained by a pipeline of ranks: all that every rank must know alike.
struct PipelineTraining {
  NetSpec net;
  std::vector<NetLayerRange> stages;  ///< consecutive, all layers
  TrainingSetting setting;
  LabelledSamples data;          ///< that is trained on
  std::uint64_t order_seed = 1;  ///< of the order of samples in each epoch
  std::uint32_t chunks = 1;
  std::uint32_t groups = 1;
  std::int64_t batch = 1;  ///< samples of a round, of all groups together
  std::int64_t microbatches = 1;

  [[nodiscard]] std::uint32_t stage_count() const {
    return static_cast<std::uint32_t>(stages.size());
  }
  /// Ranks of one group.
  [[nodiscard]] std::uint32_t pipeline_ranks() const { return stage_count() / chunks; }
  [[nodiscard]] std::uint32_t ranks() const { return groups * pipeline_ranks(); }
  [[nodiscard]] std::uint32_t rank_of(std::uint32_t group, std::uint32_t stage) const {
    return group * pipeline_ranks() + stage % pipeline_ranks();
  }
  /// Samples of a micro-batch in round `step`, counted through the whole training.
  [[nodiscard]] SampleRange samples(std::int64_t step,
                                    std::uint32_t group,
                                    std::int64_t microbatch) const;
};

/// Layers of each stage, by their numbers: {2, 1} is layers 0 and 1, then layer 2.
[[nodiscard]] std::vector<NetLayerRange> layer_ranges(const std::vector<std::int64_t>& counts);

/// The pipeline as schedules and the simulator see it: exact bytes, and the costs of the stages
/// where they are known (one each, or none). Parameters that several stages use are tied.
/// Errors   ContractViolation if the stages are not consecutive layers, or not all.
[[nodiscard]] PipelineSpec pipeline_spec(const PipelineTraining& training,
                                         const std::vector<StageProfile>& costs = {});

/// Values of some samples of the training stream, and their classes.
class SampleStream {
 public:
  explicit SampleStream(const PipelineTraining& training)
      : data_(training.data), order_(training.data.size(), training.order_seed) {}
  void values(SampleRange samples, std::span<float> into);
  void labels(SampleRange samples, std::span<std::int32_t> into);

 private:
  const LabelledSamples& data_;
  SampleOrder order_;
};

/// The net trained as a whole, one batch after the other: what any pipeline must compute too.
class UnsplitTraining {
 public:
  /// `training` must outlive this.
  explicit UnsplitTraining(const PipelineTraining& training);
  /// One round; returns the mean loss of its samples.
  double step();
  /// Of the last round, in the order of TrainingStage::parameters() of the whole net.
  [[nodiscard]] const std::vector<float>& gradients() const { return gradients_; }
  [[nodiscard]] TrainingStage& stage() { return stage_; }

 private:
  const PipelineTraining& training_;
  SampleStream stream_;
  TrainingStage stage_;
  std::int64_t step_ = 0;
  std::vector<float> gradients_;
};

/// Largest relative difference of the parameters of one layer: |a - b| / |b| in the Euclidean norm.
/// Both in the order of `whole`'s parameters.
[[nodiscard]] double gradient_difference(const TrainingStage& whole,
                                         std::span<const float> a,
                                         std::span<const float> b);

/// What the passes of each stage take on this thread alone, for micro-batches as large as the
/// training's: the least of `repetitions` runs each. Other sizes in proportion.
[[nodiscard]] std::vector<StageProfile> measure_stages(const PipelineTraining& training,
                                                       std::uint32_t repetitions);

}  // namespace schedlab
