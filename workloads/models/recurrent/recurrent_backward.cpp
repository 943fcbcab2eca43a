// SPDX-License-Identifier: Apache-2.0
// RecurrentChain, continued: backward passes, and the tasks that sum gradients of weights.
#include "workloads/models/recurrent/recurrent_chain.hpp"

#include <algorithm>
#include <array>
#include <string_view>
#include <utility>

namespace schedlab::detail {
namespace {

// In the order of GradientIndex.
constexpr std::array<std::string_view, 4> weight_names{"weight_1", "weight_2", "weight_3", "bias"};
constexpr std::array<std::string_view, 4> k_major_names{
    "weight_1_k_major", "weight_2_k_major", "", "bias"};
constexpr std::array<std::string_view, 4> reduce_names{
    "reduce_1", "reduce_2", "reduce_3", "reduce_bias"};
constexpr std::array<std::string_view, 4> gradient_names{"dWx", "dWh", "dWn", "db"};

}  // namespace

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

void RecurrentChain::add_borders() {
  const std::size_t buffers = buffer_count();
  for (const GradientIndex index : gradient_indices_) {
    Gradient& gradient = gradients_[index];
    gradient.last.assign(buffers, TaskId::none());
    gradient.writers.resize(buffers);
    for (std::size_t b = 0; b < buffers; ++b) {
      gradient.buffers.push_back(
          tensor(projected() && index == of_candidate ? "dWp" : gradient_names[index],
                 b == 0 ? GraphEmitter::no_step : static_cast<std::int64_t>(b),
                 gradient_elements(index),
                 b == 0,
                 true));
    }
  }
  if (residual_ != nullptr) skip_.resize(dx_.size());
  if (training() || !out_.with_tensors()) return;
  const std::int64_t cells = spec_.shape.batch * spec_.shape.hidden;
  const auto shared =
      [&](std::vector<TensorId>& ids, std::string_view name, std::int64_t elements) {
        const TensorId id = tensor(name, GraphEmitter::no_step, elements, true);
        std::fill(ids.begin(), ids.end(), id);
        return id;
      };
  shared(gates_, "gates", cells_.saved_gates * cells * spec_.steps);
  if (has_candidate()) {
    shared(candidate_, "n", cells * spec_.steps);
    shared(inner_, "rh", cells * spec_.steps);
  }
  if (projected()) shared(inner_, "m", cells * spec_.steps);
  const std::int64_t slots = spec_.steps + 1;  // the initial state, too
  if (cells_.cell_state) initial_c_.tensor = shared(c_, "c", cells * slots);
  initial_h_.tensor = shared(h_, "h", spec_.shape.batch * spec_.shape.output() * slots);
  for (Value& value : outputs_) value.tensor = initial_h_.tensor;
}

Kernel RecurrentChain::weight_kernel(GradientIndex index, std::int64_t steps) const {
  const auto within = [&](Kernel kernel) {
    kernel.grid.blocks = static_cast<std::uint32_t>(spec_.cut.weight_units);
    return kernel;
  };
  switch (index) {
    case of_input:
      return within(weight_1_kernel(spec_.shape, steps));
    case of_recurrent:
      return within(weight_2_kernel(spec_.shape, steps, !bias_apart()));
    case of_candidate:
      return within(weight_3_kernel(spec_.shape, steps));
    default:
      return bias_kernel(spec_.shape, steps);
  }
}

/// The weight sub-tasks of a node; when several steps share one weight task, of the last node of
/// the group.
void RecurrentChain::add_weights(std::int64_t step, const Node& node) {
  const auto at = static_cast<std::size_t>(step);
  ++pending_.steps;
  if (node.first != node.cell) pending_.firsts.push_back(node.first);
  pending_.cells.push_back(node.cell);
  if (out_.with_tensors()) {
    pending_.gate_gradients.push_back(gate_gradient_);
    if (two_parts()) {
      pending_.candidate_gradients.push_back(candidate_gradient_);
      pending_.inner.push_back(inner_[at]);
    }
    for (const Steps* values : inputs_) pending_.inputs.push_back((*values)[at].tensor);
    pending_.recurrent.push_back(h_before(step));
  }
  const std::int64_t gathered = pending_.steps;
  if (gathered < steps_per_weight_task() && !ends_sums(step)) return;

  const std::int64_t tag = weights_at_once() && spec_.segment == 0 ? -1 : step;
  const auto& names = spec_.cut.k_major ? k_major_names : weight_names;
  if (spec_.cut.k_major) add_transpose_task(tag);
  for (const GradientIndex index : gradient_indices_) {
    const TaskId id =
        whole_nodes() ? node.cell
                      : task(std::size_t{op_weight} + index,
                             gathered,
                             names[index],
                             TaskClass::weight_gradient,
                             tag,
                             [&] { return std::vector<Kernel>{weight_kernel(index, gathered)}; });
    add_weight_task(step, index, id);
  }
  pending_.clear();
}

/// The copies that the weight tasks of the pending steps read.
void RecurrentChain::add_transpose_task(std::int64_t tag) {
  const RecurrentShape& s = spec_.shape;
  const std::int64_t rows = pending_.steps * s.batch;
  const std::array<std::int64_t, 3> columns{s.width, s.output(), cells_.gate_gradients * s.hidden};
  pending_.transpose =
      task(op_transpose, pending_.steps, "transpose", TaskClass::weight_gradient, tag, [&] {
        std::vector<Kernel> kernels;
        for (const std::int64_t of : columns)
          kernels.push_back(transpose_kernel(rows * of, s.type));
        return kernels;
      });
  for (const TaskId cell : pending_.cells) out_.edge(cell, pending_.transpose);
  if (!out_.with_tensors()) return;
  const auto copy =
      [&](std::string_view name, std::int64_t width, const std::vector<TensorId>& of) {
        for (const TensorId id : of) out_.reads(pending_.transpose, id);
        const TensorId made = tensor(name, tag, rows * width, false);
        out_.writes(pending_.transpose, made);
        return made;
      };
  pending_.input_copy = copy("xT", columns[0], pending_.inputs);
  pending_.recurrent_copy = copy("hT", columns[1], pending_.recurrent);
  pending_.gate_gradient_copy = copy("dGT", columns[2], pending_.gate_gradients);
}

/// Edges and tensor uses of one task that adds the pending gate gradients into a buffer.
void RecurrentChain::add_weight_task(std::int64_t step, GradientIndex index, TaskId task) {
  Gradient& gradient = gradients_[index];
  const std::size_t buffer = static_cast<std::size_t>(step) % gradient.last.size();
  const bool copied = pending_.transpose.valid() && index != of_bias;
  if (copied) out_.edge(pending_.transpose, task);  // which waits for the cells
  for (const TaskId first : pending_.firsts) out_.edge(first, task);
  // The candidate's gradient is complete before the cell.
  if (!copied && (index != of_candidate || pending_.firsts.empty())) {
    for (const TaskId cell : pending_.cells) out_.edge(cell, task);
  }
  if (spec_.cut.buffer_order == BufferOrder::chained || whole_nodes()) {
    out_.edge(gradient.last[buffer], task);
  } else {
    gradient.writers[buffer].push_back(task);
  }
  gradient.last[buffer] = task;
  if (!out_.with_tensors()) return;
  read_for_weights(index, task);
  out_.writes(task, gradient.buffers[buffer]);
}

void RecurrentChain::read_for_weights(GradientIndex index, TaskId task) {
  if (pending_.transpose.valid() && index != of_bias) {
    out_.reads(task, index == of_input ? pending_.input_copy : pending_.recurrent_copy);
    out_.reads(task, pending_.gate_gradient_copy);
    if (index == of_input || bias_apart()) return;
    for (const TensorId id : pending_.gate_gradients) out_.reads(task, id);  // their column sums
    return;
  }
  if (!whole_nodes()) {
    if (index == of_candidate || !projected()) {
      for (const TensorId id : pending_.candidate_gradients) out_.reads(task, id);
    }
    if (index != of_candidate) {
      for (const TensorId id : pending_.gate_gradients) out_.reads(task, id);
    }
  }
  if (index == of_bias) return;
  const auto& factors = index == of_input       ? pending_.inputs
                        : index == of_recurrent ? pending_.recurrent
                                                : pending_.inner;
  for (const TensorId id : factors) out_.reads(task, id);
}

/// Sums the buffers of mode `partial` into the first.
void RecurrentChain::add_reductions() {
  for (const GradientIndex index : gradient_indices_) {
    Gradient& gradient = gradients_[index];
    const std::size_t buffers = gradient.last.size();
    if (buffers < 2) continue;
    const Kernel kernel = reduce_kernel(
        gradient_elements(index), static_cast<std::int64_t>(buffers), spec_.shape.type);
    const TaskId reduce = out_.task(
        out_.operation(reduce_names[index], TaskClass::weight_gradient, {kernel}), spec_.layer, -1);
    for (std::size_t b = 0; b < buffers; ++b) {
      out_.edge(gradient.last[b], reduce);
      for (const TaskId writer : gradient.writers[b]) out_.edge(writer, reduce);
      if (b > 0) out_.reads(reduce, gradient.buffers[b]);
    }
    out_.writes(reduce, gradient.buffers[0]);
    gradient.last.assign(1, reduce);
    gradient.writers.assign(1, {});
  }
}

}  // namespace schedlab::detail
