// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "real_exec/training/net_layer.hpp"
#include "real_exec/training/optimizer.hpp"

#include <cstdint>
#include <map>
#include <memory>
#include <span>
#include <vector>

namespace schedlab {

/// Layers first .. last-1 of a net.
struct NetLayerRange {
  std::size_t first = 0;
  std::size_t last = 0;

  friend bool operator==(const NetLayerRange&, const NetLayerRange&) = default;
};

/// What all stages of a training run have in common.
struct TrainingSetting {
  OptimizerSpec optimizer{};
  std::uint64_t seed = 1;  ///< of weights and dropout masks
  /// Keep only what goes into the stage, and make the rest again before the backward pass.
  bool recompute = false;
  /// Parameters to begin with, of the whole net in its order; nullptr: by the seed.
  std::shared_ptr<const std::vector<float>> parameters{};
};

/// Some consecutive layers of a net with their parameters, gradients and optimizer, and what is
/// kept of the micro-batches under way. The arithmetic is that of the whole net's: weights and
/// dropout masks depend on the seed, the layer and the sample only.
///
/// Per micro-batch: begin, fill input() (and labels of the last stage), forward, fill
/// output_gradient() (not of the last stage), backward_data, backward_weight. Gradients are sums of
/// all micro-batches since the last update. Each pass may also be made layer by layer, 0 being the
/// first of the stage. One thread at a time.
class TrainingStage {
 public:
  /// Throws what layer_shapes() throws; ContractViolation for an empty range.
  TrainingStage(const NetSpec& net, NetLayerRange layers, const TrainingSetting& setting);
  TrainingStage(const TrainingStage&) = delete;
  TrainingStage& operator=(const TrainingStage&) = delete;
  ~TrainingStage();

  [[nodiscard]] NetLayerRange layers() const { return range_; }
  [[nodiscard]] bool is_first() const { return range_.first == 0; }
  [[nodiscard]] bool is_last() const { return is_last_; }
  /// Numbers of one sample that come in, and that go out: live_values(), each of all samples.
  [[nodiscard]] std::int64_t input_elements() const;
  [[nodiscard]] std::int64_t output_elements() const;

  /// Allocates. `gradient_scale`: of the loss of one sample, 1 / samples of the whole batch.
  void begin(std::int64_t microbatch, SampleRange samples, double gradient_scale);
  [[nodiscard]] std::span<float> input(std::int64_t microbatch);
  [[nodiscard]] std::span<std::int32_t> labels(std::int64_t microbatch);
  [[nodiscard]] bool has_begun(std::int64_t microbatch) const {
    return under_way_.contains(microbatch);
  }
  void forward(std::int64_t microbatch);
  /// Call for layers in rising order; behind the last one of the net comes the loss.
  void forward_layer(std::int64_t microbatch, std::size_t layer);
  [[nodiscard]] std::span<const float> output(std::int64_t microbatch) const;
  [[nodiscard]] std::span<float> output_gradient(std::int64_t microbatch);
  /// Makes again what `recompute` did not keep; backward_data does so where it was not called.
  void recompute(std::int64_t microbatch);
  void recompute_layer(std::int64_t microbatch, std::size_t layer);
  void backward_data(std::int64_t microbatch);
  /// Call for layers in falling order.
  void backward_data_layer(std::int64_t microbatch, std::size_t layer);
  /// After backward_data; not of the first stage.
  [[nodiscard]] std::span<const float> input_gradient(std::int64_t microbatch) const;
  /// Adds to gradients(), and forgets the micro-batch.
  void backward_weight(std::int64_t microbatch);
  /// Call for trained_layers(), in falling order.
  void backward_weight_layer(std::int64_t microbatch, std::size_t layer);
  /// Those that have parameters, counted from the stage's first.
  [[nodiscard]] const std::vector<std::size_t>& trained_layers() const { return trained_; }

  /// Loss of the last stage since the last update: sum over samples.
  [[nodiscard]] ClassLoss loss() const { return loss_; }
  /// The optimizer's step; clears gradients and loss.
  void update();

  /// All parameters of the stage, one array after the other, each that tied layers share once.
  [[nodiscard]] std::span<float> parameters() { return parameters_; }
  [[nodiscard]] std::span<float> gradients() { return gradients_; }
  /// Where the parameters of a layer's owner (parameter_owners()) stand in them.
  struct Block {
    std::size_t owner = 0;
    std::size_t offset = 0;
    std::size_t size = 0;
  };
  [[nodiscard]] const std::vector<Block>& blocks() const { return blocks_; }
  /// Bytes that micro-batches under way hold now, and have held at most.
  [[nodiscard]] std::int64_t kept_bytes() const { return kept_bytes_; }
  [[nodiscard]] std::int64_t peak_kept_bytes() const { return peak_kept_bytes_; }

 private:
  struct MicroBatch;
  /// What crosses an end of the stage: values of the net (layer_reads()), one after the other.
  struct Flow {
    std::vector<std::size_t> values;
    std::vector<std::int64_t> offsets;  // of a sample
    std::int64_t elements = 0;
  };
  /// Where a value is: in which array of a micro-batch, behind so many elements of a sample.
  struct Place {
    std::size_t array = 0;
    std::size_t index = 0;  // of what comes in
    std::int64_t offset = 0;
  };
  [[nodiscard]] Place place_of(std::size_t value) const;
  [[nodiscard]] std::int64_t elements_of(std::size_t value) const;
  [[nodiscard]] bool sends_last_only() const;
  [[nodiscard]] NetLayerArrays arrays(MicroBatch& batch, std::size_t layer) const;
  void begin_backward(MicroBatch& batch);
  [[nodiscard]] std::vector<bool>::reference has_gradient(MicroBatch& batch,
                                                          std::size_t value) const;
  [[nodiscard]] float* gradient_of(MicroBatch& batch, std::size_t value) const;
  void add_gradient(MicroBatch& batch, std::size_t value, const float* more) const;
  MicroBatch& at(std::int64_t microbatch);
  [[nodiscard]] const MicroBatch& at(std::int64_t microbatch) const;
  void run_forward(MicroBatch& batch, std::size_t layer);
  void finish_forward(MicroBatch& batch);
  void forget(std::int64_t microbatch);
  void count_kept(MicroBatch& batch);
  [[nodiscard]] std::span<const float> parameters_of(std::size_t layer) const;

  NetLayerRange range_;
  TrainingSetting setting_;
  bool is_last_ = false;
  std::int64_t labels_ = 1;  // of a sample
  Flow in_;
  Flow out_;
  std::vector<LayerReads> reads_;  // by layer
  std::vector<std::unique_ptr<NetLayer>> layers_;
  std::vector<std::size_t> block_of_;  // per layer; blocks_.size() without parameters
  std::vector<std::size_t> trained_;
  std::vector<Block> blocks_;
  std::vector<float> parameters_;
  std::vector<float> gradients_;
  ParameterOptimizer optimizer_;
  ClassLoss loss_;
  std::map<std::int64_t, std::unique_ptr<MicroBatch>> under_way_;
  std::vector<std::unique_ptr<MicroBatch>> spare_;  // their memory is used again
  std::int64_t kept_bytes_ = 0;
  std::int64_t peak_kept_bytes_ = 0;
};

/// Classes that a net with these parameters (of all layers, in the order of TrainingStage's) gives
/// the samples, without dropout: share that is right.
[[nodiscard]] double accuracy(const NetSpec& net,
                              std::span<const float> parameters,
                              std::span<const float> values,
                              std::span<const std::int32_t> labels);

}  // namespace schedlab
