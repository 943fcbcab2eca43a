// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "sim/graph/task_graph.hpp"
#include "workloads/models/recurrent/recurrent.hpp"

namespace schedlab {

namespace detail {

/// The backward pass of LSTMs at granularity `matmul` with one task for each gradient: instead of
/// `cell` of a node
///
///   cell_state   dht = dh + sum of dx from above, dc = dc' + dht o (1 - tanh(c)^2), dc f: 7 FLOP
///                and one for each dx; reads dh, dc', f, o, c, writes dht, tanh(c), dc, dc f
///   input_gate   di = dc g i (1 - i)         4 FLOP; dc, i, g
///   forget_gate  df = dc c' f (1 - f)        4 FLOP; dc, f, c'
///   cell_gate    dg = dc i (1 - g^2)         4 FLOP; dc, i, g
///   output_gate  do = dht tanh(c) o (1 - o)  4 FLOP; dht, tanh(c), o
///
/// per hidden element, where c' is the state of the step before and dc' what the step after leaves.
/// What needed `cell` needs the four gates, and the cell_state of the step before `cell_state`.
/// FLOPs are those of `cell`; so are its bytes, once what lies between the five and what two of
/// them read is counted once. Activations and states are tensors of their own for each step.
///
/// `products`: likewise a product for each gate instead of hidden_1, hidden_2, weight_1 and
/// weight_2, named after both (hidden_1_forget_gate): those of a sum over gates follow each other
/// and add into one matrix, those of weights write columns of their own, a tensor for each gate.
/// FLOPs stay; what such a sum reads and writes of its result grows fourfold.
///
/// `graph`: of recurrent() with tensors and their names, one shape for each layer tag.
[[nodiscard]] TaskGraph separate_gates(const TaskGraph& graph, DataType type, bool products);

}  // namespace detail

/// recurrent() with a product for each gate. Errors: as recurrent(), and InfeasibleError without
/// `separate_gates`.
[[nodiscard]] TaskGraph recurrent_by_gate(const RecurrentSpec& spec);

}  // namespace schedlab
