// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "sim/graph/task_graph.hpp"
#include "workloads/models/recurrent/recurrent.hpp"

#include <cstdint>

namespace schedlab {

/// A dense layer with softmax over classes on the outputs of all steps.
struct OutputLayerSpec {
  std::int64_t steps = 50;
  std::int64_t batch = 64;
  std::int64_t width = 1024;  ///< of what it reads
  std::int64_t classes = 1000;
  DataType type = DataType::fp32;
  Optimizer optimizer = Optimizer::sgd;
  bool tensors = true;
};

/// Its part of a training step: projection, loss (softmax, cross entropy and their gradient),
/// projection_gradient, projection_weight, update: five tasks over all steps at once. What it reads
/// is given; the gradient of that is what the layers below go on with.
/// ContractViolation for a size below 1, InfeasibleError for tensors that are too large.
[[nodiscard]] TaskGraph output_layer(const OutputLayerSpec& spec);

}  // namespace schedlab
