// SPDX-License-Identifier: Apache-2.0
#include "workloads/lstm_graph.hpp"

#include <algorithm>
#include <utility>

namespace schedlab::detail {
namespace {

constexpr std::array<std::string_view, 3> weight_names{"weight_1", "weight_2", "bias"};
constexpr std::array<std::string_view, 3> reduce_names{"reduce_1", "reduce_2", "reduce_bias"};
constexpr std::array<std::string_view, 3> gradient_names{"dWx", "dWh", "db"};

}  // namespace

std::int64_t LstmGraph::steps_per_weight_task() const {
  if (data_nodes()) return spec_.steps;
  if (whole_nodes() || spec_.accumulation != Accumulation::batched) return 1;
  return std::min(spec_.accumulation_steps, spec_.steps);
}

/// What exists before the first gradient node: gradient buffers, and in pass backward the
/// activations.
void LstmGraph::add_backward_borders() {
  const auto count = static_cast<std::size_t>(spec_.layers);
  node_.assign(count, Node{});
  dh_.assign(count, TensorId::none());
  dc_.assign(count, TensorId::none());
  dx_.assign(count, TensorId::none());
  gate_gradient_.assign(count, TensorId::none());
  pending_.resize(count);
  gradients_.resize(count);
  weight_readers_.resize(count);

  const bool one_buffer =
      whole_nodes() || data_nodes() || spec_.accumulation != Accumulation::partial;
  const auto buffers =
      static_cast<std::size_t>(one_buffer ? 1 : std::min(spec_.partial_buffers, spec_.steps));
  for (std::int64_t layer = 0; layer < spec_.layers; ++layer) {
    const LstmShape s = shape(layer);
    const auto l = static_cast<std::size_t>(layer);
    const std::int64_t bias = s.gates();
    const std::array<std::int64_t, 3> elements{
        s.width * s.gates(), s.hidden * s.gates() + (bias_apart() ? 0 : bias), bias};
    for (std::size_t index = 0; index < (bias_apart() ? 3U : 2U); ++index) {
      Gradient& gradient = gradients_[l][index];
      gradient.last.assign(buffers, TaskId::none());
      gradient.writers.resize(buffers);
      for (std::size_t b = 0; b < buffers; ++b) {
        gradient.buffers.push_back(tensor(gradient_names[index],
                                          layer,
                                          b == 0 ? no_step : static_cast<std::int64_t>(b),
                                          elements[index],
                                          b == 0,
                                          true));
      }
    }
    if (training() || !spec_.tensors) continue;
    const std::int64_t cells = s.batch * s.hidden;
    const auto shared = [&](std::vector<TensorId>& ids,
                            std::string_view name,
                            std::int64_t per_step,
                            std::int64_t steps) {
      const TensorId id = tensor(name, layer, no_step, per_step * steps, true);
      for (std::int64_t step = 0; step < spec_.steps; ++step) ids[at(layer, step)] = id;
      return id;
    };
    shared(gates_, "gates", 4 * cells, spec_.steps);
    initial_c_[l] = shared(c_, "c", cells, spec_.steps + 1);  // with the initial state
    initial_h_[l] = shared(h_, "h", cells, spec_.steps + 1);
  }
}

void LstmGraph::add_backward() {
  for (std::int64_t step = spec_.steps - 1; step >= 0; --step) {
    for (std::int64_t layer = spec_.layers - 1; layer >= 0; --layer) {
      const Node node = add_data_tasks(layer, step);
      add_data_edges(layer, step, node);
      if (spec_.tensors) add_data_tensors(layer, step, node);
      add_weights(layer, step, node);
      node_[static_cast<std::size_t>(layer)] = node;
    }
  }
  for (std::int64_t layer = spec_.layers - 1; layer >= 0; --layer) add_reductions(layer);
}

LstmGraph::Node LstmGraph::add_data_tasks(std::int64_t layer, std::int64_t step) {
  const LstmShape s = shape(layer);
  if (whole_nodes() || data_nodes()) {
    std::vector<Kernel> kernels{cell_kernel(s), hidden_1_kernel(s), hidden_2_kernel(s)};
    if (whole_nodes()) {
      kernels.push_back(weight_1_kernel(s, 1));
      kernels.push_back(weight_2_kernel(s, 1, true));
    }
    const TaskId node = task(whole_nodes() ? "node" : "data_node",
                             TaskClass::critical_matmul,
                             std::move(kernels),
                             layer,
                             step);
    return {node, node, node};
  }
  const TaskId cell = task("cell", TaskClass::critical_pointwise, {cell_kernel(s)}, layer, step);
  const TaskId hidden_1 =
      task("hidden_1", TaskClass::critical_matmul, {hidden_1_kernel(s)}, layer, step);
  const TaskId hidden_2 =
      task("hidden_2", TaskClass::critical_matmul, {hidden_2_kernel(s)}, layer, step);
  return {cell, hidden_1, hidden_2};
}

void LstmGraph::add_data_edges(std::int64_t layer, std::int64_t step, const Node& node) {
  const auto l = static_cast<std::size_t>(layer);
  edge(node.cell, node.hidden_1);
  edge(node.cell, node.hidden_2);
  edge(node_[l].hidden_1, node.cell);  // dh(l, t)
  edge(node_[l].cell, node.cell);      // dc(l, t)
  edge(layer + 1 < spec_.layers ? node_[l + 1].hidden_2 : loss_, node.cell);
  if (training()) {
    weight_readers_[l].push_back(node.hidden_2);
    if (step == 0) weight_readers_[l].push_back(node.hidden_1);  // after all earlier ones
  }
}

void LstmGraph::add_data_tensors(std::int64_t layer, std::int64_t step, const Node& node) {
  const LstmShape s = shape(layer);
  const auto l = static_cast<std::size_t>(layer);
  reads(node.cell, gates_[at(layer, step)]);
  reads(node.cell, c_[at(layer, step)]);
  reads(node.cell, step == 0 ? initial_c_[l] : c_[at(layer, step - 1)]);
  reads(node.cell, layer + 1 < spec_.layers ? dx_[l + 1] : output_gradient_);
  reads(node.cell, dh_[l]);
  reads(node.cell, dc_[l]);

  const bool last = step == 0;
  const TensorId gate_gradient = tensor("dG", layer, step, s.batch * s.gates(), false);
  dc_[l] = tensor("dc", layer, step - 1, s.batch * s.hidden, last);
  dh_[l] = tensor("dh", layer, step - 1, s.batch * s.hidden, last);
  dx_[l] = tensor("dx", layer, step, s.batch * s.width, layer == 0);
  writes(node.cell, gate_gradient);
  writes(node.cell, dc_[l]);
  writes(node.hidden_1, dh_[l]);
  writes(node.hidden_2, dx_[l]);
  reads(node.hidden_1, recurrent_weights_[l]);
  reads(node.hidden_2, input_weights_[l]);
  if (node.hidden_1 != node.cell) {
    reads(node.hidden_1, gate_gradient);
    reads(node.hidden_2, gate_gradient);
  }
  gate_gradient_[l] = gate_gradient;
}

/// The weight sub-tasks of a node; when several steps share one weight task, of the last node of
/// the group.
void LstmGraph::add_weights(std::int64_t layer, std::int64_t step, const Node& node) {
  const auto l = static_cast<std::size_t>(layer);
  Pending& pending = pending_[l];
  pending.cells.push_back(node.cell);
  if (spec_.tensors) {
    pending.gate_gradients.push_back(gate_gradient_[l]);
    pending.inputs.push_back(layer == 0 ? input_ : h_[at(layer - 1, step)]);
    pending.recurrent.push_back(step == 0 ? initial_h_[l] : h_[at(layer, step - 1)]);
  }
  const auto gathered = static_cast<std::int64_t>(pending.cells.size());
  if (gathered < steps_per_weight_task() && step > 0) return;

  const LstmShape s = shape(layer);
  const std::int64_t tag = data_nodes() ? -1 : step;
  const auto weight_task = [&](GradientIndex index, Kernel kernel) {
    const TaskId id =
        whole_nodes()
            ? node.cell
            : task(
                  weight_names[index], TaskClass::weight_gradient, {std::move(kernel)}, layer, tag);
    add_weight_task(layer, step, index, id);
  };
  weight_task(of_input, weight_1_kernel(s, gathered));
  weight_task(of_recurrent, weight_2_kernel(s, gathered, !bias_apart()));
  if (bias_apart()) weight_task(of_bias, bias_kernel(s, gathered));
  pending.clear();
}

/// Edges and tensor uses of one task that adds the pending gate gradients into a buffer.
void LstmGraph::add_weight_task(std::int64_t layer,
                                std::int64_t step,
                                GradientIndex index,
                                TaskId task) {
  const auto l = static_cast<std::size_t>(layer);
  const Pending& pending = pending_[l];
  Gradient& gradient = gradients_[l][index];
  const std::size_t buffer = static_cast<std::size_t>(step) % gradient.last.size();
  for (const TaskId cell : pending.cells) edge(cell, task);
  if (spec_.buffer_order == BufferOrder::chained || whole_nodes()) {
    edge(gradient.last[buffer], task);
  } else {
    gradient.writers[buffer].push_back(task);
  }
  gradient.last[buffer] = task;

  if (!spec_.tensors) return;
  if (!whole_nodes()) {
    for (const TensorId id : pending.gate_gradients) reads(task, id);
  }
  if (index == of_input) {
    for (const TensorId id : pending.inputs) reads(task, id);
  } else if (index == of_recurrent) {
    for (const TensorId id : pending.recurrent) reads(task, id);
  }
  writes(task, gradient.buffers[buffer]);
}

/// Sums the buffers of mode `partial` into the first.
void LstmGraph::add_reductions(std::int64_t layer) {
  const auto l = static_cast<std::size_t>(layer);
  const LstmShape s = shape(layer);
  const std::array<std::int64_t, 3> elements{
      s.width * s.gates(), (s.hidden + (bias_apart() ? 0 : 1)) * s.gates(), s.gates()};
  for (std::size_t index = 0; index < gradients_[l].size(); ++index) {
    Gradient& gradient = gradients_[l][index];
    const std::size_t buffers = gradient.last.size();
    if (buffers < 2) continue;
    const TaskId reduce =
        task(reduce_names[index],
             TaskClass::weight_gradient,
             {reduce_kernel(elements[index], static_cast<std::int64_t>(buffers), spec_.type)},
             layer,
             -1);
    for (std::size_t b = 0; b < buffers; ++b) {
      edge(gradient.last[b], reduce);
      for (const TaskId writer : gradient.writers[b]) edge(writer, reduce);
      if (b > 0) reads(reduce, gradient.buffers[b]);
    }
    writes(reduce, gradient.buffers[0]);
    gradient.last.assign(1, reduce);
    gradient.writers.assign(1, {});
  }
}

}  // namespace schedlab::detail
