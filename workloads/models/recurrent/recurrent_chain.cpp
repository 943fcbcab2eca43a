// SPDX-License-Identifier: Apache-2.0
#include "workloads/models/recurrent/recurrent_chain.hpp"

#include "workloads/models/update_kernels.hpp"

#include <algorithm>

namespace schedlab::detail {

void RecurrentChain::Pending::clear() {
  steps = 0;
  firsts.clear();
  cells.clear();
  candidate_gradients.clear();
  gate_gradients.clear();
  inputs.clear();
  recurrent.clear();
  reset.clear();
}

RecurrentChain::RecurrentChain(GraphEmitter& out, const ChainSpec& spec)
    : out_(out), spec_(spec), cells_(cell_shape(spec.shape.cell)) {
  const auto steps = static_cast<std::size_t>(spec_.steps);
  outputs_.resize(steps);
  dx_.resize(steps);
  if (out_.with_tensors()) {
    for (auto* ids : {&gates_, &h_}) ids->resize(steps);
    if (cells_.cell_state) c_.resize(steps);
    if (has_candidate()) {
      candidate_.resize(steps);
      reset_.resize(steps);
    }
    if (spec_.recompute == Recompute::keep_all) unfused_.resize(steps);
  }
  recomputed_by_.resize(steps);
  gradient_indices_ = {of_input, of_recurrent};
  if (has_candidate()) gradient_indices_.push_back(of_candidate);
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
  recurrent_weights_ = tensor("Wh", GraphEmitter::no_step, s.hidden * s.gates() + s.biases(), true);
  if (spec_.pass == RecurrentPass::backward || initial_h_.tensor.valid()) return;
  const std::int64_t initial = before(step_at(0));
  initial_h_.tensor = tensor("h", initial, s.batch * s.hidden, true);
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

}  // namespace schedlab::detail
