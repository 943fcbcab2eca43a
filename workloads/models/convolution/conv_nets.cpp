// SPDX-License-Identifier: Apache-2.0
#include "workloads/models/convolution/conv_nets.hpp"

#include "sim/base/error.hpp"
#include "workloads/models/convolution/conv_emission.hpp"
#include "workloads/models/convolution/conv_tables.hpp"
#include "workloads/models/model_limits.hpp"
#include "workloads/transforms/split_batch.hpp"

#include <fmt/format.h>

#include <algorithm>

namespace schedlab {
namespace {

detail::ConvLayers layers_of(const ConvNetSpec& spec) {
  const std::int64_t image = spec.image == 0 ? published_image(spec.network) : spec.image;
  switch (spec.network) {
    case ConvNetwork::alexnet:
      return detail::alexnet_layers(image, spec.classes);
    case ConvNetwork::vgg16:
      return detail::vgg16_layers(image, spec.classes);
    case ConvNetwork::resnet50:
      return detail::resnet50_layers(image, spec.classes);
    case ConvNetwork::resnet101:
      return detail::resnet101_layers(image, spec.classes);
    case ConvNetwork::inception_v3:
      return detail::inception_v3_layers(image, spec.classes, spec.auxiliary_head);
    case ConvNetwork::inception_v4:
      break;
  }
  return detail::inception_v4_layers(image, spec.classes);
}

void check(const ConvNetSpec& spec) {
  SCHEDLAB_EXPECTS(spec.batch > 0 && spec.classes > 0 && spec.split > 0 && spec.image >= 0,
                   fmt::format("{}: batch {}, classes {}, split {}, image {}",
                               to_string(spec.network),
                               spec.batch,
                               spec.classes,
                               spec.split,
                               spec.image));
  SCHEDLAB_EXPECTS(!spec.auxiliary_head || spec.network == ConvNetwork::inception_v3,
                   fmt::format("{} has no auxiliary head", to_string(spec.network)));
  // The widest of these networks has 64 maps of the image's size, the first dense layer at most
  // 512 * 4096 weights for each position of a map 32 times smaller.
  constexpr double max_maps = 64;
  const auto image =
      static_cast<double>(spec.image == 0 ? published_image(spec.network) : spec.image);
  constexpr double dense_weights = 512.0 * 4096.0;
  detail::check_elements(
      to_string(spec.network),
      image * image * std::max(max_maps * static_cast<double>(spec.batch), dense_weights),
      "images or of weights");
  detail::check_elements(
      to_string(spec.network),
      static_cast<double>(spec.classes) * std::max(4096.0, static_cast<double>(spec.batch)),
      "classes");
}

}  // namespace

std::int64_t published_image(ConvNetwork network) {
  switch (network) {
    case ConvNetwork::alexnet:
      return 227;
    case ConvNetwork::inception_v3:
    case ConvNetwork::inception_v4:
      return 299;
    default:
      return 224;
  }
}

TaskGraph conv_net(const ConvNetSpec& spec) {
  check(spec);
  const detail::ConvLayers layers = layers_of(spec);
  const bool synchronized = spec.statistics == BatchStatistics::synchronized;
  const detail::ConvEmissionOptions options{.pass = spec.pass,
                                            .separate_statistics = synchronized,
                                            .type = spec.type,
                                            .optimizer = spec.optimizer,
                                            .transfers = spec.transfers};
  const auto make = [&](std::int64_t batch, bool tensors) {
    return transformed(detail::emit_layers(layers, batch, tensors, options), spec.transforms);
  };
  if (spec.split == 1) return make(spec.batch, spec.tensors);
  BatchSplit split{.batch = spec.batch, .slices = spec.split, .keep_tensors = spec.tensors};
  if (synchronized) split.merged = {"batch_norm_statistics", "batch_norm_sums"};
  return split_batch([&](std::int64_t batch) { return make(batch, true); }, split);
}

std::int64_t parameter_count(const ConvNetSpec& spec) {
  check(spec);
  const detail::ConvLayers net = layers_of(spec);
  std::int64_t count = 0;
  for (const detail::ConvLayer& layer : net.layers()) count += net.parameters(layer);
  return count;
}

}  // namespace schedlab
