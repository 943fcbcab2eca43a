// SPDX-License-Identifier: Apache-2.0
#include "real_exec/recurrent/gemm.hpp"
#include "real_exec/training/net_layer_kinds.hpp"

namespace schedlab::detail {
namespace {

/// Parameters: W[inputs, units], b[units].
class DenseLayer final : public NetLayer {
 public:
  using NetLayer::NetLayer;

  void initialize(std::span<float> parameters, std::uint64_t seed) const override {
    Rng rng(seed);
    fill_glorot(parameters.first(weights()), inputs(), units(), rng);
    for (float& bias : parameters.subspan(weights())) bias = 0.0F;
  }

  void forward(const NetLayerArrays& arrays,
               std::span<const float> parameters,
               SampleRange samples,
               bool /*training*/) const override {
    gemm({.m = rows(samples),
          .n = units(),
          .k = inputs(),
          .a = arrays.x,
          .stride_a = inputs(),
          .b = parameters.data(),
          .stride_b = units(),
          .c = arrays.y,
          .stride_c = units()});
    add_bias(arrays.y, rows(samples), parameters.subspan(weights()), spec().relu);
  }

  void backward_data(const NetLayerArrays& arrays,
                     std::span<const float> parameters,
                     SampleRange samples) const override {
    if (spec().relu) mask_relu(arrays.y, arrays.dy, rows(samples) * units());
    if (arrays.dx == nullptr) return;
    gemm({.m = rows(samples),
          .n = inputs(),
          .k = units(),
          .op_b = Transpose::yes,
          .a = arrays.dy,
          .stride_a = units(),
          .b = parameters.data(),
          .stride_b = units(),
          .c = arrays.dx,
          .stride_c = inputs()});
  }

  void backward_weight(const NetLayerArrays& arrays,
                       std::span<float> gradient,
                       SampleRange samples) const override {
    gemm({.m = inputs(),
          .n = units(),
          .k = rows(samples),
          .op_a = Transpose::yes,
          .a = arrays.x,
          .stride_a = inputs(),
          .b = arrays.dy,
          .stride_b = units(),
          .c = gradient.data(),
          .stride_c = units(),
          .beta = 1.0F});
    accumulate_rows(arrays.dy, rows(samples), gradient.subspan(weights()));
  }

 private:
  [[nodiscard]] std::int64_t rows(SampleRange samples) const {
    return spec().per_row ? samples.count * input().height : samples.count;
  }
  [[nodiscard]] std::int64_t inputs() const {
    return spec().per_row ? input().width * input().channels : input().elements();
  }
  [[nodiscard]] std::int64_t units() const { return spec().units; }
  [[nodiscard]] std::size_t weights() const { return static_cast<std::size_t>(inputs() * units()); }
};

}  // namespace

std::unique_ptr<NetLayer> make_dense(const NetLayerSpec& spec,
                                     const SampleShape& input,
                                     const SampleShape& output) {
  return std::make_unique<DenseLayer>(spec, input, output);
}

}  // namespace schedlab::detail
