// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "workloads/models/graph_emitter.hpp"
#include "workloads/models/recurrent/recurrent.hpp"

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace schedlab::detail {

/// GEMMs of equal shape side by side: C[b][m, n] += A[b][m, k] * B[b][k, n] for b < batch. As a
/// kernel it has batch * m rows, and the bytes of all its factors.
[[nodiscard]] Kernel batched_gemm_kernel(std::int64_t batch,
                                         std::int64_t m,
                                         std::int64_t n,
                                         std::int64_t k,
                                         DataType type,
                                         bool accumulates);

/// Weights outside the recurrent layers, their gradient and who uses both.
struct Parameter {
  std::string name;  ///< "projection"
  std::int64_t elements = 0;
  TensorId weights;
  TensorId gradient;
  std::vector<TaskId> gradient_tasks;  ///< all that the update waits for
  std::vector<TaskId> readers;         ///< of the weights, in backward
};
[[nodiscard]] Parameter make_parameter(GraphEmitter& out, std::string name, std::int64_t elements);
/// The task "update_NAME".
void add_update(GraphEmitter& out, const Parameter& parameter, Optimizer optimizer);

/// A task of one kernel.
TaskId add_task(GraphEmitter& out,
                std::string_view name,
                TaskClass task_class,
                const Kernel& kernel,
                std::int64_t step = -1);

/// Token numbers of `bytes` copied to the device; a value without a task if `copied` is false.
[[nodiscard]] Value add_transfer_in(GraphEmitter& out, std::int64_t tokens, bool copied);
void add_transfer_out(GraphEmitter& out, const Value& loss);

/// Rows of a table of word vectors, looked up for all steps at once. FLOPs: none forward; backward
/// one addition per element into a dense gradient, which is cleared first, as frameworks do.
class Embedding {
 public:
  struct Shape {
    std::int64_t rows = 0;  ///< steps * batch
    std::int64_t width = 0;
  };
  Embedding(GraphEmitter& out, std::string_view prefix, const Shape& shape, std::int64_t steps)
      : out_(out), prefix_(prefix), shape_(shape), outputs_(static_cast<std::size_t>(steps)) {}

  /// "PREFIX_embedding", class critical_pointwise.
  void forward(const Parameter& table, const Value& tokens);
  [[nodiscard]] const Steps& outputs() const { return outputs_; }
  /// "PREFIX_embedding_gradient", class weight_gradient: after every step of every chain's dx; adds
  /// into the gradient of the table after whoever did before.
  void backward(Parameter& table, const Value& tokens, const std::vector<const Steps*>& gradients);

 private:
  GraphEmitter& out_;
  std::string prefix_;
  Shape shape_;
  Steps outputs_;
};

/// A dense layer on all steps (or the last state) and the loss: logits[rows, outputs] = x[rows,
/// width] * W + b. The loss is 7 FLOP per logit: softmax (maximum, difference, exponential, sum,
/// quotient) and its gradient (difference, scale).
class Projection {
 public:
  struct Shape {
    std::int64_t rows = 0;
    std::int64_t width = 0;
    std::int64_t outputs = 0;
  };
  Projection(GraphEmitter& out, const Shape& shape);

  [[nodiscard]] static std::int64_t parameters(const Shape& shape) {
    return (shape.width + 1) * shape.outputs;
  }
  /// "projection" and "loss"; reads all present values.
  void forward(const std::vector<const Steps*>& inputs);
  [[nodiscard]] Value loss() const { return loss_; }
  /// "projection_gradient" and "projection_weight" (bias gradient fused).
  void backward(const std::vector<const Steps*>& inputs);
  /// The gradient of its input.
  [[nodiscard]] Value input_gradient() const { return input_gradient_; }
  [[nodiscard]] Parameter& parameter() { return parameter_; }

 private:
  GraphEmitter& out_;
  Shape shape_;
  Parameter parameter_;
  Value loss_;
  Value logits_gradient_;
  Value input_gradient_;
};

}  // namespace schedlab::detail
