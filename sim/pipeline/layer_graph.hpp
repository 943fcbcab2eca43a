// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "sim/base/ids.hpp"
#include "sim/base/units.hpp"
#include "sim/graph/collective.hpp"
#include "sim/graph/components.hpp"
#include "sim/graph/task.hpp"
#include "sim/machine/cost_model.hpp"

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace schedlab {

using LayerId = StrongId<struct LayerIdTag>;

/// What a microbatch does in a layer.
enum class LayerPass : std::uint8_t { forward, backward_data, backward_weight };

/// A collective of the ranks that share a layer, behind so many of the kernels of one of its
/// passes.
struct LayerJoin {
  LayerPass pass = LayerPass::forward;
  std::uint32_t kernels = 0;  ///< of the pass, that come before it
  CollectiveOp op = CollectiveOp::all_reduce;
  Bytes bytes{};

  friend bool operator==(const LayerJoin&, const LayerJoin&) = default;
};

/// One layer of a model: what a stage of a pipeline is made of. Work refers to the graph's
/// operations, none() = no work; all of it is that of one microbatch of LayerGraph::samples.
struct Layer {
  std::string name{};
  OperationId forward{};
  OperationId backward_data{};    ///< gradient of the inputs
  OperationId backward_weight{};  ///< gradient of the parameters
  OperationId update{};           ///< the optimizer's step, once per batch
  Bytes parameters{};
  Bytes
      expert_parameters{};  ///< of these, what each of LayerGraph::tensor_parallel ranks has alone
  Bytes activation{};       ///< of the output; a stage that reads it receives it once
  Bytes kept{};             ///< what the backward pass needs of the forward pass
  /// Time to move the output to another stage, where a file says it; else it follows from the link.
  std::optional<Duration> transfer{};
  std::string tied{};  ///< layers with the same word share their parameters; empty: none
  std::vector<LayerId> inputs{};
  std::vector<LayerJoin> joins{};  ///< by pass, then in their order

  /// The operation of a pass.
  [[nodiscard]] OperationId of(LayerPass pass) const {
    return pass == LayerPass::forward         ? forward
           : pass == LayerPass::backward_data ? backward_data
                                              : backward_weight;
  }
  friend bool operator==(const Layer&, const Layer&) = default;
};

/// The layers of a model in the model's order, and who reads whose output. May have cycles, whose
/// layers belong on one stage. Operations are shared by layers of the same shape, so that a model
/// of thousands of equal layers is small.
struct LayerGraph {
  std::string name{};
  std::int64_t samples = 1;  ///< in one microbatch
  /// Ranks that share every layer; work and bytes are one rank's part, all parts are alike.
  std::uint32_t tensor_parallel = 1;
  /// They share the experts of layers only: each has microbatches of its own, and a copy of all
  /// other parameters.
  bool expert_parallel = false;
  IdVector<OperationId, Operation> operations{};
  /// Where parts are not alike: the same operations as they are on the ranks from the second on.
  std::vector<IdVector<OperationId, Operation>> other_operations{};
  IdVector<LayerId, Layer> layers{};

  friend bool operator==(const LayerGraph&, const LayerGraph&) = default;
};

/// How long the work of one layer takes.
struct LayerTimes {
  Duration forward{0};
  Duration backward_data{0};
  Duration backward_weight{0};
  Duration update{0};

  LayerTimes& operator+=(const LayerTimes& other);
  /// Forward and both gradients: one microbatch's visit in training.
  [[nodiscard]] Duration microbatch() const { return forward + backward_data + backward_weight; }
  friend bool operator==(const LayerTimes&, const LayerTimes&) = default;
};

/// Checks what every other function relies on.
/// Errors   InputError naming `file` and the layer: a name that is empty or given twice, an input
/// or operation that does not exist, a negative number, no layer at all, layers that share
/// parameters of different sizes.
void check_layers(const LayerGraph& graph, const std::string& file);

/// From the read to the reading layer, in the order of the layers.
[[nodiscard]] std::vector<Edge> layer_edges(const LayerGraph& graph);

/// Fixed durations as they are, kernels as `model` estimates them on `device`.
/// Errors   InfeasibleError if the device cannot run an operation.    Cost  one estimate per
/// operation.
[[nodiscard]] IdVector<LayerId, LayerTimes> layer_times(const LayerGraph& graph,
                                                        const CostModel& model,
                                                        const Device& device);
/// Times of layers whose durations are known.
/// Errors   InfeasibleError naming a layer that has kernels: it needs a machine.
[[nodiscard]] IdVector<LayerId, LayerTimes> layer_times(const LayerGraph& graph);

/// Does any layer's duration depend on the machine?
[[nodiscard]] bool needs_machine(const LayerGraph& graph);

/// Parameters of tied layers count once.
[[nodiscard]] Bytes parameter_bytes(const LayerGraph& graph);

}  // namespace schedlab
