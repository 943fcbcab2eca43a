// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "workloads/models/recurrent/recurrent_chain.hpp"

#include <cstddef>
#include <cstdint>
#include <memory>
#include <vector>

namespace schedlab::detail {

/// Layers of chains over one sequence: each layer reads the outputs of the one below.
class RecurrentStack {
 public:
  struct Layers {
    std::int64_t count = 1;
    std::int64_t first_tag = 0;       ///< of the lowest chain
    std::int64_t residual_from = -1;  ///< first layer with a path around it; -1: none
    Bidirectional bidirectional = Bidirectional::none;
    const Steps* context = nullptr;  ///< also read by every layer but the first, of width hidden
    bool returns_input_gradients = false;
    /// Of the lowest layer, in place of the cut's accumulation_steps; 0: none.
    std::int64_t last_accumulation_steps = 0;
  };

  /// `shape`: width is that of the input of layer 0; `chain`: cut, pass and steps of all chains.
  RecurrentStack(GraphEmitter& out,
                 const ChainSpec& chain,
                 const Layers& layers,
                 const std::vector<const Steps*>& input);

  /// One or two chains, the forward direction first.
  [[nodiscard]] std::vector<RecurrentChain*> layer(std::int64_t layer);
  [[nodiscard]] std::int64_t layer_count() const {
    return static_cast<std::int64_t>(layers_.size());
  }
  [[nodiscard]] std::vector<RecurrentChain*> top() { return layer(layer_count() - 1); }
  [[nodiscard]] std::size_t chain_count() const { return chains_.size(); }
  [[nodiscard]] RecurrentChain& chain(std::size_t index) { return *chains_[index]; }
  /// All layers run over one direction, so that a step of all layers can follow another.
  [[nodiscard]] bool by_steps() const { return chains_.size() == layers_.size(); }

  void add_parameters();
  /// Layer by layer over all steps.
  void forward_layer(std::int64_t layer);
  void backward_layer(std::int64_t layer);
  void forward_step(std::int64_t i);
  void backward_step(std::int64_t i);
  /// Step by step where layers have one direction, else layer by layer.
  void forward();
  void backward();
  /// A training step after its first forward pass, of layers with one direction.
  void backward(const std::vector<ChainAction>& actions);
  /// Gradients of the top layer's outputs, for each of its directions.
  void add_upstream(const Steps* values);
  void add_borders();
  void add_reductions();
  void add_updates(Optimizer optimizer);

 private:
  void connect_backward();

  std::int64_t steps_;
  std::int64_t input_group_;   ///< steps whose input products are one
  std::int64_t output_group_;  ///< steps whose products for the layer below are one
  std::vector<std::unique_ptr<RecurrentChain>> chains_;
  std::vector<std::vector<std::size_t>> layers_;  // indices of chains
};

/// Is layer `layer` bidirectional?
[[nodiscard]] bool is_bidirectional(Bidirectional which, std::int64_t layer);

}  // namespace schedlab::detail
