// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "workloads/models/graph_emitter.hpp"
#include "workloads/models/recurrent/models.hpp"
#include "workloads/models/recurrent/recurrent_stack.hpp"

#include <cstdint>

namespace schedlab::detail {

/// What all chains of a model have in common.
[[nodiscard]] ChainSpec model_chain(const ModelOptions& model,
                                    std::int64_t batch,
                                    std::int64_t hidden,
                                    std::int64_t width,
                                    std::int64_t steps);

/// dx of the lowest layer, one part per direction.
[[nodiscard]] std::vector<const Steps*> input_gradients(RecurrentStack& stack);
/// The outputs of the top layer, one part per direction.
[[nodiscard]] std::vector<const Steps*> top_outputs(RecurrentStack& stack);

/// Reserves the tasks of so many nodes.
void reserve_nodes(GraphEmitter& out, std::int64_t nodes);

}  // namespace schedlab::detail
