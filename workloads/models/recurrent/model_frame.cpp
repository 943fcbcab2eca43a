// SPDX-License-Identifier: Apache-2.0
#include "workloads/models/recurrent/model_frame.hpp"

namespace schedlab {
namespace detail {

ChainSpec model_chain(const ModelOptions& model,
                      std::int64_t batch,
                      std::int64_t hidden,
                      std::int64_t width,
                      std::int64_t steps) {
  ChainSpec chain;
  chain.shape = {.batch = batch,
                 .hidden = hidden,
                 .width = width,
                 .type = model.type,
                 .cell = RecurrentCell::lstm};
  chain.steps = steps;
  chain.cut = model.cut;
  chain.pass = RecurrentPass::training;
  return chain;
}

std::vector<const Steps*> input_gradients(RecurrentStack& stack) {
  std::vector<const Steps*> parts;
  for (const RecurrentChain* chain : stack.layer(0)) parts.push_back(&chain->input_gradients());
  return parts;
}

std::vector<const Steps*> top_outputs(RecurrentStack& stack) {
  std::vector<const Steps*> parts;
  for (const RecurrentChain* chain : stack.top()) parts.push_back(&chain->outputs());
  return parts;
}

void reserve_nodes(GraphEmitter& out, std::int64_t nodes) {
  constexpr std::int64_t tasks_per_node = 9;
  out.reserve(static_cast<std::size_t>(nodes * tasks_per_node));
}

}  // namespace detail

}  // namespace schedlab
