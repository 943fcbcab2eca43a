// SPDX-License-Identifier: Apache-2.0
#include "workloads/models/convolution/conv_emission.hpp"

#include "workloads/models/convolution/conv_kernels.hpp"
#include "workloads/models/graph_emitter.hpp"
#include "workloads/models/recurrent/recurrent_kernels.hpp"
#include "workloads/models/update_kernels.hpp"

#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace schedlab::detail {
namespace {

constexpr std::int64_t label_bytes = 4;  // assumed: 32-bit numbers of classes

/// Emits one network; used once. Values and gradients are those of a layer's output.
class ConvEmission {
 public:
  ConvEmission(const ConvLayers& net,
               std::int64_t batch,
               bool with_tensors,
               const ConvEmissionOptions& options)
      : net_(net),
        batch_(batch),
        options_(options),
        out_(options.type, with_tensors, true),
        values_(net.layers().size()),
        statistics_(net.layers().size()),
        weights_(net.layers().size()),
        gradients_(net.layers().size()) {}

  TaskGraph run() {
    constexpr std::size_t tasks_per_layer = 4;
    out_.reserve(tasks_per_layer * net_.layers().size());
    for (now_ = 0; now_ < net_.layers().size(); ++now_) forward(layer());
    if (training()) {
      for (now_ = net_.layers().size(); now_-- > 1;) backward(layer());
      for (now_ = 1; now_ < net_.layers().size(); ++now_) update(layer());
    }
    return std::move(out_).build();
  }

 private:
  /// The parameters of a layer, their gradient, and who makes and needs them.
  struct Weights {
    Value value;
    Value gradient;
    TaskId reader;  ///< in backward, if that is not who makes the gradient
  };

  [[nodiscard]] const ConvLayer& layer() const { return net_.layers()[now_]; }
  [[nodiscard]] bool training() const { return options_.pass == ConvNetPass::training; }
  [[nodiscard]] const Value& input() const { return values_[layer().inputs.front()]; }
  [[nodiscard]] const Value& weights() const { return weights_[now_].value; }
  [[nodiscard]] ConvShapes shapes() const {
    return {.batch = batch_, .x = net_.input_of(layer()), .y = layer().map, .type = options_.type};
  }
  /// The image needs no gradient.
  [[nodiscard]] bool wants_gradient(std::size_t number) const {
    return net_.layers()[number].kind != LayerKind::input;
  }

  TensorId tensor(std::string_view name, std::int64_t elements, bool persistent = false) {
    return out_.tensor(
        name, static_cast<std::int64_t>(now_), GraphEmitter::no_step, elements, persistent);
  }
  TaskId task(std::string_view name,
              TaskClass task_class,
              std::vector<Kernel> kernels,
              const std::vector<Value>& needs) {
    const TaskId id = out_.task(
        out_.operation(name, task_class, std::move(kernels)), static_cast<std::int64_t>(now_), -1);
    for (const Value& need : needs) out_.needs(id, need);
    return id;
  }
  Value made_by(TaskId id, std::string_view tensor_name, std::int64_t elements) {
    const Value value{.task = id, .tensor = tensor(tensor_name, elements)};
    out_.writes(id, value.tensor);
    return value;
  }

  void forward(const ConvLayer& l);
  void forward_input();
  void forward_loss();
  void forward_batch_norm();
  void forward_concat();
  /// One critical task of one kernel that makes the layer's output.
  void make(std::string_view name,
            TaskClass task_class,
            const Kernel& kernel,
            const std::vector<Value>& needs) {
    values_[now_] = made_by(task(name, task_class, {kernel}, needs), "x", shapes().outputs());
  }

  void backward(const ConvLayer& l);
  [[nodiscard]] Value gradient_of_output();
  void backward_product(const Value& dy);
  void backward_bias(const Value& dy);
  void backward_batch_norm(const Value& dy);
  void backward_concat(const Value& dy);
  /// One critical task of one kernel that makes the gradient of the layer's only input.
  void make_gradient(std::string_view name,
                     TaskClass task_class,
                     const Kernel& kernel,
                     const std::vector<Value>& needs) {
    const std::size_t x = layer().inputs.front();
    gradients_[x].push_back(
        made_by(task(name, task_class, {kernel}, needs), "dx", shapes().inputs()));
  }
  void make_weight_gradient(TaskId id) {
    weights_[now_].gradient = {.task = id, .tensor = tensor("dW", net_.parameters(layer()), true)};
    out_.writes(id, weights_[now_].gradient.tensor);
  }

  void update(const ConvLayer& l);

  const ConvLayers& net_;
  std::int64_t batch_;
  ConvEmissionOptions options_;
  GraphEmitter out_;
  std::size_t now_ = 0;
  std::vector<Value> values_;
  std::vector<Value> statistics_;
  std::vector<Weights> weights_;
  std::vector<std::vector<Value>> gradients_;
};

constexpr TaskClass matmul = TaskClass::critical_matmul;
constexpr TaskClass pointwise = TaskClass::critical_pointwise;

void ConvEmission::forward_input() {
  const std::int64_t pixels = batch_ * layer().map.elements();
  const std::int64_t bytes = out_.bytes(pixels) + (training() ? batch_ * label_bytes : 0);
  const std::int64_t elements = bytes / bytes_per_element(options_.type);
  Value& image = values_[now_];
  image.tensor = tensor("images", elements, !options_.transfers);
  if (!options_.transfers) return;
  image.task = task("transfer_in",
                    TaskClass::transfer,
                    {copy_kernel(TaskKind::copy_host_to_device, bytes, options_.type)},
                    {});
  out_.writes(image.task, image.tensor);
}

void ConvEmission::forward_loss() {
  if (!training()) {
    make("softmax", pointwise, class_softmax_kernel(shapes()), {input()});
    if (options_.transfers) {
      const std::int64_t bytes = out_.bytes(shapes().outputs());
      task("transfer_out",
           TaskClass::transfer,
           {copy_kernel(TaskKind::copy_device_to_host, bytes, options_.type)},
           {values_[now_]});
    }
    return;
  }
  // The loss divides by the whole batch, so that the sum over slices of a batch is that of all.
  const TaskId loss =
      task("loss", pointwise, {softmax_loss_kernel(shapes())}, {input(), values_.front()});
  gradients_[layer().inputs.front()].push_back(made_by(loss, "dx", shapes().outputs()));
  const Value losses = made_by(loss, "loss", batch_);
  if (!options_.transfers) return;
  task("transfer_out",
       TaskClass::transfer,
       {copy_kernel(TaskKind::copy_device_to_host, out_.bytes(batch_), options_.type)},
       {losses});
}

void ConvEmission::forward_batch_norm() {
  const ConvShapes s = shapes();
  if (!training()) {
    make("batch_norm", pointwise, norm_inference_kernel(s), {input(), weights()});
    return;
  }
  if (!options_.separate_statistics) {
    const Kernel kernel = joined_kernel(norm_statistics_kernel(s), norm_apply_kernel(s));
    make("batch_norm", pointwise, kernel, {input(), weights()});
    statistics_[now_] = {.task = values_[now_].task, .tensor = tensor("statistics", 2 * s.y.c)};
    out_.writes(values_[now_].task, statistics_[now_].tensor);
    return;
  }
  statistics_[now_] =
      made_by(task("batch_norm_statistics", pointwise, {norm_statistics_kernel(s)}, {input()}),
              "statistics",
              2 * s.y.c);
  make("batch_norm", pointwise, norm_apply_kernel(s), {input(), statistics_[now_], weights()});
}

void ConvEmission::forward_concat() {
  std::vector<Kernel> copies;
  std::vector<Value> parts;
  for (const std::size_t part : layer().inputs) {
    ConvShapes own = shapes();
    own.y = net_.layers()[part].map;
    copies.push_back(channel_copy_kernel(own));
    parts.push_back(values_[part]);
  }
  const TaskId id = task("concat", pointwise, std::move(copies), parts);
  values_[now_] = made_by(id, "x", shapes().outputs());
}

void ConvEmission::forward(const ConvLayer& l) {
  const std::int64_t parameters = l.inputs.empty() ? 0 : net_.parameters(l);
  if (parameters > 0) weights_[now_].value.tensor = tensor("W", parameters, true);
  switch (l.kind) {
    case LayerKind::input:
      return forward_input();
    case LayerKind::convolution:
      return make("conv_forward",
                  matmul,
                  conv_kernel(shapes(), l, ConvPass::forward),
                  {input(), weights()});
    case LayerKind::dense:
      return make(
          "dense_forward", matmul, dense_kernel(shapes(), ConvPass::forward), {input(), weights()});
    case LayerKind::bias:
      return make("bias_add", pointwise, bias_kernel(shapes()), {input(), weights()});
    case LayerKind::batch_norm:
      return forward_batch_norm();
    case LayerKind::relu:
      return make("relu", pointwise, relu_kernel(shapes()), {input()});
    case LayerKind::response_norm:
      return make("response_norm", pointwise, response_norm_kernel(shapes()), {input()});
    case LayerKind::max_pool:
      return make("max_pool", pointwise, pool_kernel(shapes(), l.window), {input()});
    case LayerKind::average_pool:
      return make("average_pool", pointwise, pool_kernel(shapes(), l.window), {input()});
    case LayerKind::dropout:
      return make("dropout", pointwise, dropout_kernel(shapes()), {input()});
    case LayerKind::concat:
      return forward_concat();
    case LayerKind::add:
      return make("add", pointwise, sum_kernel(shapes(), 2), {input(), values_[l.inputs.back()]});
    case LayerKind::loss:
      return forward_loss();
  }
}

Value ConvEmission::gradient_of_output() {
  std::vector<Value>& parts = gradients_[now_];
  if (parts.size() == 1) return parts.front();
  const Kernel kernel = sum_kernel(shapes(), static_cast<std::int64_t>(parts.size()));
  return made_by(task("gradient_sum", pointwise, {kernel}, parts), "dy", shapes().outputs());
}

void ConvEmission::backward_product(const Value& dy) {
  const bool dense = layer().kind == LayerKind::dense;
  const auto kernel = [&](ConvPass pass) {
    return dense ? dense_kernel(shapes(), pass) : conv_kernel(shapes(), layer(), pass);
  };
  // The data first: everything behind waits for it, for the weights only their update does.
  if (wants_gradient(layer().inputs.front())) {
    make_gradient(dense ? "dense_data_gradient" : "conv_data_gradient",
                  matmul,
                  kernel(ConvPass::data_gradient),
                  {dy, weights()});
    weights_[now_].reader = gradients_[layer().inputs.front()].back().task;
  }
  make_weight_gradient(task(dense ? "dense_weight_gradient" : "conv_weight_gradient",
                            TaskClass::weight_gradient,
                            {kernel(ConvPass::weight_gradient)},
                            {dy, input()}));
}

void ConvEmission::backward_bias(const Value& dy) {
  gradients_[layer().inputs.front()].push_back(dy);  // a sum passes its gradient on
  make_weight_gradient(
      task("bias_gradient", TaskClass::weight_gradient, {bias_gradient_kernel(shapes())}, {dy}));
}

void ConvEmission::backward_batch_norm(const Value& dy) {
  const ConvShapes s = shapes();
  const std::vector<Value> needs{dy, input(), statistics_[now_], weights()};
  if (!options_.separate_statistics) {
    make_gradient("batch_norm_gradient",
                  pointwise,
                  joined_kernel(norm_sums_kernel(s), norm_data_gradient_kernel(s)),
                  needs);
    make_weight_gradient(gradients_[layer().inputs.front()].back().task);
    return;
  }
  make_weight_gradient(
      task("batch_norm_sums", pointwise, {norm_sums_kernel(s)}, {dy, input(), statistics_[now_]}));
  std::vector<Value> all = needs;
  all.push_back(weights_[now_].gradient);
  make_gradient("batch_norm_data_gradient", pointwise, norm_data_gradient_kernel(s), all);
  weights_[now_].reader = gradients_[layer().inputs.front()].back().task;
}

void ConvEmission::backward_concat(const Value& dy) {
  std::vector<Kernel> copies;
  for (const std::size_t part : layer().inputs) {
    ConvShapes own = shapes();
    own.y = net_.layers()[part].map;
    copies.push_back(channel_copy_kernel(own));
  }
  const TaskId id = task("concat_gradient", pointwise, std::move(copies), {dy});
  for (const std::size_t part : layer().inputs) {
    gradients_[part].push_back(made_by(id, "dx", batch_ * net_.layers()[part].map.elements()));
  }
}

void ConvEmission::backward(const ConvLayer& l) {
  if (l.kind == LayerKind::loss) return;  // made its gradient in the same task
  const Value dy = gradient_of_output();
  switch (l.kind) {
    case LayerKind::convolution:
    case LayerKind::dense:
      return backward_product(dy);
    case LayerKind::bias:
      return backward_bias(dy);
    case LayerKind::batch_norm:
      return backward_batch_norm(dy);
    case LayerKind::relu:
      return make_gradient(
          "relu_gradient", pointwise, relu_gradient_kernel(shapes()), {dy, values_[now_]});
    case LayerKind::response_norm:
      return make_gradient("response_norm_gradient",
                           pointwise,
                           response_norm_gradient_kernel(shapes()),
                           {dy, input(), values_[now_]});
    case LayerKind::max_pool:
      return make_gradient("max_pool_gradient",
                           pointwise,
                           max_pool_gradient_kernel(shapes(), l.window),
                           {dy, input(), values_[now_]});
    case LayerKind::average_pool:
      return make_gradient("average_pool_gradient",
                           pointwise,
                           average_pool_gradient_kernel(shapes(), l.window),
                           {dy});
    case LayerKind::dropout:
      return make_gradient("dropout_gradient", pointwise, dropout_kernel(shapes()), {dy});
    case LayerKind::concat:
      return backward_concat(dy);
    case LayerKind::add:
      for (const std::size_t term : l.inputs) gradients_[term].push_back(dy);
      return;
    case LayerKind::input:
    case LayerKind::loss:
      return;
  }
}

void ConvEmission::update(const ConvLayer& l) {
  const std::int64_t parameters = net_.parameters(l);
  if (parameters == 0) return;
  const Weights& own = weights_[now_];
  const TaskId id = task("update",
                         TaskClass::update,
                         {optimizer_kernel(options_.optimizer, parameters, options_.type)},
                         {own.gradient});
  out_.edge(own.reader, id);
  add_optimizer_state(out_, id, options_.optimizer, static_cast<std::int64_t>(now_), parameters);
}

}  // namespace

TaskGraph emit_layers(const ConvLayers& layers,
                      std::int64_t batch,
                      bool with_tensors,
                      const ConvEmissionOptions& options) {
  return ConvEmission{layers, batch, with_tensors, options}.run();
}

}  // namespace schedlab::detail
