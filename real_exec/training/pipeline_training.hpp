// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "real_exec/training/labelled_samples.hpp"
#include "real_exec/training/message_codec.hpp"
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
  std::uint32_t virtual_stages = 1;
  std::uint32_t replicas = 1;
  std::int64_t batch = 1;  ///< samples of an iteration, of all replicas together
  std::int64_t microbatches = 1;
  Compression compression = Compression::none;  ///< of activations and gradients between ranks
  bool by_layer = false;  ///< a task for each layer of a pass; micro-batches must be equal then

  [[nodiscard]] bool equal_microbatches() const { return batch % (replicas * microbatches) == 0; }
  [[nodiscard]] std::uint32_t stage_count() const {
    return static_cast<std::uint32_t>(stages.size());
  }
  /// Ranks of one replica.
  [[nodiscard]] std::uint32_t pipeline_ranks() const { return stage_count() / virtual_stages; }
  [[nodiscard]] std::uint32_t ranks() const { return replicas * pipeline_ranks(); }
  [[nodiscard]] std::uint32_t rank_of(std::uint32_t replica, std::uint32_t stage) const {
    return replica * pipeline_ranks() + stage % pipeline_ranks();
  }
  /// Samples of a micro-batch in iteration `step`, counted through the whole training.
  [[nodiscard]] SampleRange samples(std::int64_t step,
                                    std::uint32_t replica,
                                    std::int64_t microbatch) const;
};

/// Layers of each stage, by their numbers: {2, 1} is layers 0 and 1, then layer 2.
[[nodiscard]] std::vector<NetLayerRange> layer_ranges(const std::vector<std::int64_t>& counts);

/// What a stage takes for a micro-batch of the training.
struct StageCosts {
  StageProfile whole{};  ///< its times; all else is 0
  /// Times of its layers in the order in which the pass visits them, where passes go by layer:
  /// backward passes from the last to the first, of the weight gradient the trained layers.
  std::vector<Duration> forward{};
  std::vector<Duration> backward_data{};
  std::vector<Duration> backward_weight{};
};

/// What a message takes its sender before it travels, and its receiver when it has come.
struct PackCosts {
  PassCost pack{};
  PassCost unpack{};
};

struct PipelineCosts {
  std::vector<StageCosts> stages{};  ///< one each, or none
  std::vector<PackCosts> links{};    ///< from each stage but the last to the next, or none
};

/// The pipeline as schedules and the simulator see it: exact bytes, and costs where they are known.
/// Parameters that several stages use are tied.
/// Errors   ContractViolation if the stages are not consecutive layers, or not all.
[[nodiscard]] PipelineSpec pipeline_spec(const PipelineTraining& training,
                                         const PipelineCosts& costs = {});

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
  /// One iteration; returns the mean loss of its samples.
  double step();
  /// Gradients of the last iteration, in the order of TrainingStage::parameters() of the whole net.
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

}  // namespace schedlab
