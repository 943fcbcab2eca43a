// SPDX-License-Identifier: Apache-2.0
#include "workloads/lstm_graph.hpp"

namespace schedlab::detail {

void LstmGraph::add_forward() {
  forward_cell_.assign(static_cast<std::size_t>(spec_.layers), TaskId::none());
  for (std::int64_t step = 0; step < spec_.steps; ++step) {
    for (std::int64_t layer = 0; layer < spec_.layers; ++layer) add_forward_node(layer, step);
  }
}

void LstmGraph::add_forward_node(std::int64_t layer, std::int64_t step) {
  const LstmShape s = shape(layer);
  TaskId input;
  TaskId recurrent;
  TaskId cell;
  if (whole_nodes() || data_nodes()) {
    input = recurrent = cell = task("node_forward",
                                    TaskClass::critical_matmul,
                                    {input_kernel(s), recurrent_kernel(s), cell_forward_kernel(s)},
                                    layer,
                                    step);
  } else {
    input = task("input_gemm", TaskClass::critical_matmul, {input_kernel(s)}, layer, step);
    recurrent =
        task("recurrent_gemm", TaskClass::critical_matmul, {recurrent_kernel(s)}, layer, step);
    cell =
        task("cell_forward", TaskClass::critical_pointwise, {cell_forward_kernel(s)}, layer, step);
  }

  const auto l = static_cast<std::size_t>(layer);
  edge(input, cell);
  edge(recurrent, cell);
  edge(forward_cell_[l], recurrent);  // h(l, t-1)
  edge(forward_cell_[l], cell);       // c(l, t-1)
  edge(layer == 0 ? transfer_in_ : forward_cell_[l - 1], input);
  if (spec_.tensors) add_forward_tensors(layer, step, input, recurrent, cell);
  forward_cell_[l] = cell;
}

void LstmGraph::add_forward_tensors(
    std::int64_t layer, std::int64_t step, TaskId input, TaskId recurrent, TaskId cell) {
  const LstmShape s = shape(layer);
  const auto l = static_cast<std::size_t>(layer);
  const bool kept = !training();  // for the backward pass that follows elsewhere

  reads(input, layer == 0 ? input_ : h_[at(layer - 1, step)]);
  reads(input, input_weights_[l]);
  reads(recurrent, step == 0 ? initial_h_[l] : h_[at(layer, step - 1)]);
  reads(recurrent, recurrent_weights_[l]);
  reads(cell, step == 0 ? initial_c_[l] : c_[at(layer, step - 1)]);
  if (input != cell) {  // else the two products live only inside the task
    const TensorId zx = tensor("zx", layer, step, s.batch * s.gates(), false);
    const TensorId zh = tensor("zh", layer, step, s.batch * s.gates(), false);
    writes(input, zx);
    writes(recurrent, zh);
    reads(cell, zx);
    reads(cell, zh);
  }
  const std::size_t here = at(layer, step);
  gates_[here] = tensor("gates", layer, step, s.batch * s.gates(), kept);
  c_[here] = tensor("c", layer, step, s.batch * s.hidden, kept);
  h_[here] = tensor("h", layer, step, s.batch * s.hidden, kept);
  writes(cell, gates_[here]);
  writes(cell, c_[here]);
  writes(cell, h_[here]);
}

}  // namespace schedlab::detail
