// SPDX-License-Identifier: Apache-2.0
#include "workloads/models/recurrent/model_parts.hpp"

#include "workloads/models/recurrent/recurrent_kernels.hpp"
#include "workloads/models/update_kernels.hpp"

#include <algorithm>
#include <utility>

namespace schedlab::detail {
namespace {

constexpr std::int64_t token_bytes = 4;  // assumed: 32-bit token numbers

}  // namespace

Kernel batched_gemm_kernel(std::int64_t batch,
                           std::int64_t m,
                           std::int64_t n,
                           std::int64_t k,
                           DataType type,
                           bool accumulates) {
  Kernel kernel = gemm_kernel(batch * m, n, k, type, accumulates);
  // Each of the products has a right factor of its own.
  kernel.bytes_read += Bytes{(batch - 1) * k * n * bytes_per_element(type)};
  return kernel;
}

Parameter make_parameter(GraphEmitter& out, std::string name, std::int64_t elements) {
  Parameter parameter{.name = std::move(name),
                      .elements = elements,
                      .weights = {},
                      .gradient = {},
                      .gradient_tasks = {},
                      .readers = {}};
  parameter.weights = out.tensor("W_" + parameter.name, -1, GraphEmitter::no_step, elements, true);
  parameter.gradient =
      out.tensor("dW_" + parameter.name, -1, GraphEmitter::no_step, elements, true, true);
  return parameter;
}

void add_update(GraphEmitter& out, const Parameter& parameter, Optimizer optimizer) {
  const TaskId update = add_task(out,
                                 "update_" + parameter.name,
                                 TaskClass::update,
                                 optimizer_kernel(optimizer, parameter.elements, out.type()));
  for (const TaskId task : parameter.gradient_tasks) out.edge(task, update);
  for (const TaskId task : parameter.readers) out.edge(task, update);
  out.reads(update, parameter.gradient);
  add_optimizer_state(out, update, optimizer, -1, parameter.elements);
}

TaskId add_task(GraphEmitter& out,
                std::string_view name,
                TaskClass task_class,
                const Kernel& kernel,
                std::int64_t step) {
  return out.task(out.operation(name, task_class, {kernel}), -1, step);
}

Value add_transfer_in(GraphEmitter& out, std::int64_t tokens, bool copied) {
  const std::int64_t bytes = tokens * token_bytes;
  const std::int64_t size = bytes_per_element(out.type());
  Value value;
  value.tensor =
      out.tensor("tokens", -1, GraphEmitter::no_step, (bytes + size - 1) / size, !copied);
  if (!copied) return value;
  value.task = add_task(out,
                        "transfer_in",
                        TaskClass::transfer,
                        copy_kernel(TaskKind::copy_host_to_device, bytes, out.type()));
  out.writes(value.task, value.tensor);
  return value;
}

void add_transfer_out(GraphEmitter& out, const Value& loss) {
  const TaskId task = add_task(
      out,
      "transfer_out",
      TaskClass::transfer,
      copy_kernel(TaskKind::copy_device_to_host, bytes_per_element(out.type()), out.type()));
  out.needs(task, loss);
}

void Embedding::forward(const Parameter& table, const Value& tokens) {
  const std::int64_t elements = shape_.rows * shape_.width;
  Kernel kernel = pointwise_kernel(out_.type(), 0, elements, elements);
  kernel.bytes_read += Bytes{shape_.rows * token_bytes};
  Value value;
  value.task = add_task(out_, prefix_ + "_embedding", TaskClass::critical_pointwise, kernel);
  value.tensor = out_.tensor("x_" + prefix_, -1, GraphEmitter::no_step, elements, false);
  out_.needs(value.task, tokens);
  out_.reads(value.task, table.weights);
  out_.writes(value.task, value.tensor);
  std::fill(outputs_.begin(), outputs_.end(), value);
}

void Embedding::backward(Parameter& table,
                         const Value& tokens,
                         const std::vector<const Steps*>& gradients) {
  const auto parts = static_cast<std::int64_t>(gradients.size());
  const std::int64_t elements = shape_.rows * shape_.width;
  const bool clears = table.gradient_tasks.empty();
  Kernel kernel = pointwise_kernel(out_.type(),
                                   static_cast<double>(parts * elements),
                                   (parts + 1) * elements,
                                   elements + (clears ? table.elements : 0));
  kernel.kind = TaskKind::reduction;
  kernel.bytes_read += Bytes{shape_.rows * token_bytes};
  const TaskId task =
      add_task(out_, prefix_ + "_embedding_gradient", TaskClass::weight_gradient, kernel);
  for (const Steps* values : gradients) {
    for (const Value& value : *values) out_.needs(task, value);
  }
  out_.needs(task, tokens);
  if (!clears) out_.edge(table.gradient_tasks.back(), task);
  out_.writes(task, table.gradient);
  table.gradient_tasks.push_back(task);
}

Projection::Projection(GraphEmitter& out, const Shape& shape)
    : out_(out), shape_(shape), parameter_(make_parameter(out, "projection", parameters(shape))) {}

void Projection::forward(const std::vector<const Steps*>& inputs) {
  const std::int64_t logits = shape_.rows * shape_.outputs;
  Kernel product = gemm_kernel(shape_.rows, shape_.outputs, shape_.width, out_.type(), false);
  product.flops += Flops{static_cast<double>(logits)};  // bias
  product.bytes_read += Bytes{out_.bytes(shape_.outputs)};
  const TaskId projection = add_task(out_, "projection", TaskClass::critical_matmul, product);
  for (const Steps* values : inputs) {
    for (const Value& value : *values) out_.needs(projection, value);
  }
  out_.reads(projection, parameter_.weights);
  const TensorId scores = out_.tensor("logits", -1, GraphEmitter::no_step, logits, false);
  out_.writes(projection, scores);

  const Kernel loss =
      pointwise_kernel(out_.type(), 7.0 * static_cast<double>(logits), logits, logits + 1);
  loss_.task = add_task(out_, "loss", TaskClass::critical_pointwise, loss);
  out_.needs(loss_.task, {projection, scores, true});
  loss_.tensor = out_.tensor("loss", -1, GraphEmitter::no_step, 1, false);
  logits_gradient_ = {
      loss_.task, out_.tensor("dlogits", -1, GraphEmitter::no_step, logits, false), true};
  out_.writes(loss_.task, loss_.tensor);
  out_.writes(loss_.task, logits_gradient_.tensor);
}

void Projection::backward(const std::vector<const Steps*>& inputs) {
  const std::int64_t logits = shape_.rows * shape_.outputs;
  input_gradient_.task =
      add_task(out_,
               "projection_gradient",
               TaskClass::critical_matmul,
               gemm_kernel(shape_.rows, shape_.width, shape_.outputs, out_.type(), false));
  out_.needs(input_gradient_.task, logits_gradient_);
  out_.reads(input_gradient_.task, parameter_.weights);
  input_gradient_.tensor =
      out_.tensor("dy", -1, GraphEmitter::no_step, shape_.rows * shape_.width, false);
  out_.writes(input_gradient_.task, input_gradient_.tensor);
  parameter_.readers.push_back(input_gradient_.task);

  Kernel weights = gemm_kernel(shape_.width, shape_.outputs, shape_.rows, out_.type(), true);
  weights.flops += Flops{static_cast<double>(logits)};  // bias gradient
  weights.bytes_read += Bytes{out_.bytes(shape_.outputs)};
  weights.bytes_written += Bytes{out_.bytes(shape_.outputs)};
  const TaskId weight = add_task(out_, "projection_weight", TaskClass::weight_gradient, weights);
  out_.needs(weight, logits_gradient_);
  for (const Steps* values : inputs) {
    for (const Value& value : *values) out_.needs(weight, value);
  }
  out_.writes(weight, parameter_.gradient);
  parameter_.gradient_tasks.push_back(weight);
}

}  // namespace schedlab::detail
