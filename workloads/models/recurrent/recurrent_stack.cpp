// SPDX-License-Identifier: Apache-2.0
#include "workloads/models/recurrent/recurrent_stack.hpp"

#include <algorithm>

namespace schedlab::detail {

bool is_bidirectional(Bidirectional which, std::int64_t layer) {
  return which == Bidirectional::all || (which == Bidirectional::first && layer == 0);
}

RecurrentStack::RecurrentStack(GraphEmitter& out,
                               const ChainSpec& chain,
                               const Layers& layers,
                               const std::vector<const Steps*>& input)
    : steps_(chain.steps),
      input_group_(chain.cut.input_steps == 0 ? chain.steps : chain.cut.input_steps),
      output_group_(output_group(chain)) {
  std::vector<const Steps*> below = input;
  std::int64_t width = chain.shape.width;
  for (std::int64_t l = 0; l < layers.count; ++l) {
    ChainSpec spec = chain;
    const bool has_context = l > 0 && layers.context != nullptr;
    spec.shape.width = width + (has_context ? spec.shape.hidden : 0);
    spec.returns_input_gradients = l == 0 && layers.returns_input_gradients;
    if (l == 0 && layers.last_accumulation_steps > 0) {
      spec.cut.accumulation_steps = layers.last_accumulation_steps;
    }
    const bool both = is_bidirectional(layers.bidirectional, l);
    std::vector<std::size_t>& here = layers_.emplace_back();
    for (int direction = 0; direction < (both ? 2 : 1); ++direction) {
      spec.layer = layers.first_tag + static_cast<std::int64_t>(chains_.size());
      spec.reverse = direction == 1;
      here.push_back(chains_.size());
      chains_.push_back(std::make_unique<RecurrentChain>(out, spec));
      RecurrentChain& made = *chains_.back();
      for (const Steps* values : below) made.add_input(values);
      if (has_context) made.add_input(layers.context);
      if (layers.residual_from >= 0 && l >= layers.residual_from) made.set_residual(below.front());
    }
    below.clear();
    for (const std::size_t index : here) below.push_back(&chains_[index]->outputs());
    width = static_cast<std::int64_t>(here.size()) * chain.shape.output();
  }
  connect_backward();
}

void RecurrentStack::connect_backward() {
  for (std::size_t l = 0; l + 1 < layers_.size(); ++l) {
    for (const std::size_t lower : layers_[l]) {
      for (const std::size_t upper : layers_[l + 1]) {
        chains_[lower]->add_upstream(&chains_[upper]->downstream());
      }
    }
  }
}

std::vector<RecurrentChain*> RecurrentStack::layer(std::int64_t layer) {
  std::vector<RecurrentChain*> chains;
  for (const std::size_t index : layers_[static_cast<std::size_t>(layer)]) {
    chains.push_back(chains_[index].get());
  }
  return chains;
}

void RecurrentStack::add_parameters() {
  for (const auto& chain : chains_) chain->add_parameters();
}

void RecurrentStack::forward_layer(std::int64_t layer) {
  for (std::int64_t i = 0; i < steps_; ++i) {
    for (const std::size_t index : layers_[static_cast<std::size_t>(layer)]) {
      chains_[index]->forward(i);
    }
  }
}

void RecurrentStack::backward_layer(std::int64_t layer) {
  for (std::int64_t i = 0; i < steps_; ++i) {
    for (const std::size_t index : layers_[static_cast<std::size_t>(layer)]) {
      chains_[index]->backward(i);
    }
  }
}

void RecurrentStack::forward_step(std::int64_t i) {
  for (const auto& chain : chains_) chain->forward(i);
}

void RecurrentStack::backward_step(std::int64_t i) {
  for (auto chain = chains_.rbegin(); chain != chains_.rend(); ++chain) (*chain)->backward(i);
}

void RecurrentStack::forward() {
  if (by_steps()) {
    for (std::int64_t i = 0; i < steps_; i += input_group_) {
      const std::int64_t end = std::min(i + input_group_, steps_);
      for (const auto& chain : chains_) {
        for (std::int64_t j = i; j < end; ++j) chain->forward(j);
      }
    }
  } else {
    for (std::int64_t l = 0; l < layer_count(); ++l) forward_layer(l);
  }
}

void RecurrentStack::backward() {
  if (by_steps()) {
    for (std::int64_t i = 0; i < steps_; i += output_group_) {
      const std::int64_t end = std::min(i + output_group_, steps_);
      for (auto chain = chains_.rbegin(); chain != chains_.rend(); ++chain) {
        for (std::int64_t j = i; j < end; ++j) (*chain)->backward(j);
      }
    }
  } else {
    for (std::int64_t l = layer_count(); l-- > 0;) backward_layer(l);
  }
}

void RecurrentStack::backward(const std::vector<ChainAction>& actions) {
  for (const ChainAction& action : actions) {
    if (action.forward) {
      for (const auto& chain : chains_) chain->recompute(action.step);
    } else {
      backward_step(steps_ - 1 - action.step);
    }
  }
}

void RecurrentStack::add_upstream(const Steps* values) {
  for (const std::size_t index : layers_.back()) chains_[index]->add_upstream(values);
}

void RecurrentStack::add_borders() {
  for (const auto& chain : chains_) chain->add_borders();
}

void RecurrentStack::add_reductions() {
  for (auto chain = chains_.rbegin(); chain != chains_.rend(); ++chain) (*chain)->add_reductions();
}

void RecurrentStack::add_updates(Optimizer optimizer) {
  for (auto chain = chains_.rbegin(); chain != chains_.rend(); ++chain) {
    (*chain)->add_update(optimizer);
  }
}

}  // namespace schedlab::detail
