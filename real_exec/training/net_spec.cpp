// SPDX-License-Identifier: Apache-2.0
#include "real_exec/training/net_spec.hpp"

#include "sim/base/error.hpp"
#include "sim/base/spelling.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <set>
#include <utility>

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
      return {spec.per_row ? in.height : 1, 1, spec.units};
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
    case NetLayerKind::embedding:
      expect_positive(layer, "units", spec.units);
      expect_positive(layer, "vocabulary", spec.vocabulary);
      if (in.width * in.channels != 1) {
        reject_layer(layer, "kind", to_string(in) + " behind it", "one number in each row");
      }
      return {in.height, 1, spec.units};
    case NetLayerKind::attention:
      expect_positive(layer, "heads", spec.heads);
      if (in.width * in.channels % (3 * spec.heads) != 0) {
        reject_layer(
            layer,
            "heads",
            fmt::format("{}", spec.heads),
            fmt::format("a divisor of a third of the {} values of a row", in.width * in.channels));
      }
      return {in.height, 1, in.width * in.channels / 3};
    case NetLayerKind::layer_norm:
    case NetLayerKind::gelu:
    case NetLayerKind::add:
      return in;
  }
  return in;
}

/// Index of the earlier layer that `member` of a layer names.
std::size_t find_named(const NetSpec& net,
                       std::size_t layer,
                       const char* member,
                       const std::string& name) {
  std::vector<std::string> names;
  for (std::size_t i = 0; i < layer; ++i) {
    if (net.layers[i].name == name) return i;
    names.push_back(net.layers[i].name);
  }
  reject_layer(layer,
               member,
               fmt::format("\"{}\"", name),
               "the name of an earlier layer",
               did_you_mean(name, names));
}

void check_shared(const NetSpec& net, const std::vector<SampleShape>& shapes, std::size_t layer) {
  const NetLayerSpec& spec = net.layers[layer];
  const std::size_t other = find_named(net, layer, "shares", net.layers[layer].shares);
  const NetLayerSpec& owner = net.layers[other];
  const bool same_inputs = spec.kind == NetLayerKind::dense && !spec.per_row
                               ? shapes[layer].elements() == shapes[other].elements()
                           : spec.kind == NetLayerKind::lstm || spec.per_row
                               ? shapes[layer].width * shapes[layer].channels ==
                                     shapes[other].width * shapes[other].channels
                               : shapes[layer].channels == shapes[other].channels;
  if (owner.kind != spec.kind || owner.units != spec.units || !same_inputs ||
      owner.per_row != spec.per_row || owner.vocabulary != spec.vocabulary ||
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

std::vector<LayerReads> layer_reads(const NetSpec& net) {
  std::vector<LayerReads> all;
  for (std::size_t i = 0; i < net.layers.size(); ++i) {
    const NetLayerSpec& spec = net.layers[i];
    LayerReads& reads = all.emplace_back();
    reads.first = spec.reads.empty() ? i : 1 + find_named(net, i, "reads", spec.reads);
    if (spec.kind == NetLayerKind::add) reads.second = 1 + find_named(net, i, "adds", spec.adds);
  }
  return all;
}

namespace {

void check_layer(const NetSpec& net, std::size_t layer) {
  const NetLayerSpec& spec = net.layers[layer];
  for (std::size_t k = 0; k < layer; ++k) {
    if (!spec.name.empty() && net.layers[k].name == spec.name) {
      reject_layer(layer, "name", fmt::format("\"{}\" again", spec.name), "a name of its own");
    }
  }
}

/// Every output but the last is read.
void check_outputs(const NetSpec& net, const std::vector<LayerReads>& reads) {
  std::vector<bool> read(net.layers.size() + 1, false);
  for (const LayerReads& each : reads) {
    read[each.first] = true;
    if (each.second) read[*each.second] = true;
  }
  for (std::size_t i = 0; i + 1 < net.layers.size(); ++i) {
    if (!read[i + 1]) reject_layer(i + 1, "reads", "no layer that reads the one before", "one");
  }
}

struct NetShapes {
  std::vector<SampleShape> read;
  std::vector<SampleShape> made;
};

NetShapes shapes_of(const NetSpec& net) {
  if (net.layers.empty()) {
    throw InputError({.file = {},
                      .pointer = "/layers",
                      .found = "an empty list",
                      .expected = "at least one layer",
                      .hint = {}});
  }
  NetShapes shapes;
  const std::vector<LayerReads> reads = layer_reads(net);
  for (std::size_t i = 0; i < net.layers.size(); ++i) {
    const auto value = [&](std::size_t v) { return v == 0 ? net.input : shapes.made[v - 1]; };
    shapes.read.push_back(value(reads[i].first));
    shapes.made.push_back(shape_behind(net.layers[i], shapes.read.back(), i));
    if (reads[i].second && value(*reads[i].second) != shapes.read.back()) {
      reject_layer(i,
                   "adds",
                   to_string(value(*reads[i].second)),
                   to_string(shapes.read.back()) + ", as what it reads");
    }
    check_layer(net, i);
    if (!net.layers[i].shares.empty()) check_shared(net, shapes.read, i);
  }
  check_outputs(net, reads);
  return shapes;
}

}  // namespace

std::vector<SampleShape> layer_shapes(const NetSpec& net) {
  NetShapes shapes = shapes_of(net);
  shapes.read.push_back(shapes.made.back());
  return std::move(shapes.read);
}

std::vector<SampleShape> output_shapes(const NetSpec& net) {
  return shapes_of(net).made;
}

std::vector<std::size_t> live_values(const NetSpec& net, std::size_t cut) {
  if (cut == net.layers.size()) return {cut};
  std::set<std::size_t> live;
  const std::vector<LayerReads> reads = layer_reads(net);
  for (std::size_t i = cut; i < reads.size(); ++i) {
    if (reads[i].first <= cut) live.insert(reads[i].first);
    if (reads[i].second && *reads[i].second <= cut) live.insert(*reads[i].second);
  }
  return {live.begin(), live.end()};
}

std::int64_t live_elements(const NetSpec& net, std::size_t cut) {
  const std::vector<SampleShape> made = output_shapes(net);
  std::int64_t sum = 0;
  for (const std::size_t value : live_values(net, cut)) {
    sum += value == 0 ? net.input.elements() : made[value - 1].elements();
  }
  return sum;
}

std::vector<std::size_t> parameter_owners(const NetSpec& net) {
  std::vector<std::size_t> owners;
  for (std::size_t i = 0; i < net.layers.size(); ++i) {
    owners.push_back(net.layers[i].shares.empty()
                         ? i
                         : owners[find_named(net, i, "shares", net.layers[i].shares)]);
  }
  return owners;
}

std::vector<ParameterArray> parameter_arrays(const NetLayerSpec& layer, const SampleShape& input) {
  const std::int64_t row = input.width * input.channels;
  const std::int64_t units = layer.units;
  switch (layer.kind) {
    case NetLayerKind::dense:
      return {{"weight", {layer.per_row ? row : input.elements(), units}}, {"bias", {units}}};
    case NetLayerKind::conv2d:
      return {{"weight", {layer.kernel, layer.kernel, input.channels, units}}, {"bias", {units}}};
    case NetLayerKind::lstm:
      return {{"input", {row, 4, units}}, {"hidden", {units, 4, units}}, {"bias", {4, units}}};
    case NetLayerKind::embedding:
      return {{"words", {layer.vocabulary, units}}, {"positions", {input.height, units}}};
    case NetLayerKind::layer_norm:
      return {{"gain", {row}}, {"bias", {row}}};
    case NetLayerKind::max_pool:
    case NetLayerKind::dropout:
    case NetLayerKind::attention:
    case NetLayerKind::gelu:
    case NetLayerKind::add:
      return {};
  }
  return {};
}

std::int64_t layer_parameters(const NetLayerSpec& layer, const SampleShape& input) {
  std::int64_t sum = 0;
  for (const ParameterArray& array : parameter_arrays(layer, input)) {
    std::int64_t size = 1;
    for (const std::int64_t each : array.shape) size *= each;
    sum += size;
  }
  return sum;
}

}  // namespace schedlab
