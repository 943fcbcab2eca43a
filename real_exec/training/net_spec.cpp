// SPDX-License-Identifier: Apache-2.0
#include "real_exec/training/net_spec.hpp"

#include "sim/base/error.hpp"
#include "sim/base/spelling.hpp"

#include <fmt/format.h>

#include <algorithm>

namespace schedlab {
namespace {

[[noreturn]] void reject_layer(std::size_t layer,
                               const char* member,
                               std::string found,
                               std::string expected,
                               std::string hint = {}) {
  throw InputError({.file = {},
                    .pointer = fmt::format("/layers/{}/{}", layer, member),
                    .found = std::move(found),
                    .expected = std::move(expected),
                    .hint = std::move(hint)});
}

void expect_positive(std::size_t layer, const char* member, std::int64_t value) {
  if (value < 1) reject_layer(layer, member, fmt::format("{}", value), "at least 1");
}

SampleShape convolved(const NetLayerSpec& spec, const SampleShape& in, std::size_t layer) {
  expect_positive(layer, "units", spec.units);
  expect_positive(layer, "kernel", spec.kernel);
  if (spec.kernel > std::min(in.height, in.width)) {
    reject_layer(layer,
                 "kernel",
                 fmt::format("{}", spec.kernel),
                 fmt::format("at most {}, the picture that reaches this layer is {}",
                             std::min(in.height, in.width),
                             to_string(in)));
  }
  return {in.height - spec.kernel + 1, in.width - spec.kernel + 1, spec.units};
}

SampleShape pooled(const NetLayerSpec& spec, const SampleShape& in, std::size_t layer) {
  expect_positive(layer, "window", spec.window);
  if (spec.window > std::min(in.height, in.width)) {
    reject_layer(layer,
                 "window",
                 fmt::format("{}", spec.window),
                 fmt::format("at most {}, the picture that reaches this layer is {}",
                             std::min(in.height, in.width),
                             to_string(in)));
  }
  return {in.height / spec.window, in.width / spec.window, in.channels};
}

SampleShape shape_behind(const NetLayerSpec& spec, const SampleShape& in, std::size_t layer) {
  switch (spec.kind) {
    case NetLayerKind::dense:
      expect_positive(layer, "units", spec.units);
      return {1, 1, spec.units};
    case NetLayerKind::conv2d:
      return convolved(spec, in, layer);
    case NetLayerKind::max_pool:
      return pooled(spec, in, layer);
    case NetLayerKind::dropout:
      if (!(spec.rate >= 0 && spec.rate < 1)) {
        reject_layer(layer, "rate", fmt::format("{}", spec.rate), "at least 0 and below 1");
      }
      return in;
    case NetLayerKind::lstm:
      expect_positive(layer, "units", spec.units);
      return {spec.sequences ? in.height : 1, 1, spec.units};
  }
  return in;
}

/// Index of the earlier layer called `spec.shares`.
std::size_t find_shared(const NetSpec& net, std::size_t layer) {
  const NetLayerSpec& spec = net.layers[layer];
  std::vector<std::string> names;
  for (std::size_t i = 0; i < layer; ++i) {
    if (net.layers[i].name == spec.shares) return i;
    names.push_back(net.layers[i].name);
  }
  reject_layer(layer,
               "shares",
               fmt::format("\"{}\"", spec.shares),
               "the name of an earlier layer",
               did_you_mean(spec.shares, names));
}

void check_shared(const NetSpec& net, const std::vector<SampleShape>& shapes, std::size_t layer) {
  const NetLayerSpec& spec = net.layers[layer];
  const std::size_t other = find_shared(net, layer);
  const NetLayerSpec& owner = net.layers[other];
  const bool same_inputs =
      spec.kind == NetLayerKind::dense  ? shapes[layer].elements() == shapes[other].elements()
      : spec.kind == NetLayerKind::lstm ? shapes[layer].width * shapes[layer].channels ==
                                              shapes[other].width * shapes[other].channels
                                        : shapes[layer].channels == shapes[other].channels;
  if (owner.kind != spec.kind || owner.units != spec.units || !same_inputs ||
      (spec.kind == NetLayerKind::conv2d && owner.kernel != spec.kernel) ||
      layer_parameters(spec, shapes[layer]) == 0) {
    reject_layer(layer,
                 "shares",
                 fmt::format("\"{}\", a {} with {} units behind {}",
                             spec.shares,
                             to_string(owner.kind),
                             owner.units,
                             to_string(shapes[other])),
                 fmt::format("a {} with {} units whose parameters have the same shape",
                             to_string(spec.kind),
                             spec.units));
  }
}

}  // namespace

std::string to_string(const SampleShape& shape) {
  return fmt::format("{}x{}x{}", shape.height, shape.width, shape.channels);
}

std::vector<SampleShape> layer_shapes(const NetSpec& net) {
  if (net.layers.empty()) {
    throw InputError({.file = {},
                      .pointer = "/layers",
                      .found = "an empty list",
                      .expected = "at least one layer",
                      .hint = {}});
  }
  std::vector<SampleShape> shapes{net.input};
  for (std::size_t i = 0; i < net.layers.size(); ++i) {
    const NetLayerSpec& spec = net.layers[i];
    shapes.push_back(shape_behind(spec, shapes.back(), i));
    for (std::size_t k = 0; k < i; ++k) {
      if (!spec.name.empty() && net.layers[k].name == spec.name) {
        reject_layer(i, "name", fmt::format("\"{}\" again", spec.name), "a name of its own");
      }
    }
    if (!spec.shares.empty()) check_shared(net, shapes, i);
  }
  return shapes;
}

std::vector<std::size_t> parameter_owners(const NetSpec& net) {
  std::vector<std::size_t> owners;
  for (std::size_t i = 0; i < net.layers.size(); ++i) {
    owners.push_back(net.layers[i].shares.empty() ? i : owners[find_shared(net, i)]);
  }
  return owners;
}

std::int64_t layer_parameters(const NetLayerSpec& layer, const SampleShape& input) {
  switch (layer.kind) {
    case NetLayerKind::dense:
      return (input.elements() + 1) * layer.units;
    case NetLayerKind::conv2d:
      return (layer.kernel * layer.kernel * input.channels + 1) * layer.units;
    case NetLayerKind::lstm:
      return (input.width * input.channels + layer.units + 1) * 4 * layer.units;
    case NetLayerKind::max_pool:
    case NetLayerKind::dropout:
      return 0;
  }
  return 0;
}

}  // namespace schedlab
