// SPDX-License-Identifier: Apache-2.0
// What a forward pass keeps, and nodes that compute it once more.
#include "workloads/models/recurrent/recurrent_chain.hpp"

namespace schedlab::detail {
namespace {

/// Results of single operators that fused kernels keep in registers, per hidden element, besides
/// the products: LSTM the sums before the 4 activations and tanh(c); GRU the sums of r, z, n and r
/// * (zh + b); with the reset gate first the sums of r, z, n.
std::int64_t unfused_values(RecurrentCell cell) {
  switch (cell) {
    case RecurrentCell::gru:
      return 4;
    case RecurrentCell::gru_reset_before:
      return 3;
    default:
      return 5;
  }
}

}  // namespace

void RecurrentChain::recompute(std::int64_t step, Recomputed what) {
  recomputed_ = what;
  // Any other begins with a state that is kept since before the gradient node it waits for.
  const bool follows = what == Recomputed::state && !is_first(step);
  forward_cell_ = follows ? recomputed_by_[static_cast<std::size_t>(before(step))] : TaskId::none();
  const ForwardNode node = add_forward_tasks(step);
  add_forward_edges(step, node);
  for (const TaskId task : {node.input, node.recurrent}) {
    if (node_.cell.valid()) {
      out_.edge(node_.cell, task);
      continue;
    }
    for (const Steps* values : upstream_) {
      out_.edge((*values)[static_cast<std::size_t>(step)].task, task);
    }
  }
  if (what == Recomputed::state) {
    outputs_[static_cast<std::size_t>(step)].task =
        node.residual.valid() ? node.residual : node.cell;
  }
  if (out_.with_tensors()) add_forward_tensors(step, node);
  recomputed_by_[static_cast<std::size_t>(step)] = node.cell;
  recomputed_ = Recomputed::nothing;
}

/// The results that `keep_all` keeps on top, and the products where they live inside the task.
void RecurrentChain::add_unfused(std::int64_t step, const ForwardNode& node) {
  const RecurrentShape& s = spec_.shape;
  std::int64_t values = unfused_values(s.cell);
  if (node.input == node.cell) {
    values += cells_.gates + cells_.recurrent_gates + cells_.candidate_gates;
  }
  TensorId& unfused = unfused_[static_cast<std::size_t>(step)].front();
  unfused = tensor("unfused", step, values * s.batch * s.hidden, false);
  out_.writes(node.cell, unfused);
}

void RecurrentChain::read_unfused(std::int64_t step, TaskId first) {
  for (const TensorId id : unfused_[static_cast<std::size_t>(step)]) out_.reads(first, id);
}

}  // namespace schedlab::detail
