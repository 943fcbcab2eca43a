// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "workloads/models/convolution/conv_layers.hpp"

#include <cstddef>
#include <vector>

namespace schedlab::testing {

using Numbers = std::vector<double>;

/// One layer on `images` images; x and y are the maps before and behind it. Gradients are of a
/// scalar by what they are called after; those of parameters are sums over the images.
struct LayerOnImages {
  const detail::ConvLayer& layer;
  detail::FeatureMap x{};
  detail::FeatureMap y{};
  std::size_t images = 0;
};

[[nodiscard]] Numbers conv_forward(const LayerOnImages& at, const Numbers& x, const Numbers& w);
[[nodiscard]] Numbers conv_data(const LayerOnImages& at, const Numbers& dy, const Numbers& w);
[[nodiscard]] Numbers conv_weights(const LayerOnImages& at, const Numbers& dy, const Numbers& x);
[[nodiscard]] Numbers dense_forward(const LayerOnImages& at, const Numbers& x, const Numbers& w);
[[nodiscard]] Numbers dense_data(const LayerOnImages& at, const Numbers& dy, const Numbers& w);
[[nodiscard]] Numbers dense_weights(const LayerOnImages& at, const Numbers& dy, const Numbers& x);

/// Sums of x and of its squares per channel.
[[nodiscard]] Numbers norm_statistics(const LayerOnImages& at, const Numbers& x);
/// `statistics` over `count` images.
[[nodiscard]] Numbers norm_apply(const LayerOnImages& at,
                                 const Numbers& x,
                                 const Numbers& statistics,
                                 const Numbers& w,
                                 std::size_t count);
/// Gradients of scales, then of shifts.
[[nodiscard]] Numbers norm_sums(const LayerOnImages& at,
                                const Numbers& dy,
                                const Numbers& x,
                                const Numbers& statistics,
                                std::size_t count);
[[nodiscard]] Numbers norm_data(const LayerOnImages& at,
                                const Numbers& dy,
                                const Numbers& x,
                                const Numbers& statistics,
                                const Numbers& w,
                                const Numbers& sums,
                                std::size_t count);

[[nodiscard]] Numbers response_norm(const LayerOnImages& at, const Numbers& x);
[[nodiscard]] Numbers response_norm_data(const LayerOnImages& at,
                                         const Numbers& dy,
                                         const Numbers& x);
[[nodiscard]] Numbers max_pool(const LayerOnImages& at, const Numbers& x);
[[nodiscard]] Numbers max_pool_data(const LayerOnImages& at, const Numbers& dy, const Numbers& x);
/// Padding counts as zeros.
[[nodiscard]] Numbers average_pool(const LayerOnImages& at, const Numbers& x);
[[nodiscard]] Numbers average_pool_data(const LayerOnImages& at, const Numbers& dy);

}  // namespace schedlab::testing
