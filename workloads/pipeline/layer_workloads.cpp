// SPDX-License-Identifier: Apache-2.0
#include "workloads/pipeline/layer_workloads.hpp"

#include "sim/base/error.hpp"
#include "sim/base/file.hpp"
#include "sim/base/spelling.hpp"
#include "workloads/entry_options.hpp"
#include "workloads/models/convolution/conv_nets.hpp"
#include "workloads/models/convolution/conv_tables.hpp"
#include "workloads/pipeline/conv_layer_graph.hpp"
#include "workloads/pipeline/gpt_layer_graph.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <cmath>
#include <utility>

namespace schedlab {
namespace {

using detail::ConvLayers;
using detail::number_option;
using detail::size_option;
using MakeNet = ConvLayers (*)(std::int64_t image, std::int64_t classes);

constexpr double max_samples = 1 << 16;
constexpr double largest_image = 4096;

OptionSpec type_option() {
  return {.name = "data_type",
          .default_value = std::string{"fp32"},
          .doc = "type of all elements",
          .allowed = enum_names<DataType>()};
}
OptionSpec optimizer_option(const char* word) {
  return {.name = "optimizer",
          .default_value = std::string{word},
          .doc = "of the update",
          .allowed = {"sgd", "adam"}};
}
Optimizer optimizer_of(const Options& o) {
  return o.text("optimizer") == "adam" ? Optimizer::adam : Optimizer::sgd;
}
OptionSpec samples_option(std::int64_t samples) {
  return size_option("samples", samples, "images or sequences in a microbatch", 1, max_samples);
}

LayerWorkload network(std::string name,
                      std::string summary,
                      std::int64_t image,
                      std::int64_t classes,
                      MakeNet make_net) {
  std::vector<OptionSpec> options{
      samples_option(32),
      size_option("image", image, "rows and columns of an image", 1, largest_image),
      size_option("classes", classes, "outputs"),
      type_option(),
      optimizer_option("sgd")};
  const auto make = [name, make_net](const Options& o) {
    return LayerFile{
        .graph = detail::conv_layer_graph(make_net(o.integer("image"), o.integer("classes")),
                                          name,
                                          o.integer("samples"),
                                          enum_value<DataType>(o.text("data_type")),
                                          optimizer_of(o)),
        .forward_only = false,
        .accelerators = 0,
        .memory = {},
        .notes = {}};
  };
  return {.name = std::move(name),
          .summary = std::move(summary),
          .options = std::move(options),
          .make = make};
}

ConvLayers plain_inception_v3(std::int64_t image, std::int64_t classes) {
  return detail::inception_v3_layers(image, classes, false);
}

/// Numbers between blanks, commas and ends of lines.
std::vector<double> read_routing(const std::string& path) {
  const std::string text = read_file(path);
  std::vector<double> shares;
  double sum = 0;
  const char* next = text.data();
  const char* const end = next + text.size();
  const auto is_gap = [](char c) {
    return c == ' ' || c == ',' || c == '\n' || c == '\r' || c == '\t';
  };
  while (true) {
    while (next != end && is_gap(*next)) ++next;
    if (next == end) break;
    double share = 0;
    const auto [behind, error] = std::from_chars(next, end, share);
    if (error != std::errc{} || !std::isfinite(share) || share < 0 ||
        (behind != end && !is_gap(*behind))) {
      throw InputError({.file = path,
                        .pointer = fmt::format("number {}", shares.size() + 1),
                        .found = fmt::format("\"{}\"", std::string{next, std::min(end, next + 20)}),
                        .expected = "how many tokens an expert gets, or its share, at least 0",
                        .hint = {}});
    }
    shares.push_back(share);
    sum += share;
    next = behind;
  }
  if (sum > 0) return shares;
  throw InputError({.file = path,
                    .pointer = {},
                    .found = "no share above 0",
                    .expected = "a number for each expert",
                    .hint = {}});
}

LayerWorkload gpt() {
  const GptSpec d;
  return {
      .name = "gpt",
      .summary =
          "GPT with dense or sparse attention, block by block or operator by operator; word "
          "vectors may be tied to the classifier",
      .options = {size_option("blocks", d.blocks, "of attention and feed-forward network"),
                  samples_option(d.samples),
                  size_option("vocabulary", d.vocabulary, "words"),
                  size_option("hidden", d.hidden, "width"),
                  size_option("heads", d.heads, "of attention"),
                  size_option("window", d.window, "tokens of a sequence"),
                  size_option("stride", d.stride, "of sparse attention; 0: dense", 0),
                  size_option("expressivity",
                              d.expressivity,
                              "tokens of each earlier stride that sparse attention looks at"),
                  {.name = "tied",
                   .default_value = d.tied,
                   .doc = "word vectors and classifier share their weights"},
                  {.name = "granularity",
                   .default_value = std::string{"block"},
                   .doc = "what a layer is",
                   .allowed = {"block", "operator"}},
                  {.name = "attention",
                   .default_value = std::string{"unfused"},
                   .doc = "unfused: products and softmax over the keys that a token sees; masked: "
                          "over all keys of the window, as framework code; fused: one kernel each "
                          "way, as FlashAttention",
                   .allowed = {"unfused", "masked", "fused"}},
                  type_option(),
                  optimizer_option("adam"),
                  {.name = "master_weights",
                   .default_value = d.master_weights,
                   .doc = "the optimizer keeps weights and moments in fp32, whatever data_type is"},
                  {.name = "autocast",
                   .default_value = d.autocast,
                   .doc = "as PyTorch's: weights, residuals, norms, softmax and loss in fp32, cast "
                          "to data_type for products"},
                  {.name = "recompute_attention",
                   .default_value = d.recompute_attention,
                   .doc = "its weights are made again in backward instead of kept; not of fused "
                          "attention, which keeps none"},
                  {.name = "dropout",
                   .default_value = d.dropout,
                   .doc = "behind the embedding, softmax (kept by fused attention as a seed) and "
                          "what is added to residuals"},
                  size_option("tensor_parallel",
                              d.tensor_parallel,
                              "ranks that share each layer, as in Megatron; the machine needs a "
                              "network",
                              1,
                              4096),
                  {.name = "sequence_parallel",
                   .default_value = d.sequence_parallel,
                   .doc = "these ranks share norms and residuals too, token by token"},
                  size_option("experts",
                              d.experts,
                              "of each block, instead of its feed-forward network; 0: none",
                              0),
                  size_option("experts_per_token", d.experts_per_token, "that a token goes to"),
                  size_option("expert_hidden",
                              d.expert_hidden,
                              "width inside an expert; 0: four times hidden",
                              0),
                  size_option("expert_parallel",
                              d.expert_parallel,
                              "ranks that share the experts, each with samples of its own; "
                              "tokens go there and back by all-to-all",
                              1,
                              4096),
                  number_option("routing_exponent",
                                d.routing_exponent,
                                "expert e (from 1) gets tokens like e to the minus this (Zipf); 0: "
                                "as many as each other",
                                0,
                                10),
                  {.name = "routing_path",
                   .default_value = std::string{},
                   .doc = "file with a number for each expert, its tokens or share, instead"}},
      .make = [](const Options& o) {
        GptSpec spec;
        const std::string& attention = o.text("attention");
        spec.attention = attention == "fused"    ? GptAttention::fused
                         : attention == "masked" ? GptAttention::masked
                                                 : GptAttention::unfused;
        spec.master_weights = o.flag("master_weights");
        spec.autocast = o.flag("autocast");
        spec.dropout = o.flag("dropout");
        spec.recompute_attention = o.flag("recompute_attention");
        spec.tensor_parallel = o.integer("tensor_parallel");
        spec.sequence_parallel = o.flag("sequence_parallel");
        spec.experts = o.integer("experts");
        spec.experts_per_token = o.integer("experts_per_token");
        spec.expert_hidden = o.integer("expert_hidden");
        spec.expert_parallel = o.integer("expert_parallel");
        spec.routing_exponent = o.number("routing_exponent");
        if (!o.text("routing_path").empty()) spec.routing = read_routing(o.text("routing_path"));
        spec.blocks = o.integer("blocks");
        spec.samples = o.integer("samples");
        spec.vocabulary = o.integer("vocabulary");
        spec.hidden = o.integer("hidden");
        spec.heads = o.integer("heads");
        spec.window = o.integer("window");
        spec.stride = o.integer("stride");
        spec.expressivity = o.integer("expressivity");
        spec.tied = o.flag("tied");
        spec.operators = o.text("granularity") == "operator";
        spec.type = enum_value<DataType>(o.text("data_type"));
        spec.optimizer = optimizer_of(o);
        return LayerFile{.graph = gpt_layer_graph(spec),
                         .forward_only = false,
                         .accelerators = 0,
                         .memory = {},
                         .notes = {}};
      }};
}

LayerWorkload file() {
  return {.name = "file",
          .summary =
              "layers from a file: JSON, PipeDream's profiles, graphs of the partitioning "
              "study",
          .options = {{.name = "path",
                       .default_value = std::string{},
                       .doc = "of the file",
                       .required = true}},
          .make = [](const Options& o) { return read_layer_file(o.text("path")); }};
}

}  // namespace

const std::vector<LayerWorkload>& layer_workloads() {
  static const std::vector<LayerWorkload> all{
      network("mnist_cnn",
              "the network of system S5: two convolutions, pooling, two dense layers, dropout",
              28,
              10,
              detail::mnist_cnn_layers),
      network("alexnet", "AlexNet", 227, 1000, detail::alexnet_layers),
      network("vgg16", "VGG-16", 224, 1000, detail::vgg16_layers),
      network("resnet50", "ResNet-50, with its shortcuts", 224, 1000, detail::resnet50_layers),
      network("resnet101", "ResNet-101, with its shortcuts", 224, 1000, detail::resnet101_layers),
      network("inception_v3", "Inception-v3, with its branches", 299, 1000, plain_inception_v3),
      network("inception_v4",
              "Inception-v4, with its branches",
              299,
              1000,
              detail::inception_v4_layers),
      gpt(),
      file(),
  };
  return all;
}

LayerFile make_layers(std::string_view name, const std::map<std::string, OptionValue>& given) {
  std::vector<std::string> names;
  for (const LayerWorkload& workload : layer_workloads()) {
    if (workload.name == name) {
      return workload.make(
          resolve_options(fmt::format("layers {}", name), workload.options, given));
    }
    names.push_back(workload.name);
  }
  refuse_unknown({}, "/kind", fmt::format("the unknown model \"{}\"", name), name, names);
}

}  // namespace schedlab
