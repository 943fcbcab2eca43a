// SPDX-License-Identifier: Apache-2.0
#include "workloads/models/recurrent/model_frame.hpp"

#include <algorithm>
#include <array>
#include <string_view>

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

bool is_recurrent_operation(std::string_view name) {
  constexpr std::array<std::string_view, 24> names{"input_gemm",
                                                   "recurrent_gemm",
                                                   "gates_forward",
                                                   "candidate_gemm",
                                                   "cell_forward",
                                                   "node_forward",
                                                   "cell",
                                                   "candidate_cell",
                                                   "candidate_hidden",
                                                   "hidden_1",
                                                   "hidden_2",
                                                   "node",
                                                   "data_node",
                                                   "weight_1",
                                                   "weight_2",
                                                   "weight_3",
                                                   "bias",
                                                   "reduce_1",
                                                   "reduce_2",
                                                   "reduce_3",
                                                   "reduce_bias",
                                                   "residual",
                                                   "residual_gradient",
                                                   "update"};
  constexpr std::string_view again = "recompute_";
  if (name.starts_with(again)) name.remove_prefix(again.size());
  return std::find(names.begin(), names.end(), name) != names.end();
}

}  // namespace schedlab
