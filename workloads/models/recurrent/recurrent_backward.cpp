// SPDX-License-Identifier: Apache-2.0
#include "workloads/models/recurrent/recurrent_chain.hpp"

#include <utility>

namespace schedlab::detail {

void RecurrentChain::backward(std::int64_t i) {
  const std::int64_t step = step_at(spec_.steps - 1 - i);
  if (spec_.recompute == Recompute::data_drop) recompute(step, Recomputed::values);
  const Node node = add_data_tasks(step);
  add_data_edges(step, node);
  dx_[static_cast<std::size_t>(step)].task = node.hidden_2;
  if (residual_ != nullptr) skip_[static_cast<std::size_t>(step)].task = node.residual;
  if (out_.with_tensors()) add_data_tensors(step, node);
  add_weights(step, node);
  node_ = node;
}

/// The path around a residual layer: what it was given plus its own dx.
Kernel RecurrentChain::skip_kernel(std::int64_t upstream) const {
  const std::int64_t cells = spec_.shape.batch * spec_.shape.hidden;
  return pointwise_kernel(
      spec_.shape.type, static_cast<double>(upstream * cells), (upstream + 1) * cells, cells);
}

std::vector<Kernel> RecurrentChain::node_kernels(std::int64_t upstream) const {
  const RecurrentShape& s = spec_.shape;
  std::vector<Kernel> kernels;
  if (has_candidate()) {
    kernels.push_back(candidate_cell_kernel(s, upstream));
    kernels.push_back(candidate_gradient_kernel(s));
  }
  kernels.push_back(cell_kernel(s, upstream));
  kernels.push_back(hidden_1_kernel(s));
  kernels.push_back(hidden_2_kernel(s));
  if (residual_ != nullptr) kernels.push_back(skip_kernel(upstream));
  if (whole_nodes()) {
    for (const GradientIndex index : gradient_indices_) kernels.push_back(weight_kernel(index, 1));
  }
  return kernels;
}

RecurrentChain::Node RecurrentChain::add_data_tasks(std::int64_t step) {
  const RecurrentShape& s = spec_.shape;
  const std::int64_t upstream = upstream_count(step);
  if (whole_nodes() || data_nodes()) {
    const TaskId all = task(op_cell,
                            upstream,
                            whole_nodes() ? "node" : "data_node",
                            TaskClass::critical_matmul,
                            step,
                            [&] { return node_kernels(upstream); });
    return {.first = all,
            .candidate = has_candidate() ? all : TaskId::none(),
            .cell = all,
            .hidden_1 = all,
            .hidden_2 = all,
            .residual = residual_ != nullptr ? all : TaskId::none()};
  }
  const auto single =
      [&](std::size_t index, std::int64_t key, std::string_view name, TaskClass c, auto kernel) {
        return task(index, key, name, c, step, [&] { return std::vector<Kernel>{kernel()}; });
      };
  constexpr TaskClass matmul = TaskClass::critical_matmul;
  constexpr TaskClass pointwise = TaskClass::critical_pointwise;
  Node node;
  if (has_candidate()) {
    node.first = single(op_first, upstream, "candidate_cell", pointwise, [&] {
      return candidate_cell_kernel(s, upstream);
    });
    node.candidate = single(
        op_candidate, 0, "candidate_hidden", matmul, [&] { return candidate_gradient_kernel(s); });
  }
  node.cell =
      single(op_cell, upstream, "cell", pointwise, [&] { return cell_kernel(s, upstream); });
  if (!has_candidate()) node.first = node.cell;
  node.hidden_1 = single(op_hidden_1, 0, "hidden_1", matmul, [&] { return hidden_1_kernel(s); });
  node.hidden_2 = single(op_hidden_2, 0, "hidden_2", matmul, [&] { return hidden_2_kernel(s); });
  if (residual_ != nullptr) {
    node.residual = single(
        op_skip, upstream, "residual_gradient", pointwise, [&] { return skip_kernel(upstream); });
  }
  return node;
}

void RecurrentChain::add_data_edges(std::int64_t step, const Node& node) {
  const auto at = static_cast<std::size_t>(step);
  out_.edge(node.cell, node.hidden_1);
  out_.edge(node.cell, node.hidden_2);
  if (has_candidate()) {
    out_.edge(node.first, node.candidate);
    out_.edge(node.candidate, node.cell);
    out_.edge(node.first, node.cell);
    out_.edge(node.first, node.hidden_1);
    out_.edge(node.first, node.hidden_2);
  }
  out_.edge(recomputed_by_[at], node.first);
  out_.edge(node_.hidden_1, node.first);  // dh(l, t)
  out_.edge(node_.cell, node.first);      // dc(l, t), or the direct path
  for (const Steps* values : upstream_) {
    out_.edge((*values)[at].task, node.first);
    if (node.residual.valid()) out_.edge((*values)[at].task, node.residual);
  }
  if (node.residual.valid()) out_.edge(node.hidden_2, node.residual);
  if (training()) {
    weight_readers_.push_back(node.hidden_2);
    if (is_first(step)) weight_readers_.push_back(node.hidden_1);  // after all earlier ones
  }
}

/// What the first task of a gradient node reads: activations, and every gradient that arrives.
void RecurrentChain::read_incoming(std::int64_t step, TaskId first) {
  const auto at = static_cast<std::size_t>(step);
  out_.reads(first, gates_[at]);
  if (has_candidate()) out_.reads(first, candidate_[at]);
  if (cells_.cell_state) {
    out_.reads(first, c_[at]);
    out_.reads(first, c_before(step));
  } else {
    out_.reads(first, h_before(step));
  }
  for (const Steps* values : upstream_) out_.reads(first, (*values)[at].tensor);
  out_.reads(first, dh_);
  out_.reads(first, carry_);
  if (!unfused_.empty()) read_unfused(step, first);
}

void RecurrentChain::add_data_tensors(std::int64_t step, const Node& node) {
  const RecurrentShape& s = spec_.shape;
  const auto at = static_cast<std::size_t>(step);
  const std::int64_t cells = s.batch * s.hidden;
  read_incoming(step, node.first);

  const bool last = is_first(step) && !initial_h_.task.valid();  // a result of the graph
  const std::int64_t kept_by_first = has_candidate() ? 2 : 0;    // dn, dz
  gate_gradient_ = tensor("dG", step, (cells_.gate_gradients - kept_by_first) * cells, false);
  if (has_candidate()) {
    candidate_gradient_ = tensor("dGn", step, kept_by_first * cells, false);
    out_.writes(node.first, candidate_gradient_);
    if (node.first != node.cell) {
      const TensorId partial = tensor("dcarry", step, cells, false);
      const TensorId reset = tensor("drh", step, cells, false);
      out_.writes(node.first, partial);
      out_.reads(node.candidate, candidate_gradient_);
      out_.reads(node.candidate, recurrent_weights_);
      out_.writes(node.candidate, reset);
      out_.reads(node.cell, reset);
      out_.reads(node.cell, partial);
      out_.reads(node.cell, gates_[at]);
      out_.reads(node.cell, h_before(step));
      out_.reads(node.hidden_1, candidate_gradient_);
      out_.reads(node.hidden_2, candidate_gradient_);
    }
  }
  carry_ = tensor(cells_.cell_state ? "dc" : "dcarry", before(step), cells, last);
  dh_ = tensor("dh", before(step), cells, last);
  dx_[at].tensor = tensor("dx", step, s.batch * s.width, spec_.returns_input_gradients);
  out_.writes(node.cell, gate_gradient_);
  out_.writes(node.cell, carry_);
  out_.writes(node.hidden_1, dh_);
  out_.writes(node.hidden_2, dx_[at].tensor);
  out_.reads(node.hidden_1, recurrent_weights_);
  out_.reads(node.hidden_2, input_weights_);
  if (node.hidden_1 != node.cell) {
    out_.reads(node.hidden_1, gate_gradient_);
    out_.reads(node.hidden_2, gate_gradient_);
  }
  if (!node.residual.valid()) return;
  for (const Steps* values : upstream_) out_.reads(node.residual, (*values)[at].tensor);
  if (node.residual != node.hidden_2) out_.reads(node.residual, dx_[at].tensor);
  skip_[at].tensor = tensor("dy", step, cells, false);
  out_.writes(node.residual, skip_[at].tensor);
}

}  // namespace schedlab::detail
