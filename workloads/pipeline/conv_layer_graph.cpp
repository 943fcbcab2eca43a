// SPDX-License-Identifier: Apache-2.0
#include "workloads/pipeline/conv_layer_graph.hpp"

#include "workloads/models/convolution/conv_kernels.hpp"
#include "workloads/models/update_kernels.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <string_view>
#include <utility>
#include <vector>

namespace schedlab::detail {
namespace {

std::string_view layer_word(LayerKind kind) {
  switch (kind) {
    case LayerKind::input:
      return "image";
    case LayerKind::convolution:
      return "conv";
    case LayerKind::dense:
      return "dense";
    case LayerKind::bias:
      return "bias";
    case LayerKind::batch_norm:
      return "batch_norm";
    case LayerKind::relu:
      return "relu";
    case LayerKind::response_norm:
      return "response_norm";
    case LayerKind::max_pool:
      return "max_pool";
    case LayerKind::average_pool:
      return "average_pool";
    case LayerKind::dropout:
      return "dropout";
    case LayerKind::concat:
      return "concat";
    case LayerKind::add:
      return "add";
    case LayerKind::loss:
      return "loss";
  }
  return {};
}

bool follows(LayerKind kind) {
  return kind == LayerKind::bias || kind == LayerKind::batch_norm || kind == LayerKind::relu ||
         kind == LayerKind::response_norm || kind == LayerKind::loss;
}
/// Does the backward pass need the layer's input, or its output?
bool needs_input(LayerKind kind) {
  return kind == LayerKind::convolution || kind == LayerKind::dense ||
         kind == LayerKind::batch_norm || kind == LayerKind::response_norm ||
         kind == LayerKind::max_pool;
}
bool needs_output(LayerKind kind) {
  return kind == LayerKind::relu || kind == LayerKind::response_norm || kind == LayerKind::max_pool;
}

/// The kernels of a layer's passes while it is put together.
struct Passes {
  std::vector<Kernel> forward;
  std::vector<Kernel> backward_data;
  std::vector<Kernel> backward_weight;
  std::int64_t parameters = 0;
};

class LayerMaker {
 public:
  LayerMaker(const ConvLayers& net,
             const std::string& name,
             std::int64_t samples,
             DataType type,
             Optimizer optimizer)
      : net_(net),
        samples_(samples),
        type_(type),
        optimizer_(optimizer),
        layer_of_(net.layers().size()),
        readers_(net.layers().size(), 0) {
    graph_.name = name;
    graph_.samples = samples;
    for (const ConvLayer& layer : net.layers()) {
      for (const std::size_t input : layer.inputs) ++readers_[input];
    }
  }

  LayerGraph run() {
    for (std::size_t number = 1; number < net_.layers().size(); ++number) add(number);
    for (const LayerId id : graph_.layers.ids()) finish(id);
    keep_outputs();
    return std::move(graph_);
  }

 private:
  [[nodiscard]] Bytes bytes(const FeatureMap& map) const {
    return Bytes{samples_ * map.elements() * bytes_per_element(type_)};
  }

  void add(std::size_t number) {
    const ConvLayer& own = net_.layers()[number];
    const std::size_t first = own.inputs.front();
    if (follows(own.kind) && first != ConvLayers::image() && readers_[first] == 1) {
      layer_of_[number] = layer_of_[first];
    } else {
      Layer layer;
      layer.name = fmt::format("{}_{}", layer_word(own.kind), ++counts_[own.kind]);
      for (const std::size_t input : own.inputs) {
        if (input == ConvLayers::image()) {
          if (needs_input(own.kind)) layer.kept += bytes(net_.layers()[input].map);
        } else {
          layer.inputs.push_back(layer_of_[input]);
        }
      }
      layer_of_[number] = graph_.layers.push_back(std::move(layer));
      passes_.emplace_back();
    }
    Layer& layer = graph_.layers[layer_of_[number]];
    layer.activation = own.kind == LayerKind::loss ? Bytes{0} : bytes(own.map);
    add_kernels(own, number, passes_[layer_of_[number].value()]);
  }

  // NOLINTNEXTLINE(readability-function-size): a few lines for each kind of layer
  void add_kernels(const ConvLayer& own, std::size_t number, Passes& passes) {
    const ConvShapes shapes{
        .batch = samples_, .x = net_.input_of(own), .y = own.map, .type = type_};
    passes.parameters += net_.parameters(own);
    const bool gradient = own.inputs.front() != ConvLayers::image();  // the image gets none
    const auto data = [&](const Kernel& kernel) {
      if (gradient) passes.backward_data.push_back(kernel);
    };
    switch (own.kind) {
      case LayerKind::input:
        return;
      case LayerKind::convolution:
        passes.forward.push_back(conv_kernel(shapes, own, ConvPass::forward));
        data(conv_kernel(shapes, own, ConvPass::data_gradient));
        passes.backward_weight.push_back(conv_kernel(shapes, own, ConvPass::weight_gradient));
        break;
      case LayerKind::dense:
        passes.forward.push_back(dense_kernel(shapes, ConvPass::forward));
        data(dense_kernel(shapes, ConvPass::data_gradient));
        passes.backward_weight.push_back(dense_kernel(shapes, ConvPass::weight_gradient));
        break;
      case LayerKind::bias:
        passes.forward.push_back(bias_kernel(shapes));
        passes.backward_weight.push_back(bias_gradient_kernel(shapes));
        break;
      case LayerKind::batch_norm:
        passes.forward.push_back(
            joined_kernel(norm_statistics_kernel(shapes), norm_apply_kernel(shapes)));
        data(joined_kernel(norm_sums_kernel(shapes), norm_data_gradient_kernel(shapes)));
        break;
      case LayerKind::relu:
        passes.forward.push_back(relu_kernel(shapes));
        data(relu_gradient_kernel(shapes));
        break;
      case LayerKind::response_norm:
        passes.forward.push_back(response_norm_kernel(shapes));
        data(response_norm_gradient_kernel(shapes));
        break;
      case LayerKind::max_pool:
        passes.forward.push_back(pool_kernel(shapes, own.window));
        data(max_pool_gradient_kernel(shapes, own.window));
        break;
      case LayerKind::average_pool:
        passes.forward.push_back(pool_kernel(shapes, own.window));
        data(average_pool_gradient_kernel(shapes, own.window));
        break;
      case LayerKind::dropout:
        passes.forward.push_back(dropout_kernel(shapes));
        data(dropout_kernel(shapes));
        break;
      case LayerKind::concat:
        passes.forward.push_back(channel_copy_kernel(shapes));
        data(channel_copy_kernel(shapes));
        break;
      case LayerKind::add:
        passes.forward.push_back(sum_kernel(shapes, static_cast<std::int64_t>(own.inputs.size())));
        break;  // a sum passes its gradient on
      case LayerKind::loss:
        passes.forward.push_back(softmax_loss_kernel(shapes));  // makes the gradient as well
        break;
    }
    if (readers_[number] > 1) {
      passes.backward_data.push_back(
          sum_kernel(shapes, static_cast<std::int64_t>(readers_[number])));
    }
  }

  OperationId operation(const std::string& layer, const char* pass, std::vector<Kernel> kernels) {
    if (kernels.empty()) return OperationId::none();
    const TaskKind kind =
        std::all_of(kernels.begin(),
                    kernels.end(),
                    [&](const Kernel& kernel) { return kernel.kind == kernels.front().kind; })
            ? kernels.front().kind
            : TaskKind::composite;
    return graph_.operations.push_back({.name = fmt::format("{}.{}", layer, pass),
                                        .kind = kind,
                                        .task_class = TaskClass::unclassified,
                                        .kernels = std::move(kernels),
                                        .fixed_duration = Duration{0}});
  }

  void finish(LayerId id) {
    Layer& layer = graph_.layers[id];
    Passes& passes = passes_[id.value()];
    std::reverse(passes.backward_data.begin(), passes.backward_data.end());
    std::reverse(passes.backward_weight.begin(), passes.backward_weight.end());
    layer.forward = operation(layer.name, "forward", std::move(passes.forward));
    layer.backward_data = operation(layer.name, "backward_data", std::move(passes.backward_data));
    layer.backward_weight =
        operation(layer.name, "backward_weight", std::move(passes.backward_weight));
    if (passes.parameters == 0) return;
    layer.parameters = Bytes{passes.parameters * bytes_per_element(type_)};
    layer.update =
        operation(layer.name, "update", {optimizer_kernel(optimizer_, passes.parameters, type_)});
  }

  /// Every map that a backward pass needs is kept by the layer that made it.
  void keep_outputs() {
    std::vector<bool> needed(net_.layers().size(), false);
    for (std::size_t number = 1; number < needed.size(); ++number) {
      const ConvLayer& own = net_.layers()[number];
      if (needs_output(own.kind)) needed[number] = true;
      if (!needs_input(own.kind)) continue;
      for (const std::size_t input : own.inputs) needed[input] = true;
    }
    for (std::size_t number = 1; number < needed.size(); ++number) {
      if (needed[number]) graph_.layers[layer_of_[number]].kept += bytes(net_.layers()[number].map);
    }
  }

  const ConvLayers& net_;
  std::int64_t samples_;
  DataType type_;
  Optimizer optimizer_;
  LayerGraph graph_;
  std::vector<Passes> passes_;
  std::vector<LayerId> layer_of_;
  std::vector<std::size_t> readers_;
  std::map<LayerKind, int> counts_;
};

}  // namespace

ConvLayers mnist_cnn_layers(std::int64_t image, std::int64_t classes) {
  const ConvWindow three{.r = 3, .s = 3, .stride = 1, .pad_h = 0, .pad_w = 0};
  const ConvWindow two{.r = 2, .s = 2, .stride = 2, .pad_h = 0, .pad_w = 0};
  ConvLayers net{"mnist_cnn", image, 1};
  ConvLayers::Number x = net.relu(net.bias(net.convolution(ConvLayers::image(), 32, three)));
  x = net.relu(net.bias(net.convolution(x, 64, three)));
  x = net.dropout(net.max_pool(x, two));
  x = net.dropout(net.relu(net.bias(net.dense(x, 128))));
  net.loss(net.bias(net.dense(x, classes)));
  return net;
}

LayerGraph conv_layer_graph(const ConvLayers& net,
                            const std::string& name,
                            std::int64_t samples,
                            DataType type,
                            Optimizer optimizer) {
  return LayerMaker(net, name, samples, type, optimizer).run();
}

}  // namespace schedlab::detail
