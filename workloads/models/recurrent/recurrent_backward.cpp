// SPDX-License-Identifier: Apache-2.0
#include "workloads/models/recurrent/recurrent_chain.hpp"

#include <algorithm>
#include <utility>

namespace schedlab::detail {

std::int64_t output_group(const ChainSpec& spec) {
  const RecurrentCut& cut = spec.cut;
  const bool products_of_nodes = cut.granularity == Granularity::kernel_and_weight;
  const bool tasks = products_of_nodes || cut.granularity == Granularity::fine ||
                     cut.granularity == Granularity::matmul;
  if (!tasks) return 1;
  std::int64_t steps = cut.hidden_2_steps;
  if (steps == 1 && products_of_nodes) steps = cut.input_steps;
  return steps == 0 ? spec.steps : std::min(steps, spec.steps);
}

void RecurrentChain::backward(std::int64_t i) {
  const std::int64_t step = step_at(spec_.steps - 1 - i);
  if (spec_.recompute == Recompute::data_drop) recompute(step, Recomputed::values);
  const Node node = add_data_tasks(step);
  add_data_edges(step, node);
  if (!outputs_batched()) {
    dx_[static_cast<std::size_t>(step)].task = node.hidden_2;
    if (residual_ != nullptr) skip_[static_cast<std::size_t>(step)].task = node.residual;
  }
  if (out_.with_tensors()) add_data_tensors(step, node);
  if (outputs_batched()) gather_output(step, node);
  add_weights(step, node);
  node_ = node;
}

/// The path around a residual layer: what it was given plus its own dx.
Kernel RecurrentChain::skip_kernel(std::int64_t upstream) const {
  const std::int64_t cells = spec_.shape.batch * spec_.shape.hidden;
  return pointwise_kernel(
      spec_.shape.type, static_cast<double>(upstream * cells), (upstream + 1) * cells, cells);
}

/// Of nodes in one task, whose kernels depend on the gradients that arrive and on the slices of dh.
std::int64_t RecurrentChain::data_key(std::int64_t step) const {
  return 8 * upstream_count(step) + (begins_segment(step) ? 4 : 0) +
         (slices_read(step) > 1 ? 2 : 0) + (slices_written(step) > 1 ? 1 : 0);
}

std::vector<Kernel> RecurrentChain::node_kernels(std::int64_t step) const {
  const RecurrentShape& s = spec_.shape;
  const std::int64_t upstream = upstream_count(step);
  std::vector<Kernel> kernels;
  if (two_parts()) {
    kernels.push_back(first_kernel(upstream, slices_read(step)));
    kernels.push_back(inner_gradient_kernel());
  }
  kernels.push_back(node_cell_kernel(upstream, slices_read(step)));
  if (!begins_segment(step)) kernels.push_back(hidden_1_kernel(s, slices_written(step)));
  kernels.push_back(hidden_2_kernel(s));
  if (residual_ != nullptr) kernels.push_back(skip_kernel(upstream));
  if (whole_nodes()) {
    for (const GradientIndex index : gradient_indices_) kernels.push_back(weight_kernel(index, 1));
  }
  return kernels;
}

Kernel RecurrentChain::first_kernel(std::int64_t upstream, std::int64_t slices) const {
  return projected() ? projection_sum_kernel(spec_.shape, upstream, slices)
                     : candidate_cell_kernel(spec_.shape, upstream, slices);
}

Kernel RecurrentChain::inner_gradient_kernel() const {
  return projected() ? projection_gradient_kernel(spec_.shape)
                     : candidate_gradient_kernel(spec_.shape);
}

/// A projected cell is given one gradient, the product of the sum.
Kernel RecurrentChain::node_cell_kernel(std::int64_t upstream, std::int64_t slices) const {
  return projected() ? cell_kernel(spec_.shape, 0) : cell_kernel(spec_.shape, upstream, slices);
}

void RecurrentChain::gather_output(std::int64_t step, const Node& node) {
  output_group_.push_back({.step = step,
                           .first = node.first,
                           .cell = node.cell,
                           .gate_gradient = gate_gradient_,
                           .candidate_gradient = candidate_gradient_});
  const auto gathered = static_cast<std::int64_t>(output_group_.size());
  if (gathered == output_steps() || is_first(step)) add_output_group();
}

/// The product of the steps gathered, and the paths around a residual layer that wait for it.
void RecurrentChain::add_output_group() {
  const RecurrentShape& s = spec_.shape;
  const auto count = static_cast<std::int64_t>(output_group_.size());
  const std::int64_t tag = output_group_.back().step;
  const TaskId product = task(op_hidden_2, count, "hidden_2", TaskClass::critical_matmul, tag, [&] {
    return std::vector<Kernel>{hidden_2_kernel(s, count)};
  });
  if (training()) weight_readers_.push_back(product);
  if (out_.with_tensors()) out_.reads(product, input_weights_);
  for (const GatheredNode& node : output_group_) {
    Value& dx = dx_[static_cast<std::size_t>(node.step)];
    out_.edge(node.cell, product);
    if (has_candidate()) out_.edge(node.first, product);
    dx.task = product;
    if (!out_.with_tensors()) continue;
    out_.reads(product, node.gate_gradient);
    if (has_candidate()) out_.reads(product, node.candidate_gradient);
    dx.tensor = tensor("dx", node.step, s.batch * s.width, spec_.returns_input_gradients);
    out_.writes(product, dx.tensor);
  }
  if (residual_ != nullptr) {
    for (const GatheredNode& node : output_group_) {
      skip_[static_cast<std::size_t>(node.step)].task = add_skip(node.step, product);
    }
  }
  output_group_.clear();
}

TaskId RecurrentChain::add_skip(std::int64_t step, TaskId product) {
  const auto at = static_cast<std::size_t>(step);
  const std::int64_t upstream = upstream_count(step);
  const TaskId skip =
      task(op_skip, upstream, "residual_gradient", TaskClass::critical_pointwise, step, [&] {
        return std::vector<Kernel>{skip_kernel(upstream)};
      });
  for (const Steps* values : upstream_) out_.edge((*values)[at].task, skip);
  out_.edge(product, skip);
  if (!out_.with_tensors()) return skip;
  for (const Steps* values : upstream_) out_.reads(skip, (*values)[at].tensor);
  out_.reads(skip, dx_[at].tensor);
  skip_[at].tensor = tensor("dy", step, spec_.shape.batch * spec_.shape.hidden, false);
  out_.writes(skip, skip_[at].tensor);
  return skip;
}

RecurrentChain::Node RecurrentChain::add_data_tasks(std::int64_t step) {
  const RecurrentShape& s = spec_.shape;
  const std::int64_t upstream = upstream_count(step);
  if (whole_nodes() || data_nodes()) {
    const TaskId all = task(op_cell,
                            data_key(step),
                            whole_nodes() ? "node" : "data_node",
                            TaskClass::critical_matmul,
                            step,
                            [&] { return node_kernels(step); });
    return {.first = all,
            .candidate = two_parts() ? all : TaskId::none(),
            .cell = all,
            .hidden_1 = begins_segment(step) ? TaskId::none() : all,
            .hidden_2 = all,
            .residual = residual_ != nullptr ? all : TaskId::none()};
  }
  const auto single =
      [&](std::size_t index, std::int64_t key, std::string_view name, TaskClass c, auto kernel) {
        return task(index, key, name, c, step, [&] { return std::vector<Kernel>{kernel()}; });
      };
  constexpr TaskClass matmul = TaskClass::critical_matmul;
  constexpr TaskClass pointwise = TaskClass::critical_pointwise;
  const std::int64_t read = slices_read(step);
  const std::int64_t sliced = read > 1 ? 1 : 0;
  Node node;
  if (two_parts()) {
    const std::int64_t key = 2 * upstream + sliced;
    node.first =
        single(op_first, key, projected() ? "projection_sum" : "candidate_cell", pointwise, [&] {
          return first_kernel(upstream, read);
        });
    const char* const product = projected() ? "projection_hidden" : "candidate_hidden";
    node.candidate =
        single(op_candidate, 0, product, matmul, [&] { return inner_gradient_kernel(); });
  }
  const std::int64_t cell_key = projected() ? 0 : 2 * upstream + sliced;
  node.cell = single(
      op_cell, cell_key, "cell", pointwise, [&] { return node_cell_kernel(upstream, read); });
  if (!two_parts()) node.first = node.cell;
  const std::int64_t written = slices_written(step);
  if (!begins_segment(step)) {
    node.hidden_1 = single(
        op_hidden_1, written, "hidden_1", matmul, [&] { return hidden_1_kernel(s, written); });
  }
  if (outputs_batched()) return node;
  node.hidden_2 = single(op_hidden_2, 0, "hidden_2", matmul, [&] { return hidden_2_kernel(s); });
  if (residual_ != nullptr) {
    node.residual = single(
        op_skip, upstream, "residual_gradient", pointwise, [&] { return skip_kernel(upstream); });
  }
  return node;
}

void RecurrentChain::add_data_edges(std::int64_t step, const Node& node) {
  const auto at = static_cast<std::size_t>(step);
  if (node.hidden_1.valid()) out_.edge(node.cell, node.hidden_1);
  if (node.hidden_2.valid()) out_.edge(node.cell, node.hidden_2);
  if (two_parts()) {
    out_.edge(node.first, node.candidate);
    out_.edge(node.candidate, node.cell);
  }
  if (has_candidate()) {
    out_.edge(node.first, node.cell);
    if (node.hidden_1.valid()) out_.edge(node.first, node.hidden_1);
    if (node.hidden_2.valid()) out_.edge(node.first, node.hidden_2);
  }
  out_.edge(recomputed_by_[at], node.first);
  out_.edge(node_.hidden_1, node.first);                        // dh(l, t)
  out_.edge(node_.cell, projected() ? node.cell : node.first);  // dc(l, t), or the direct path
  for (const Steps* values : upstream_) {
    out_.edge((*values)[at].task, node.first);
    if (node.residual.valid()) out_.edge((*values)[at].task, node.residual);
  }
  if (node.residual.valid()) out_.edge(node.hidden_2, node.residual);
  if (training()) {
    if (node.hidden_2.valid()) weight_readers_.push_back(node.hidden_2);
    // After all earlier ones; of segments the cells, which weight gradients need, wait for them.
    if (is_first(step) && node.hidden_1.valid()) weight_readers_.push_back(node.hidden_1);
  }
}

/// What a gradient node reads: every gradient that arrives by its first task, the activations by
/// the task that is given all of them.
void RecurrentChain::read_incoming(std::int64_t step, const Node& node) {
  const auto at = static_cast<std::size_t>(step);
  for (const Steps* values : upstream_) out_.reads(node.first, (*values)[at].tensor);
  out_.reads(node.first, dh_);
  const TaskId reader = projected() ? node.cell : node.first;
  out_.reads(reader, gates_[at]);
  if (has_candidate()) out_.reads(reader, candidate_[at]);
  if (cells_.cell_state) {
    out_.reads(reader, c_[at]);
    out_.reads(reader, c_before(step));
  } else {
    out_.reads(reader, h_before(step));
  }
  out_.reads(reader, carry_);
  if (!unfused_.empty()) read_unfused(step, reader);
}

void RecurrentChain::add_candidate_tensors(std::int64_t step, const Node& node) {
  const auto at = static_cast<std::size_t>(step);
  const std::int64_t cells = spec_.shape.batch * spec_.shape.hidden;
  candidate_gradient_ = tensor("dGn", step, 2 * cells, false);  // dn, dz
  out_.writes(node.first, candidate_gradient_);
  if (node.first == node.cell) return;
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
  if (node.hidden_1.valid()) out_.reads(node.hidden_1, candidate_gradient_);
  if (node.hidden_2.valid()) out_.reads(node.hidden_2, candidate_gradient_);
}

void RecurrentChain::add_projection_tensors(std::int64_t step, const Node& node) {
  const RecurrentShape& s = spec_.shape;
  candidate_gradient_ = tensor("dp", step, s.batch * s.projection, false);
  out_.writes(node.first, candidate_gradient_);
  out_.reads(node.candidate, projection_weights_);
  if (node.first == node.cell) return;
  const TensorId state = tensor("dm", step, s.batch * s.hidden, false);
  out_.reads(node.candidate, candidate_gradient_);
  out_.writes(node.candidate, state);
  out_.reads(node.cell, state);
}

void RecurrentChain::add_data_tensors(std::int64_t step, const Node& node) {
  const RecurrentShape& s = spec_.shape;
  const auto at = static_cast<std::size_t>(step);
  const std::int64_t cells = s.batch * s.hidden;
  read_incoming(step, node);

  // A result of the graph.
  const bool last = is_first(step) && !initial_h_.task.valid() && spec_.segment == 0;
  const std::int64_t kept_by_first = has_candidate() ? 2 : 0;  // dn, dz
  gate_gradient_ = tensor("dG", step, (cells_.gate_gradients - kept_by_first) * cells, false);
  if (has_candidate()) add_candidate_tensors(step, node);
  if (projected()) add_projection_tensors(step, node);
  carry_ = tensor(cells_.cell_state ? "dc" : "dcarry", before(step), cells, last);
  const bool flows_on = node.hidden_1.valid();
  dh_ = flows_on ? tensor("dh", before(step), slices_written(step) * s.batch * s.output(), last)
                 : TensorId::none();
  const bool own_output = node.hidden_2.valid();
  if (own_output) {
    dx_[at].tensor = tensor("dx", step, s.batch * s.width, spec_.returns_input_gradients);
  }
  out_.writes(node.cell, gate_gradient_);
  out_.writes(node.cell, carry_);
  if (flows_on) out_.writes(node.hidden_1, dh_);
  if (own_output) out_.writes(node.hidden_2, dx_[at].tensor);
  if (flows_on) out_.reads(node.hidden_1, recurrent_weights_);
  if (own_output) out_.reads(node.hidden_2, input_weights_);
  if (node.hidden_2 != node.cell) {
    if (flows_on) out_.reads(node.hidden_1, gate_gradient_);
    if (own_output) out_.reads(node.hidden_2, gate_gradient_);
  }
  if (!node.residual.valid()) return;
  for (const Steps* values : upstream_) out_.reads(node.residual, (*values)[at].tensor);
  if (node.residual != node.hidden_2) out_.reads(node.residual, dx_[at].tensor);
  skip_[at].tensor = tensor("dy", step, cells, false);
  out_.writes(node.residual, skip_[at].tensor);
}

}  // namespace schedlab::detail
