// SPDX-License-Identifier: Apache-2.0
#include "real_exec/recurrent/gemm.hpp"
#include "real_exec/recurrent/pointwise.hpp"
#include "real_exec/training/net_layer_kinds.hpp"

#include <algorithm>
#include <array>

namespace schedlab::detail {
namespace {

using CellFunction = Evaluation::Function;

/// to[count] = function(from), in place if they are one. Unlike the C library's functions these
/// take the same time for all values, so that an iteration does not slow down as the net learns.
void squash(CellFunction function, const float* from, float* to, std::int64_t count) {
  alignas(64) std::array<float, 16 * lanes> block{};
  const auto most = static_cast<std::int64_t>(block.size());
  for (std::int64_t first = 0; first < count; first += most) {
    const std::int64_t size = std::min(most, count - first);
    std::copy_n(from + first, size, block.begin());
    evaluate({.function = function,
              .from = block.data(),
              .to = block.data(),
              .panels = {0, (size + lanes - 1) / lanes}});
    std::copy_n(block.begin(), size, to + first);
  }
}

/// Parameters: Wx[features, 4 * units], Wh[units, 4 * units], b[4 * units]; gates i, f, g, o.
/// Memory, each [samples, steps, ...]: gates after their functions [4 * units], c [units], h
/// [units], gradients of the gates before their functions [4 * units].
class LstmLayer final : public NetLayer {
 public:
  using NetLayer::NetLayer;

  void initialize(std::span<float> parameters, std::uint64_t seed) const override {
    Rng rng(seed);
    fill_glorot(parameters.first(input_weights()), features(), 4 * units(), rng);
    fill_glorot(parameters.subspan(input_weights(), hidden_weights()), units(), 4 * units(), rng);
    const auto bias = parameters.subspan(input_weights() + hidden_weights());
    std::fill(bias.begin(), bias.end(), 0.0F);
    const auto forget = bias.subspan(static_cast<std::size_t>(units()));
    std::fill_n(forget.begin(), units(), 1.0F);
  }

  void forward(const NetLayerArrays& arrays,
               std::span<const float> parameters,
               SampleRange samples,
               bool /*training*/) const override {
    const Kept kept = kept_of(*arrays.memory, samples.count);
    gemm({.m = samples.count * steps(),
          .n = 4 * units(),
          .k = features(),
          .a = arrays.x,
          .stride_a = features(),
          .b = parameters.data(),
          .stride_b = 4 * units(),
          .c = kept.gates,
          .stride_c = 4 * units()});
    add_bias(kept.gates,
             samples.count * steps(),
             parameters.subspan(input_weights() + hidden_weights()),
             false);
    for (std::int64_t t = 0; t < steps(); ++t) {
      if (t > 0) {
        gemm({.m = samples.count,
              .n = 4 * units(),
              .k = units(),
              .a = kept.h + (t - 1) * units(),
              .stride_a = steps() * units(),
              .b = parameters.data() + input_weights(),
              .stride_b = 4 * units(),
              .c = kept.gates + t * 4 * units(),
              .stride_c = steps() * 4 * units(),
              .beta = 1.0F});
      }
      for (std::int64_t s = 0; s < samples.count; ++s) step_forward(kept, s * steps() + t, t > 0);
    }
    if (spec().sequences) {
      std::copy_n(kept.h, samples.count * steps() * units(), arrays.y);
      return;
    }
    for (std::int64_t s = 0; s < samples.count; ++s) {
      std::copy_n(kept.h + ((s + 1) * steps() - 1) * units(), units(), arrays.y + s * units());
    }
  }

  void backward_data(const NetLayerArrays& arrays,
                     std::span<const float> parameters,
                     SampleRange samples) const override {
    const Kept kept = kept_of(*arrays.memory, samples.count);
    const auto width = static_cast<std::size_t>(samples.count * units());
    std::vector<float> dh(width, 0.0F);  // of the step at hand, from the step after it
    std::vector<float> dc(width, 0.0F);
    std::vector<float> squashed_c(static_cast<std::size_t>(units()));
    for (std::int64_t t = steps() - 1; t >= 0; --t) {
      if (t < steps() - 1) {
        gemm({.m = samples.count,
              .n = units(),
              .k = 4 * units(),
              .op_b = Transpose::yes,
              .a = kept.d_gates + (t + 1) * 4 * units(),
              .stride_a = steps() * 4 * units(),
              .b = parameters.data() + input_weights(),
              .stride_b = 4 * units(),
              .c = dh.data(),
              .stride_c = units()});
      }
      for (std::int64_t s = 0; s < samples.count; ++s) {
        const float* from_above = nullptr;
        if (spec().sequences) {
          from_above = arrays.dy + (s * steps() + t) * units();
        } else if (t == steps() - 1) {
          from_above = arrays.dy + s * units();
        }
        step_backward(kept,
                      s * steps() + t,
                      t > 0,
                      from_above,
                      dh.data() + s * units(),
                      dc.data() + s * units(),
                      squashed_c.data());
      }
    }
    if (arrays.dx == nullptr) return;
    gemm({.m = samples.count * steps(),
          .n = features(),
          .k = 4 * units(),
          .op_b = Transpose::yes,
          .a = kept.d_gates,
          .stride_a = 4 * units(),
          .b = parameters.data(),
          .stride_b = 4 * units(),
          .c = arrays.dx,
          .stride_c = features()});
  }

  void backward_weight(const NetLayerArrays& arrays,
                       std::span<float> gradient,
                       SampleRange samples) const override {
    const Kept kept = kept_of(*arrays.memory, samples.count);
    gemm({.m = features(),
          .n = 4 * units(),
          .k = samples.count * steps(),
          .op_a = Transpose::yes,
          .a = arrays.x,
          .stride_a = features(),
          .b = kept.d_gates,
          .stride_b = 4 * units(),
          .c = gradient.data(),
          .stride_c = 4 * units(),
          .beta = 1.0F});
    for (std::int64_t t = 1; t < steps(); ++t) {
      gemm({.m = units(),
            .n = 4 * units(),
            .k = samples.count,
            .op_a = Transpose::yes,
            .a = kept.h + (t - 1) * units(),
            .stride_a = steps() * units(),
            .b = kept.d_gates + t * 4 * units(),
            .stride_b = steps() * 4 * units(),
            .c = gradient.data() + input_weights(),
            .stride_c = 4 * units(),
            .beta = 1.0F});
    }
    accumulate_rows(kept.d_gates,
                    samples.count * steps(),
                    gradient.subspan(input_weights() + hidden_weights()));
  }

 private:
  struct Kept {
    float* gates;
    float* c;
    float* h;
    float* d_gates;
  };

  [[nodiscard]] std::int64_t steps() const { return input().height; }
  [[nodiscard]] std::int64_t features() const { return input().width * input().channels; }
  [[nodiscard]] std::int64_t units() const { return spec().units; }
  [[nodiscard]] std::size_t input_weights() const {
    return static_cast<std::size_t>(features() * 4 * units());
  }
  [[nodiscard]] std::size_t hidden_weights() const {
    return static_cast<std::size_t>(units() * 4 * units());
  }

  [[nodiscard]] Kept kept_of(NetLayerMemory& memory, std::int64_t samples) const {
    const std::int64_t cells = samples * steps() * units();
    memory.values.resize(static_cast<std::size_t>(10 * cells));
    float* const begin = memory.values.data();
    return {begin, begin + 4 * cells, begin + 5 * cells, begin + 6 * cells};
  }

  /// `cell` = sample * steps + step; the state before is that of cell - 1, or zero.
  void step_forward(const Kept& kept, std::int64_t cell, bool has_before) const {
    const std::int64_t n = units();
    float* const gates = kept.gates + cell * 4 * n;
    float* const c = kept.c + cell * n;
    float* const h = kept.h + cell * n;
    squash(CellFunction::sigmoid, gates, gates, 2 * n);
    squash(CellFunction::tanh, gates + 2 * n, gates + 2 * n, n);
    squash(CellFunction::sigmoid, gates + 3 * n, gates + 3 * n, n);
    for (std::int64_t i = 0; i < n; ++i) {
      const float before = has_before ? c[i - n] : 0.0F;
      c[i] = gates[n + i] * before + gates[i] * gates[2 * n + i];
    }
    squash(CellFunction::tanh, c, h, n);
    for (std::int64_t i = 0; i < n; ++i) h[i] *= gates[3 * n + i];
  }

  void step_backward(const Kept& kept,
                     std::int64_t cell,
                     bool has_before,
                     const float* from_above,
                     const float* dh_after,
                     float* dc,
                     float* squashed_c) const {
    const std::int64_t n = units();
    const float* const gates = kept.gates + cell * 4 * n;
    const float* const c = kept.c + cell * n;
    float* const d = kept.d_gates + cell * 4 * n;
    squash(CellFunction::tanh, c, squashed_c, n);
    for (std::int64_t i = 0; i < n; ++i) {
      const float dh = dh_after[i] + (from_above == nullptr ? 0.0F : from_above[i]);
      const float in = gates[i];
      const float forget = gates[n + i];
      const float candidate = gates[2 * n + i];
      const float out = gates[3 * n + i];
      const float squashed = squashed_c[i];
      const float before = has_before ? c[i - n] : 0.0F;
      const float d_c = dc[i] + dh * out * (1.0F - squashed * squashed);
      d[i] = d_c * candidate * in * (1.0F - in);
      d[n + i] = d_c * before * forget * (1.0F - forget);
      d[2 * n + i] = d_c * in * (1.0F - candidate * candidate);
      d[3 * n + i] = dh * squashed * out * (1.0F - out);
      dc[i] = d_c * forget;
    }
  }
};

}  // namespace

std::unique_ptr<NetLayer> make_lstm(const NetLayerSpec& spec,
                                    const SampleShape& input,
                                    const SampleShape& output) {
  return std::make_unique<LstmLayer>(spec, input, output);
}

}  // namespace schedlab::detail
