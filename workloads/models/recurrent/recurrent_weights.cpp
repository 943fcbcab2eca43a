// SPDX-License-Identifier: Apache-2.0
// Gradients of weights: the tasks of a chain that sum them, and what they read.
#include "workloads/models/recurrent/recurrent_chain.hpp"

#include <algorithm>
#include <array>
#include <string_view>

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

std::int64_t RecurrentChain::steps_per_weight_task() const {
  if (weights_at_once()) return spec_.steps;
  if (whole_nodes() || spec_.cut.accumulation != Accumulation::batched) return 1;
  return std::min(spec_.cut.accumulation_steps, spec_.steps);
}

std::size_t RecurrentChain::buffer_count() const {
  const bool one =
      whole_nodes() || weights_at_once() || spec_.cut.accumulation != Accumulation::partial;
  return static_cast<std::size_t>(one ? 1 : std::min(spec_.cut.partial_buffers, spec_.steps));
}

std::int64_t RecurrentChain::gradient_elements(GradientIndex index) const {
  const RecurrentShape& s = spec_.shape;
  switch (index) {
    case of_input:
      return s.width * s.gates();
    case of_recurrent:
      return s.output() * cells_.recurrent_gates * s.hidden + (bias_apart() ? 0 : s.biases());
    case of_candidate:
      return projected() ? s.hidden * s.projection : s.hidden * cells_.candidate_gates * s.hidden;
    default:
      return s.biases();
  }
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
