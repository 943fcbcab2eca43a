// SPDX-License-Identifier: Apache-2.0
#include "workloads/pipeline/layer_training.hpp"

#include "sim/base/error.hpp"
#include "workloads/pipeline/layer_passes.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <string>
#include <tuple>
#include <utility>
#include <vector>

namespace schedlab {
namespace {

/// A kernel, a tensor and a duration for `to` samples in place of `from`.
class SampleScale {
 public:
  SampleScale(std::int64_t from, std::int64_t to) : from_(from), to_(to) {}

  [[nodiscard]] std::int64_t of(std::int64_t size) const { return size * to_ / from_; }
  [[nodiscard]] Bytes of(Bytes bytes) const {
    return Bytes{static_cast<std::int64_t>(static_cast<double>(bytes.count()) *
                                           static_cast<double>(to_) / static_cast<double>(from_))};
  }
  /// A pass of a layer with `parameters`; `weight_gradient`: it writes their gradient.
  [[nodiscard]] Operation of(Operation operation, Bytes parameters, bool weight_gradient) const {
    operation.fixed_duration = Duration{of(operation.fixed_duration.count())};
    for (Kernel& kernel : operation.kernels) {
      Bytes read{};  // what does not grow of either
      Bytes written{};
      const std::int64_t row = kernel.m * bytes_per_element(kernel.type);
      if (kernel.m > 0 && kernel.n > 0 && kernel.k > 0) {
        (weight_gradient ? written : read) =
            scale_product(kernel, parameters, weight_gradient, operation.name);
      } else if (kernel.n > 0 && kernel.bytes_written.count() <= 2 * row) {
        kernel.n = of(kernel.n);  // sums over the batch
        written = kernel.bytes_written;
      } else {
        kernel.m = of(kernel.m);
      }
      kernel.attention.sequences = of(kernel.attention.sequences);
      kernel.flops =
          Flops{kernel.flops.count() * static_cast<double>(to_) / static_cast<double>(from_)};
      kernel.bytes_read = beside(read, kernel.bytes_read);
      kernel.bytes_written = beside(written, kernel.bytes_written);
    }
    return operation;
  }

 private:
  [[nodiscard]] Bytes beside(Bytes constant, Bytes all) const {
    constant = std::min(constant, all);
    return constant + of(all - constant);
  }

  /// Gives the bytes of the matrix that the batch does not change.
  [[nodiscard]] Bytes scale_product(Kernel& kernel,
                                    Bytes parameters,
                                    bool weight_gradient,
                                    const std::string& operation) const {
    const double one = 2.0 * static_cast<double>(kernel.m) * static_cast<double>(kernel.n) *
                       static_cast<double>(kernel.k);
    const auto products =
        std::max<std::int64_t>(1, static_cast<std::int64_t>(kernel.flops.count() / one + 0.5));
    const std::int64_t element = products * bytes_per_element(kernel.type);
    std::int64_t* scaled = nullptr;
    Bytes constant{-1};
    const auto consider = [&](std::int64_t& size, std::int64_t other, std::int64_t another) {
      const Bytes matrix{other * another * element};
      if (size % from_ != 0 || matrix > parameters || matrix <= constant) return;
      scaled = &size;
      constant = matrix;
    };
    if (weight_gradient) {
      consider(kernel.k, kernel.m, kernel.n);
    } else {
      consider(kernel.m, kernel.n, kernel.k);
      consider(kernel.n, kernel.m, kernel.k);
    }
    if (scaled == nullptr && products > 1 && products % from_ == 0) return {};
    if (scaled == nullptr) {
      throw InfeasibleError(
          fmt::format("{}: a product of {} x {} x {}, {} side by side: neither their number nor a "
                      "side beside the layer's parameters is a multiple of the {} samples of the "
                      "file\n  use \"batch\": {}, or a file of the batch that you want",
                      operation,
                      kernel.m,
                      kernel.n,
                      kernel.k,
                      products,
                      from_,
                      from_));
    }
    *scaled = of(*scaled);
    return constant;
  }

  std::int64_t from_;
  std::int64_t to_;
};

/// The tasks of one step; used once.
class LayerTrainer {
 public:
  LayerTrainer(const LayerGraph& graph, bool with_tensors)
      : graph_(graph), with_tensors_(with_tensors), nodes_(graph.layers.size()) {
    for (const LayerId id : graph.layers.ids()) {
      for (const LayerId input : graph.layers[id].inputs) nodes_[input].readers.push_back(id);
    }
  }

  TaskGraph build() && {
    for (const LayerId id : order()) add_forward(id);
    for (auto id = order_.rbegin(); id != order_.rend(); ++id) add_backward(*id);
    for (const LayerId id : order_) add_update(id);
    return std::move(builder_).build();
  }

 private:
  struct Node {
    std::vector<LayerId> readers;
    std::vector<TaskId> made_by;    // after which the output is there
    std::vector<TensorId> outputs;  // where it lies
    TensorId kept;
    std::vector<TaskId> arriving;     // tasks after which the gradient of the output is there
    std::vector<TensorId> gradients;  // and where it lies
  };
  /// Parameters that one layer has, or several tied ones share.
  struct Parameters {
    TensorId values;
    TensorId gradient;
    std::vector<TaskId> readers;
    std::vector<TaskId> writers;
    bool updated = false;
  };

  /// Inputs before the layers that read them.
  const std::vector<LayerId>& order() {
    IdVector<LayerId, std::size_t> left;
    for (const LayerId id : graph_.layers.ids()) {
      left.push_back(graph_.layers[id].inputs.size());
      if (left[id] == 0) order_.push_back(id);
    }
    for (std::size_t at = 0; at < order_.size(); ++at) {
      for (const LayerId reader : nodes_[order_[at]].readers) {
        if (--left[reader] == 0) order_.push_back(reader);
      }
    }
    if (order_.size() != graph_.layers.size()) {
      throw InfeasibleError("layers that form a cycle cannot be trained one after another");
    }
    return order_;
  }

  TaskId task(LayerId id, OperationId of, std::size_t pass, TaskClass task_class) {
    const auto [found, fresh] = operations_.try_emplace({of, pass});
    if (fresh) {
      Operation operation = graph_.operations[of];
      operation.task_class = task_class;
      found->second = builder_.add_operation(std::move(operation));
    }
    const auto layer = static_cast<std::int16_t>(std::min<std::uint32_t>(id.value(), 32767));
    return builder_.add_task(
        found->second,
        {.layer = layer},
        fmt::format("{}({})", detail::layer_pass_names[pass], graph_.layers[id].name));
  }

  TensorId tensor(
      const char* name, LayerId id, Bytes bytes, bool persistent = false, bool accumulate = false) {
    if (!with_tensors_ || bytes.count() == 0) return TensorId::none();
    return builder_.add_tensor({.name = fmt::format("{}({})", name, graph_.layers[id].name),
                                .bytes = bytes,
                                .accumulate = accumulate,
                                .persistent = persistent});
  }
  void reads(TaskId task, TensorId tensor) {
    if (tensor.valid()) builder_.reads(task, tensor);
  }
  void writes(TaskId task, TensorId tensor) {
    if (tensor.valid()) builder_.writes(task, tensor);
  }

  Parameters& parameters_of(LayerId id) {
    const Layer& layer = graph_.layers[id];
    const std::string key = layer.tied.empty() ? "layer " + layer.name : "tied " + layer.tied;
    const auto [found, fresh] = parameters_.try_emplace(key);
    if (fresh) found->second.values = tensor("w", id, layer.parameters, true);
    return found->second;
  }
  void read_parameters(TaskId task, LayerId id) {
    if (graph_.layers[id].parameters.count() == 0) return;
    Parameters& own = parameters_of(id);
    reads(task, own.values);
    own.readers.push_back(task);
  }

  void add_forward(LayerId id) {
    const Layer& layer = graph_.layers[id];
    Node& node = nodes_[id];
    for (const LayerId input : layer.inputs) {
      add_new(nodes_[input].made_by, node.made_by);
      add_new(nodes_[input].outputs, node.outputs);
    }
    if (!layer.forward.valid()) return;  // it hands on what its inputs are
    const TaskId made = task(id, layer.forward, 0, TaskClass::unclassified);
    read_parameters(made, id);
    for (const TaskId before : node.made_by) builder_.add_edge(before, made);
    for (const TensorId input : node.outputs) reads(made, input);
    node.made_by = {made};
    node.outputs = {tensor("y", id, layer.activation)};
    writes(made, node.outputs.front());
    if (!layer.backward_data.valid() && !layer.backward_weight.valid()) return;
    node.kept = tensor("kept", id, layer.kept);
    writes(made, node.kept);
  }

  void add_backward(LayerId id) {
    const Layer& layer = graph_.layers[id];
    Node& node = nodes_[id];
    if (node.readers.empty()) node.arriving = node.made_by;
    const auto add = [&](OperationId of, std::size_t pass, TaskClass task_class) {
      const TaskId made = task(id, of, pass, task_class);
      for (const TaskId before : node.arriving) builder_.add_edge(before, made);
      for (const TensorId gradient : node.gradients) reads(made, gradient);
      reads(made, node.kept);
      return made;
    };
    std::vector<TaskId> leaving = node.arriving;
    std::vector<TensorId> handed = node.gradients;
    if (layer.backward_data.valid()) {
      const TaskId made = add(layer.backward_data, 1, TaskClass::unclassified);
      read_parameters(made, id);
      Bytes bytes{};
      for (const LayerId input : layer.inputs) bytes += graph_.layers[input].activation;
      handed = {tensor("dx", id, bytes)};
      writes(made, handed.front());
      leaving = {made};
      // As of normalization, whose one kernel computes both.
      if (!layer.backward_weight.valid() && layer.parameters.count() > 0) write_gradient(made, id);
    }
    if (layer.backward_weight.valid()) {
      write_gradient(add(layer.backward_weight, 2, TaskClass::weight_gradient), id);
    }
    for (const LayerId input : layer.inputs) {
      Node& before = nodes_[input];
      add_new(leaving, before.arriving);
      add_new(handed, before.gradients);
    }
  }

  void write_gradient(TaskId task, LayerId id) {
    const Layer& layer = graph_.layers[id];
    Parameters& own = parameters_of(id);
    if (own.writers.empty()) {
      own.gradient = tensor("dw", id, layer.parameters, true, !layer.tied.empty());
    } else {
      builder_.add_edge(own.writers.back(), task);  // they add up
    }
    writes(task, own.gradient);
    own.writers.push_back(task);
  }

  template <class Id>
  static void add_new(const std::vector<Id>& from, std::vector<Id>& to) {
    for (const Id id : from) {
      if (id.valid() && std::find(to.begin(), to.end(), id) == to.end()) to.push_back(id);
    }
  }

  void add_update(LayerId id) {
    const Layer& layer = graph_.layers[id];
    if (!layer.update.valid()) return;
    Parameters& own = parameters_of(id);
    if (std::exchange(own.updated, true)) return;
    const TaskId update = task(id, layer.update, 3, TaskClass::update);
    for (const auto* tasks : {&own.writers, &own.readers}) {
      for (const TaskId before : *tasks) builder_.add_edge(before, update);
    }
    reads(update, own.gradient);
  }

  const LayerGraph& graph_;
  bool with_tensors_;
  IdVector<LayerId, Node> nodes_;
  std::vector<LayerId> order_;
  TaskGraphBuilder builder_;
  std::map<std::pair<OperationId, std::size_t>, OperationId> operations_;
  std::map<std::string, Parameters> parameters_;
};

}  // namespace

LayerGraph with_samples(LayerGraph graph, std::int64_t samples) {
  SCHEDLAB_EXPECTS(samples >= 1, fmt::format("{} samples", samples));
  if (samples == graph.samples) return graph;
  const SampleScale scale{graph.samples, samples};
  // Layers share operations, also those of several passes or of more parameters.
  enum class Use : std::uint8_t { reads_parameters, writes_gradient, update };
  const IdVector<OperationId, Operation> given = std::exchange(graph.operations, {});
  std::map<std::tuple<OperationId, Use, Bytes>, OperationId> made;
  const auto scaled = [&](OperationId id, Use use, const Layer& layer) {
    if (!id.valid()) return id;
    const auto [found, fresh] = made.try_emplace({id, use, layer.parameters});
    if (fresh) {
      found->second = graph.operations.push_back(
          use == Use::update ? given[id]
                             : scale.of(given[id], layer.parameters, use == Use::writes_gradient));
    }
    return found->second;
  };
  for (const LayerId id : graph.layers.ids()) {
    Layer& layer = graph.layers[id];
    layer.forward = scaled(layer.forward, Use::reads_parameters, layer);
    layer.backward_data = scaled(layer.backward_data, Use::reads_parameters, layer);
    layer.backward_weight = scaled(layer.backward_weight, Use::writes_gradient, layer);
    layer.update = scaled(layer.update, Use::update, layer);
    layer.activation = scale.of(layer.activation);
    layer.kept = scale.of(layer.kept);
  }
  graph.samples = samples;
  return graph;
}

TaskGraph layer_training(const LayerGraph& graph, bool with_tensors) {
  if (graph.tensor_parallel > 1 || !graph.other_operations.empty()) {
    throw InfeasibleError("layers that ranks share are trained by pipelines alone");
  }
  return LayerTrainer{graph, with_tensors}.build();
}

}  // namespace schedlab
