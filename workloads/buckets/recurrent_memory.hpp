// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "sim/base/units.hpp"
#include "sim/graph/task.hpp"
#include "workloads/models/recurrent/recompute.hpp"

#include <cstdint>
#include <functional>
#include <string>
#include <vector>

namespace schedlab {

/// What is kept for the backward pass, as the options of the workload say it.
struct RecomputeChoice {
  Recompute kind = Recompute::keep_backward;
  std::int64_t checkpoints = 0;     ///< of `optimal`; 0: as many as `sqrt`
  std::int64_t truncate_steps = 0;  ///< not of `sqrt` and `optimal`; 0: no truncation

  friend auto operator<=>(const RecomputeChoice&, const RecomputeChoice&) = default;
};
/// "data_drop", "optimal 12", "keep_backward truncated 50"
[[nodiscard]] std::string to_string(const RecomputeChoice& choice);

/// A network in training: LSTM layers, each with an optional low-rank projection of its output, and
/// an optional softmax over classes at every step.
struct RecurrentNetwork {
  std::int64_t layers = 3;
  std::int64_t hidden = 2048;
  std::int64_t projection = 0;  ///< width of a layer's output; 0: hidden
  std::int64_t input = 40;
  std::int64_t classes = 0;        ///< 0: no output layer
  std::int64_t output_copies = 2;  ///< arrays of [steps, batch, classes]: scores that become
                                   ///< probabilities in place, and their gradient
  std::int64_t weight_copies = 3;  ///< weights, gradients and momentum
  bool hidden_kept = false;        ///< data drop keeps a cell's hidden state beside its projection,
                                   ///< which is all that recomputation needs
  std::int64_t reserved_bytes = 0;  ///< context of the driver, work space of libraries
  DataType type = DataType::fp32;
};

/// LSTM layers with biases and projections, and the output layer with its bias.
[[nodiscard]] std::int64_t parameter_count(const RecurrentNetwork& network);

struct MemoryPart {
  std::string name;
  Bytes bytes{};
};

/// What training holds at its fullest, when backward begins at the last step, by parts: input,
/// cells (values and as many gradients, as in the closed forms; with a projection each cell keeps
/// its projected output as well, and data drop the projected output instead of the hidden state,
/// or besides it: hidden_kept),
/// scratch (data drop: the rest of one cell, shared by all; sqrt: state and values of one segment
/// of all layers; optimal: of one step of all layers), output, weights, reserved. Checkpoints of
/// sqrt and optimal are states without gradients. Truncated, cells and output are those of one
/// segment, with the states before it. ContractViolation for sizes below 1.
[[nodiscard]] std::vector<MemoryPart> training_memory(const RecurrentNetwork& network,
                                                      const RecomputeChoice& choice,
                                                      std::int64_t batch,
                                                      std::int64_t steps);
[[nodiscard]] Bytes total(const std::vector<MemoryPart>& parts);

/// The largest multiple of `multiple` that fits, at most 2^24, the largest batch that workloads
/// accept; 0: not even the first does. `bytes` must not fall with the batch. Cost: about 2
/// log2(result) calls.
[[nodiscard]] std::int64_t largest_batch(Bytes capacity,
                                         std::int64_t multiple,
                                         const std::function<Bytes(std::int64_t)>& bytes);

}  // namespace schedlab
