// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "real_exec/training/net_spec.hpp"

#include <cstdint>
#include <memory>
#include <span>
#include <vector>

namespace schedlab {

/// Some samples of the training stream: what a pass is made on.
struct SampleRange {
  std::int64_t first = 0;  ///< counted through the whole training; keys dropout masks
  std::int64_t count = 0;
};

/// What a layer itself keeps of a micro-batch from one of its passes to the next; its input, its
/// output and the gradient behind it are kept by the stage.
struct NetLayerMemory {
  std::vector<float> values;
  std::vector<std::int32_t> indices;
};

/// The arrays of one micro-batch around a layer: x[samples, input], y[samples, output], their
/// gradients dx and dy of the same shapes.
struct NetLayerArrays {
  const float* x = nullptr;
  const float* x2 = nullptr;  ///< of an add
  float* y = nullptr;
  float* dy = nullptr;  ///< backward_data may change it; backward_weight finds what it left
  float* dx = nullptr;  ///< nullptr: not needed; of an add that of both
  NetLayerMemory* memory = nullptr;
};

/// One layer's arithmetic in fp32, on the calling thread alone; immutable, so that several stages
/// and threads may use one. Matrix products are gemm()'s.
class NetLayer {
 public:
  NetLayer(const NetLayerSpec& spec, const SampleShape& input, const SampleShape& output);
  NetLayer(const NetLayer&) = delete;
  NetLayer& operator=(const NetLayer&) = delete;
  virtual ~NetLayer() = default;

  [[nodiscard]] const NetLayerSpec& spec() const { return spec_; }
  [[nodiscard]] const SampleShape& input() const { return input_; }
  [[nodiscard]] const SampleShape& output() const { return output_; }
  [[nodiscard]] std::int64_t parameters() const { return layer_parameters(spec_, input_); }

  /// Uniform in +-sqrt(6 / (inputs + outputs)) of the matrices (Glorot, Bengio, AISTATS 2010),
  /// biases 0, of an LSTM's forget gate 1 (Jozefowicz, Zaremba, Sutskever, ICML 2015).
  virtual void initialize(std::span<float> parameters, std::uint64_t seed) const;

  /// y from x. `training` = false: dropout passes everything.
  virtual void forward(const NetLayerArrays& arrays,
                       std::span<const float> parameters,
                       SampleRange samples,
                       bool training) const = 0;
  /// dx from dy.
  virtual void backward_data(const NetLayerArrays& arrays,
                             std::span<const float> parameters,
                             SampleRange samples) const = 0;
  /// gradient += what the samples contribute; after backward_data of the same samples.
  virtual void backward_weight(const NetLayerArrays& arrays,
                               std::span<float> gradient,
                               SampleRange samples) const;

 private:
  NetLayerSpec spec_;
  SampleShape input_;
  SampleShape output_;
};

/// The layer of a net. `dropout_key` tells its masks from those of other layers and seeds.
[[nodiscard]] std::unique_ptr<NetLayer> make_net_layer(const NetLayerSpec& spec,
                                                       const SampleShape& input,
                                                       const SampleShape& output,
                                                       std::uint64_t dropout_key);

/// Is value `element` of sample `sample` kept by a dropout of this key and rate? Depends on nothing
/// else, so that any partition and any order of micro-batches draw the same masks.
[[nodiscard]] bool dropout_keeps(std::uint64_t key,
                                 std::int64_t sample,
                                 std::int64_t element,
                                 double rate);

/// Softmax and cross entropy on logits[samples, classes].
struct ClassLoss {
  double loss = 0;  ///< sum over the samples of -log(probability of the label)
  std::int64_t correct = 0;
};
/// d_logits (may be nullptr) = scale * d loss / d logits.
/// Errors  ContractViolation for a label that is no class.
[[nodiscard]] ClassLoss softmax_cross_entropy(std::span<const float> logits,
                                              std::span<const std::int32_t> labels,
                                              std::int64_t classes,
                                              float scale,
                                              float* d_logits);

}  // namespace schedlab
