// SPDX-License-Identifier: Apache-2.0
#include "workloads/models/recurrent/recurrent_chain.hpp"

#include "workloads/models/update_kernels.hpp"

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

void RecurrentChain::Pending::clear() {
  steps = 0;
  firsts.clear();
  cells.clear();
  candidate_gradients.clear();
  gate_gradients.clear();
  inputs.clear();
  recurrent.clear();
  inner.clear();
  transpose = TaskId::none();
  input_copy = recurrent_copy = gate_gradient_copy = TensorId::none();
}

RecurrentChain::RecurrentChain(GraphEmitter& out, const ChainSpec& spec)
    : out_(out), spec_(spec), cells_(cell_shape(spec.shape.cell)) {
  const auto steps = static_cast<std::size_t>(spec_.steps);
  outputs_.resize(steps);
  dx_.resize(steps);
  if (out_.with_tensors()) {
    for (auto* ids : {&gates_, &h_}) ids->resize(steps);
    if (cells_.cell_state) c_.resize(steps);
    if (has_candidate()) candidate_.resize(steps);
    if (two_parts()) inner_.resize(steps);
    if (spec_.recompute == Recompute::keep_all) unfused_.resize(steps);
  }
  recomputed_by_.resize(steps);
  gradient_indices_ = {of_input, of_recurrent};
  if (two_parts()) gradient_indices_.push_back(of_candidate);
  if (bias_apart()) gradient_indices_.push_back(of_bias);
}

void RecurrentChain::set_initial(const Value& h, const Value& c) {
  initial_h_ = h;
  initial_c_ = c;
  forward_cell_ = h.task;
}

void RecurrentChain::set_final_gradients(const Value& dh, const Value& dc) {
  node_.hidden_1 = dh.task;
  node_.cell = dc.task;
  dh_ = dh.tensor;
  carry_ = dc.tensor;
}

/// What lives before and after the run, whatever the pass.
void RecurrentChain::add_parameters() {
  if (!out_.with_tensors()) return;
  const RecurrentShape& s = spec_.shape;
  input_weights_ = tensor("Wx", GraphEmitter::no_step, s.width * s.gates(), true);
  recurrent_weights_ =
      tensor("Wh", GraphEmitter::no_step, s.output() * s.gates() + s.biases(), true);
  if (projected()) {
    projection_weights_ = tensor("Wp", GraphEmitter::no_step, s.hidden * s.projection, true);
  }
  if (spec_.pass == RecurrentPass::backward || initial_h_.tensor.valid()) return;
  const std::int64_t initial = before(step_at(0));
  initial_h_.tensor = tensor("h", initial, s.batch * s.output(), true);
  if (cells_.cell_state) initial_c_.tensor = tensor("c", initial, s.batch * s.hidden, true);
}

void RecurrentChain::add_update(Optimizer optimizer) {
  const std::int64_t parameters = spec_.shape.parameters();
  const TaskId update = out_.task(
      out_.operation(
          "update", TaskClass::update, {optimizer_kernel(optimizer, parameters, spec_.shape.type)}),
      spec_.layer,
      -1);
  for (const Gradient& gradient : gradients_) {
    for (const TaskId last : gradient.last) out_.edge(last, update);
    for (const auto& writers : gradient.writers) {
      for (const TaskId writer : writers) out_.edge(writer, update);
    }
    if (!gradient.buffers.empty()) out_.reads(update, gradient.buffers.front());
  }
  for (const TaskId reader : weight_readers_) out_.edge(reader, update);
  add_optimizer_state(out_, update, optimizer, spec_.layer, parameters);
}

Value RecurrentChain::final_h() const {
  return {forward_cell_,
          h_.empty() ? TensorId::none() : h_[static_cast<std::size_t>(last_forward_)],
          true};
}

Value RecurrentChain::final_c() const {
  return {forward_cell_,
          c_.empty() ? TensorId::none() : c_[static_cast<std::size_t>(last_forward_)],
          true};
}

TensorId RecurrentChain::h_before(std::int64_t step) const {
  if (h_.empty()) return TensorId::none();
  return is_first(step) ? initial_h_.tensor : h_[static_cast<std::size_t>(before(step))];
}

TensorId RecurrentChain::c_before(std::int64_t step) const {
  if (c_.empty()) return TensorId::none();
  return is_first(step) ? initial_c_.tensor : c_[static_cast<std::size_t>(before(step))];
}

std::int64_t RecurrentChain::upstream_count(std::int64_t step) const {
  const auto at = static_cast<std::size_t>(step);
  return std::count_if(upstream_.begin(), upstream_.end(), [&](const Steps* values) {
    return (*values)[at].present;
  });
}

TensorId RecurrentChain::tensor(std::string_view name,
                                std::int64_t step,
                                std::int64_t elements,
                                bool persistent,
                                bool accumulate) {
  return out_.tensor(name, spec_.layer, step, elements, persistent, accumulate);
}

namespace {

struct ForwardNames {
  std::string_view node, input, recurrent, gates, candidate, cell, projection, residual;
};
constexpr ForwardNames first_names{"node_forward",
                                   "input_gemm",
                                   "recurrent_gemm",
                                   "gates_forward",
                                   "candidate_gemm",
                                   "cell_forward",
                                   "projection_gemm",
                                   "residual"};
constexpr ForwardNames recomputed_names{"recompute_node_forward",
                                        "recompute_input_gemm",
                                        "recompute_recurrent_gemm",
                                        "recompute_gates_forward",
                                        "recompute_candidate_gemm",
                                        "recompute_cell_forward",
                                        "recompute_projection_gemm",
                                        "recompute_residual"};

}  // namespace

void RecurrentChain::forward(std::int64_t i) {
  const std::int64_t step = step_at(i);
  if (inputs_batched() && i % input_group() == 0) add_input_group(i);
  const ForwardNode node = add_forward_tasks(step);
  add_forward_edges(step, node);
  if (begins_segment(step)) begin_segment(node);
  outputs_[static_cast<std::size_t>(step)].task =
      node.residual.valid() ? node.residual : node.output;
  if (out_.with_tensors()) add_forward_tensors(step, node);
  forward_cell_ = node.output;
  last_forward_ = step;
}

/// After the gradients of the segment before, none of which goes on.
void RecurrentChain::begin_segment(const ForwardNode& node) {
  for (const TaskId task : {node.input, node.recurrent}) out_.edge(node_.cell, task);
  node_ = {};
  dh_ = TensorId::none();
  carry_ = TensorId::none();
}

/// The input products of the i-th step and those after it, as one.
void RecurrentChain::add_input_group(std::int64_t i) {
  const RecurrentShape& s = spec_.shape;
  const std::int64_t count = std::min(input_group(), spec_.steps - i);
  input_group_ =
      task(op_input, count, first_names.input, TaskClass::critical_matmul, step_at(i), [&] {
        return std::vector<Kernel>{gemm_kernel(count * s.batch, s.gates(), s.width, s.type, false)};
      });
  for (std::int64_t j = i; j < i + count; ++j) {
    const auto at = static_cast<std::size_t>(step_at(j));
    for (const Steps* values : inputs_) {
      out_.edge((*values)[at].task, input_group_);
      if (out_.with_tensors()) out_.reads(input_group_, (*values)[at].tensor);
    }
  }
  if (!out_.with_tensors()) return;
  out_.reads(input_group_, input_weights_);
  input_products_ = tensor("zx", step_at(i), count * s.batch * s.gates(), false);
  out_.writes(input_group_, input_products_);
}

/// Of the cell; of values alone what the state need not be computed for.
Kernel RecurrentChain::last_forward_kernel() const {
  return recomputed_ == Recomputed::values ? cell_values_kernel(spec_.shape)
                                           : cell_forward_kernel(spec_.shape);
}

Kernel RecurrentChain::residual_kernel() const {
  const std::int64_t cells = spec_.shape.batch * spec_.shape.hidden;
  return pointwise_kernel(spec_.shape.type, static_cast<double>(cells), 2 * cells, cells);
}

RecurrentChain::ForwardNode RecurrentChain::add_whole_forward_task(std::int64_t step) {
  const RecurrentShape& s = spec_.shape;
  const ForwardNames& words = recomputed_ == Recomputed::nothing ? first_names : recomputed_names;
  const TaskId all =
      task(op_cell_forward, forward_key(), words.node, TaskClass::critical_matmul, step, [&] {
        std::vector<Kernel> kernels{recurrent_kernel(s)};
        if (!inputs_batched()) kernels.insert(kernels.begin(), input_kernel(s));
        if (has_candidate()) {
          kernels.push_back(gates_forward_kernel(s));
          kernels.push_back(candidate_kernel(s));
        }
        kernels.push_back(last_forward_kernel());
        if (projected() && recomputed_ != Recomputed::values) {
          kernels.push_back(projection_kernel(s));
        }
        if (residual_ != nullptr) kernels.push_back(residual_kernel());
        return kernels;
      });
  return {.input = inputs_batched() ? input_group_ : all,
          .recurrent = all,
          .gates = all,
          .candidate = has_candidate() ? all : TaskId::none(),
          .cell = all,
          .output = all,
          .residual = residual_ != nullptr ? all : TaskId::none()};
}

RecurrentChain::ForwardNode RecurrentChain::add_forward_tasks(std::int64_t step) {
  if (whole_nodes() || data_nodes()) return add_whole_forward_task(step);
  const RecurrentShape& s = spec_.shape;
  const ForwardNames& words = recomputed_ == Recomputed::nothing ? first_names : recomputed_names;
  const auto single = [&](std::size_t index, std::string_view name, TaskClass c, auto kernel) {
    return task(index, forward_key(), name, c, step, [&] { return std::vector<Kernel>{kernel()}; });
  };
  constexpr TaskClass matmul = TaskClass::critical_matmul;
  constexpr TaskClass pointwise = TaskClass::critical_pointwise;
  ForwardNode node;
  node.input = inputs_batched()
                   ? input_group_
                   : single(op_input, words.input, matmul, [&] { return input_kernel(s); });
  node.recurrent =
      single(op_recurrent, words.recurrent, matmul, [&] { return recurrent_kernel(s); });
  if (has_candidate()) {
    node.gates = single(op_gates, words.gates, pointwise, [&] { return gates_forward_kernel(s); });
    node.candidate =
        single(op_candidate_forward, words.candidate, matmul, [&] { return candidate_kernel(s); });
  }
  node.cell = single(op_cell_forward, words.cell, pointwise, [&] { return last_forward_kernel(); });
  if (!has_candidate()) node.gates = node.cell;
  node.output = node.cell;
  if (projected() && recomputed_ != Recomputed::values) {
    node.output =
        single(op_projection, words.projection, matmul, [&] { return projection_kernel(s); });
  }
  if (residual_ != nullptr) {
    node.residual =
        single(op_residual, words.residual, pointwise, [&] { return residual_kernel(); });
  }
  return node;
}

void RecurrentChain::add_forward_edges(std::int64_t step, const ForwardNode& node) {
  const auto at = static_cast<std::size_t>(step);
  out_.edge(node.input, node.gates);
  out_.edge(node.recurrent, node.gates);
  out_.edge(forward_cell_, node.recurrent);  // h(l, t-1)
  out_.edge(forward_cell_, node.gates);      // c(l, t-1)
  if (has_candidate()) {
    out_.edge(node.gates, node.candidate);
    out_.edge(node.candidate, node.cell);
    out_.edge(node.input, node.cell);
    out_.edge(node.gates, node.cell);
    out_.edge(forward_cell_, node.cell);
  }
  if (!inputs_batched()) {
    for (const Steps* values : inputs_) out_.edge((*values)[at].task, node.input);
  }
  out_.edge(node.cell, node.output);
  if (node.residual.valid()) {
    out_.edge(node.output, node.residual);
    out_.edge((*residual_)[at].task, node.residual);
  }
}

void RecurrentChain::add_forward_tensors(std::int64_t step, const ForwardNode& node) {
  if (inputs_batched()) {
    out_.reads(node.gates, input_products_);
  } else {
    for (const Steps* values : inputs_) {
      out_.reads(node.input, (*values)[static_cast<std::size_t>(step)].tensor);
    }
    out_.reads(node.input, input_weights_);
  }
  out_.reads(node.recurrent, h_before(step));
  out_.reads(node.recurrent, recurrent_weights_);
  if (recomputed_ != Recomputed::values) {
    out_.reads(node.gates, cells_.cell_state ? c_before(step) : h_before(step));
  } else if (has_candidate()) {
    out_.reads(node.gates, h_before(step));  // r * h
  } else if (projected()) {
    out_.reads(node.cell, c_[static_cast<std::size_t>(step)]);  // o * tanh(c)
  }
  if (node.recurrent != node.cell) add_products(step, node);  // else they live only in the task
  add_values(step, node);
  if (recomputed_ != Recomputed::values) add_state(step, node);
  if (spec_.recompute == Recompute::keep_all) add_unfused(step, node);
}

void RecurrentChain::add_products(std::int64_t step, const ForwardNode& node) {
  const RecurrentShape& s = spec_.shape;
  const std::int64_t cells = s.batch * s.hidden;
  const TensorId zx =
      inputs_batched() ? input_products_ : tensor("zx", step, s.batch * s.gates(), false);
  const TensorId zh = tensor("zh", step, cells_.recurrent_gates * cells, false);
  if (!inputs_batched()) {
    out_.writes(node.input, zx);
    out_.reads(node.gates, zx);
  }
  out_.writes(node.recurrent, zh);
  out_.reads(node.gates, zh);
  TensorId zc;
  if (has_candidate()) {
    zc = tensor("zc", step, cells, false);
    out_.writes(node.candidate, zc);
    out_.reads(node.cell, zc);
    out_.reads(node.cell, zx);
  }
  if (spec_.recompute == Recompute::keep_all) {
    unfused_[static_cast<std::size_t>(step)] = {TensorId::none(), zx, zh, zc};
  }
}

/// What the backward kernels read besides the state.
void RecurrentChain::add_values(std::int64_t step, const ForwardNode& node) {
  const auto at = static_cast<std::size_t>(step);
  const std::int64_t cells = spec_.shape.batch * spec_.shape.hidden;
  const bool kept = !training();  // for the backward pass that follows elsewhere
  gates_[at] = tensor("gates", step, cells_.saved_gates * cells, kept);
  out_.writes(node.gates, gates_[at]);
  if (projected()) {
    inner_[at] = tensor("m", step, cells, kept);
    out_.writes(node.cell, inner_[at]);
  }
  if (!has_candidate()) return;
  inner_[at] = tensor("rh", step, cells, kept);
  candidate_[at] = tensor("n", step, cells, kept);
  out_.writes(node.gates, inner_[at]);
  out_.writes(node.cell, candidate_[at]);
  if (node.candidate == node.cell) return;
  out_.reads(node.candidate, inner_[at]);
  out_.reads(node.candidate, recurrent_weights_);
  if (recomputed_ == Recomputed::values) return;
  out_.reads(node.cell, gates_[at]);
  out_.reads(node.cell, h_before(step));
}

void RecurrentChain::add_state(std::int64_t step, const ForwardNode& node) {
  const auto at = static_cast<std::size_t>(step);
  const std::int64_t cells = spec_.shape.batch * spec_.shape.hidden;
  const bool kept = !training();
  if (cells_.cell_state) {
    c_[at] = tensor("c", step, cells, kept);
    out_.writes(node.cell, c_[at]);
  }
  h_[at] = tensor("h", step, spec_.shape.batch * spec_.shape.output(), kept);
  out_.writes(node.output, h_[at]);
  if (projected()) {
    if (node.output != node.cell) out_.reads(node.output, inner_[at]);
    out_.reads(node.output, projection_weights_);
  }
  outputs_[at].tensor = h_[at];
  if (node.residual.valid()) {
    if (node.residual != node.output) out_.reads(node.residual, h_[at]);
    out_.reads(node.residual, (*residual_)[at].tensor);
    outputs_[at].tensor = tensor("y", step, cells, kept);
    out_.writes(node.residual, outputs_[at].tensor);
  }
}

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
        node.residual.valid() ? node.residual : node.output;
  }
  if (out_.with_tensors()) add_forward_tensors(step, node);
  recomputed_by_[static_cast<std::size_t>(step)] = node.output;
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

}  // namespace schedlab::detail
