// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "real_exec/recurrent/padded_batch.hpp"
#include "real_exec/recurrent/recurrent_values.hpp"
#include "real_exec/recurrent/recurrent_work.hpp"
#include "sim/graph/task_graph.hpp"
#include "workloads/models/recurrent/recurrent.hpp"

namespace schedlab::detail {

/// Do tensors of single steps get memory of their own? Recomputation needs it.
[[nodiscard]] bool allocates_by_tensor(const RecurrentSpec& spec, TensorAllocation allocation);
/// Throws InfeasibleError for what cannot be allocated by tensor, and for recompute keep_all.
void expect_allocable_by_tensor(const RecurrentSpec& spec, const TaskGraph& graph);

/// Training over several steps. Throws InfeasibleError for another pass than training, and for
/// adam, of which the kernels have the first step only.
void expect_trained(const RecurrentSpec& spec);
/// Training on sequences of different lengths: InfeasibleError besides for bidirectional layers,
/// ContractViolation for arrays of another size than the network's.
void expect_trained_on(const RecurrentSpec& spec,
                       const PaddedBatch& batch,
                       const RecurrentInputs<float>& inputs);

}  // namespace schedlab::detail
