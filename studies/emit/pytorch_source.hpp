// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "studies/emit/cuda_source.hpp"
#include "studies/emit/emitted_plan.hpp"

namespace schedlab {

/// A module of Python that makes the host calls of the plan by torch.cuda: streams with their
/// priorities, events, captured graphs; over the operators of a PyTorch module of which
/// schedlab.from_torch() made the graph (PlannedModule), or over proxy kernels of their shapes and
/// times. Throws InfeasibleError for what torch.cuda does not have, and for what cannot be
/// captured.
[[nodiscard]] EmittedSource pytorch_source(const EmittedPlan& emitted);

}  // namespace schedlab
