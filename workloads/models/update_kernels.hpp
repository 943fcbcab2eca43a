// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "workloads/models/graph_emitter.hpp"
#include "workloads/models/recurrent/recurrent.hpp"

#include <cstdint>

namespace schedlab::detail {

/// One step of the optimizer over `parameters` of a layer.
/// sgd: w -= rate * dw, 2 FLOP per parameter; reads w, dw; writes w.
/// adam: m = a m + (1 - a) g (3), v = b v + (1 - b) g^2 (4), both corrected for their bias (2), w
/// -= rate * m / (sqrt(v) + e) (5): 14; reads w, g, m, v; writes w, m, v. Source: Kingma and Ba,
/// arXiv 1412.6980, algorithm 1.
[[nodiscard]] Kernel optimizer_kernel(Optimizer optimizer, std::int64_t parameters, DataType type);
/// The tensor of m and v, which lives from step to step. Nothing for sgd.
void add_optimizer_state(GraphEmitter& out,
                         TaskId update,
                         Optimizer optimizer,
                         std::int64_t layer,
                         std::int64_t parameters);

}  // namespace schedlab::detail
