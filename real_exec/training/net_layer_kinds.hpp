// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "real_exec/training/net_layer.hpp"
#include "sim/base/rng.hpp"

#include <memory>
#include <span>

namespace schedlab::detail {

[[nodiscard]] std::unique_ptr<NetLayer> make_dense(const NetLayerSpec& spec,
                                                   const SampleShape& input,
                                                   const SampleShape& output);
[[nodiscard]] std::unique_ptr<NetLayer> make_conv2d(const NetLayerSpec& spec,
                                                    const SampleShape& input,
                                                    const SampleShape& output);
[[nodiscard]] std::unique_ptr<NetLayer> make_max_pool(const NetLayerSpec& spec,
                                                      const SampleShape& input,
                                                      const SampleShape& output);
[[nodiscard]] std::unique_ptr<NetLayer> make_dropout(const NetLayerSpec& spec,
                                                     const SampleShape& input,
                                                     const SampleShape& output,
                                                     std::uint64_t key);
[[nodiscard]] std::unique_ptr<NetLayer> make_lstm(const NetLayerSpec& spec,
                                                  const SampleShape& input,
                                                  const SampleShape& output);
/// An embedding, a layer norm, an attention, a gelu or an add.
[[nodiscard]] std::unique_ptr<NetLayer> make_transformer_layer(const NetLayerSpec& spec,
                                                               const SampleShape& input,
                                                               const SampleShape& output);

// What several kinds need.

/// Uniform in +-sqrt(6 / (inputs + outputs)).
void fill_glorot(std::span<float> matrix, std::int64_t inputs, std::int64_t outputs, Rng& rng);
/// Every row of y[rows, bias.size()] += bias; then negative values become 0 if `relu`.
void add_bias(float* y, std::int64_t rows, std::span<const float> bias, bool relu);
/// sums += the sum over the rows of an array [rows, sums.size()].
void accumulate_rows(const float* rows_of, std::int64_t rows, std::span<float> sums);
/// dy = 0 where y is 0.
void mask_relu(const float* y, float* dy, std::int64_t elements);

}  // namespace schedlab::detail
