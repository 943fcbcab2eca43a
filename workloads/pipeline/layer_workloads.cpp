// SPDX-License-Identifier: Apache-2.0
#include "workloads/pipeline/layer_workloads.hpp"

#include "sim/base/spelling.hpp"
#include "workloads/entry_options.hpp"
#include "workloads/models/convolution/conv_nets.hpp"
#include "workloads/models/convolution/conv_tables.hpp"
#include "workloads/pipeline/conv_layer_graph.hpp"
#include "workloads/pipeline/gpt_layer_graph.hpp"

#include <fmt/format.h>

#include <utility>

namespace schedlab {
namespace {

using detail::ConvLayers;
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
                  size_option("tensor_parallel",
                              d.tensor_parallel,
                              "ranks that share each layer, as in Megatron; the machine needs a "
                              "network",
                              1,
                              4096),
                  {.name = "sequence_parallel",
                   .default_value = d.sequence_parallel,
                   .doc = "these ranks share norms and residuals too, token by token"}},
      .make = [](const Options& o) {
        GptSpec spec;
        const std::string& attention = o.text("attention");
        spec.attention = attention == "fused"    ? GptAttention::fused
                         : attention == "masked" ? GptAttention::masked
                                                 : GptAttention::unfused;
        spec.master_weights = o.flag("master_weights");
        spec.tensor_parallel = o.integer("tensor_parallel");
        spec.sequence_parallel = o.flag("sequence_parallel");
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
