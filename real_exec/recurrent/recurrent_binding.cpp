// SPDX-License-Identifier: Apache-2.0
// Which sub-tasks the operations of recurrent() stand for, and what their kernels must look like.
#include "real_exec/recurrent/recurrent_binding.hpp"

#include "real_exec/recurrent/recurrent_inputs.hpp"
#include "sim/base/error.hpp"
#include "workloads/models/recurrent/recurrent_kernels.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>

namespace schedlab::detail {
namespace {

struct Named {
  std::string_view operation;
  SubTask task;
};

constexpr std::array<Named, 27> single_tasks{{{"transfer_in", SubTask::transfer_in},
                                              {"input_gemm", SubTask::input_gemm},
                                              {"recurrent_gemm", SubTask::recurrent_gemm},
                                              {"gates_forward", SubTask::gates_forward},
                                              {"candidate_gemm", SubTask::candidate_gemm},
                                              {"cell_forward", SubTask::cell_forward},
                                              {"projection_gemm", SubTask::projection_gemm},
                                              {"loss", SubTask::loss},
                                              {"candidate_cell", SubTask::candidate_cell},
                                              {"candidate_hidden", SubTask::candidate_hidden},
                                              {"projection_sum", SubTask::projection_sum},
                                              {"projection_hidden", SubTask::projection_hidden},
                                              {"cell", SubTask::cell},
                                              {"hidden_1", SubTask::hidden_1},
                                              {"hidden_2", SubTask::hidden_2},
                                              {"weight_1", SubTask::weight_1},
                                              {"weight_2", SubTask::weight_2},
                                              {"weight_3", SubTask::weight_3},
                                              {"weight_1_k_major", SubTask::weight_1},
                                              {"weight_2_k_major", SubTask::weight_2},
                                              {"bias", SubTask::bias},
                                              {"reduce_1", SubTask::reduce_1},
                                              {"reduce_2", SubTask::reduce_2},
                                              {"reduce_3", SubTask::reduce_3},
                                              {"reduce_bias", SubTask::reduce_bias},
                                              {"update", SubTask::update},
                                              {"transfer_out", SubTask::transfer_out}}};

}  // namespace

std::vector<SubTask> sub_tasks_of(std::string_view operation, const RecurrentSpec& spec) {
  using enum SubTask;
  constexpr std::string_view again = "recompute_";
  if (operation.starts_with(again)) {
    std::vector<SubTask> tasks = sub_tasks_of(operation.substr(again.size()), spec);
    if (spec.recompute == Recompute::data_drop) {
      std::replace(tasks.begin(), tasks.end(), cell_forward, cell_values);
      std::erase(tasks, projection_gemm);  // the state is kept
    }
    return tasks;
  }
  const bool candidate = spec.cell == RecurrentCell::gru_reset_before;
  const bool projected = spec.projection > 0;
  if (operation == "node_forward") {
    if (projected) return {input_gemm, recurrent_gemm, cell_forward, projection_gemm};
    if (!candidate) return {input_gemm, recurrent_gemm, cell_forward};
    return {input_gemm, recurrent_gemm, gates_forward, candidate_gemm, cell_forward};
  }
  if (operation == "data_node" || operation == "node") {
    std::vector<SubTask> tasks;
    if (candidate) tasks = {candidate_cell, candidate_hidden};
    if (projected) tasks = {projection_sum, projection_hidden};
    tasks.insert(tasks.end(), {cell, hidden_1, hidden_2});
    if (operation == "data_node") return tasks;
    tasks.insert(tasks.end(), {weight_1, weight_2});
    if (candidate || projected) tasks.push_back(weight_3);
    return tasks;
  }
  if (operation == "transpose") return {transpose_input, transpose_state, transpose_gradients};
  for (const Named& named : single_tasks) {
    if (named.operation == operation) return {named.task};
  }
  return {};
}

std::size_t gradient_buffers(const RecurrentSpec& spec) {
  const bool one = spec.granularity == Granularity::coarse ||
                   spec.granularity == Granularity::data_and_weight ||
                   spec.granularity == Granularity::kernel_and_weight ||
                   spec.accumulation != Accumulation::partial;
  return static_cast<std::size_t>(one ? 1 : std::min(spec.partial_buffers, spec.steps));
}

std::vector<ChainPlace> chain_places(const RecurrentSpec& spec) {
  std::vector<ChainPlace> places;
  const std::int64_t input = spec.input == 0 ? spec.hidden : spec.input;
  for (std::int64_t layer = 0; layer < spec.layers; ++layer) {
    const std::int64_t width =
        layer == 0 ? input : layer_directions(spec, layer - 1) * output_width(spec);
    for (std::int64_t d = 0; d < layer_directions(spec, layer); ++d) {
      places.push_back({.layer = layer, .direction = d, .width = width});
    }
  }
  return places;
}

RecurrentBinding::RecurrentBinding(const RecurrentSpec& spec, const TaskGraph& graph)
    : spec_(spec), chains_(chain_places(spec)) {
  for (const Operation& operation : graph.operations()) operations_.push_back(bind(operation));
  tasks_.reserve(graph.task_count());
  for (const TaskId task : graph.tasks()) add_task(graph, task);
}

std::vector<RecurrentBinding::BoundKernel> RecurrentBinding::bind(
    const Operation& operation) const {
  std::vector<SubTask> tasks = sub_tasks_of(operation.name, spec_);
  // No gradient leaves the first step of a segment.
  const bool first = truncated(spec_) && tasks.size() == operation.kernels.size() + 1;
  if (first) std::erase(tasks, SubTask::hidden_1);
  SCHEDLAB_EXPECTS(!tasks.empty() && tasks.size() == operation.kernels.size(),
                   fmt::format("recurrent work: operation \"{}\" with {} kernels is none of "
                               "recurrent()'s, which has {} of this name",
                               operation.name,
                               operation.kernels.size(),
                               tasks.size()));
  std::vector<BoundKernel> kernels;
  for (std::size_t i = 0; i < tasks.size(); ++i) {
    kernels.push_back({.task = tasks[i],
                       .blocks = std::max(1U, operation.kernels[i].grid.blocks),
                       .steps = steps_of(tasks[i], operation.kernels[i])});
  }
  // Copies are of the same steps; of the gradients they can be counted, whatever the chain.
  if (tasks.back() == SubTask::transpose_gradients) {
    for (BoundKernel& kernel : kernels) kernel.steps = kernels.back().steps;
  }
  return kernels;
}

void RecurrentBinding::add_task(const TaskGraph& graph, TaskId task) {
  const Tags& tags = graph.tags(task);
  BoundTask bound{.operation = graph.operation_id(task)};
  const std::vector<BoundKernel>& kernels = operations_[bound.operation];
  SCHEDLAB_EXPECTS(
      tags.layer < static_cast<std::int64_t>(chains_.size()) && tags.step < spec_.steps,
      fmt::format("recurrent work: task {} is beyond {} chains of {} steps",
                  graph.name(task),
                  chains_.size(),
                  spec_.steps));
  if (tags.layer >= 0) bound.chain = static_cast<std::uint32_t>(tags.layer);
  const ChainPlace& chain = chains_[bound.chain];
  // Weight tasks over all steps have no tag: their last step in backward order.
  bound.step = tags.step >= 0 ? tags.step : (chain.direction == 1 ? spec_.steps - 1 : 0);
  for (const BoundKernel& kernel : kernels) {
    const std::int64_t reach = kernel.steps - 1;
    const std::int64_t last = chain.direction == 1 ? bound.step - reach : bound.step + reach;
    SCHEDLAB_EXPECTS(kernel.steps >= 1 && last >= 0 && last < spec_.steps,
                     fmt::format("recurrent work: task {} takes {} of {} steps",
                                 graph.name(task),
                                 kernel.steps,
                                 spec_.steps));
  }
  check_task(graph, task, bound);
  tasks_.push_back(bound);
}

void RecurrentBinding::check_task(const TaskGraph& graph,
                                  TaskId task,
                                  const BoundTask& bound) const {
  const std::vector<Kernel>& kernels = graph.operation(task).kernels;
  for (std::size_t i = 0; i < kernels.size(); ++i) {
    const BoundKernel& k = operations_[bound.operation][i];
    const Kernel by_spec = expected(k, bound);
    const Kernel& found = kernels[i];
    SCHEDLAB_EXPECTS(
        found.m == by_spec.m && found.n == by_spec.n && found.k == by_spec.k,
        fmt::format("recurrent work: task {}, kernel {}: {} x {} x {} in the graph, {} x {} x {} "
                    "by the spec",
                    graph.name(task),
                    i,
                    found.m,
                    found.n,
                    found.k,
                    by_spec.m,
                    by_spec.n,
                    by_spec.k));
  }
}

RecurrentShape RecurrentBinding::shape_of(std::size_t chain) const {
  return {.batch = spec_.batch,
          .hidden = spec_.hidden,
          .width = chains_[chain].width,
          .type = spec_.type,
          .cell = spec_.cell,
          .projection = spec_.projection};
}

std::int64_t RecurrentBinding::steps_of(SubTask task, const Kernel& kernel) const {
  const std::int64_t batch = spec_.batch;
  if (task == SubTask::hidden_2) return kernel.m / batch;
  if (task == SubTask::weight_1 || task == SubTask::weight_2 || task == SubTask::weight_3) {
    return kernel.k / batch;
  }
  if (task == SubTask::transpose_gradients) {
    const std::int64_t elements = batch * cell_shape(spec_.cell).gate_gradients * spec_.hidden;
    return kernel.bytes_written.count() / (bytes_per_element(kernel.type) * elements);
  }
  if (task != SubTask::bias) return 1;
  const std::int64_t sums = batch * cell_shape(spec_.cell).biases * spec_.hidden;
  return static_cast<std::int64_t>(kernel.flops.count()) / sums;
}

Kernel RecurrentBinding::expected(const BoundKernel& kernel, const BoundTask& bound) const {
  const RecurrentShape s = shape_of(bound.chain);
  const std::int64_t steps = kernel.steps;
  switch (kernel.task) {
    case SubTask::input_gemm:
      return input_kernel(s);
    case SubTask::recurrent_gemm:
      return recurrent_kernel(s);
    case SubTask::candidate_gemm:
      return candidate_kernel(s);
    case SubTask::candidate_hidden:
      return candidate_gradient_kernel(s);
    case SubTask::projection_gemm:
      return projection_kernel(s);
    case SubTask::projection_hidden:
      return projection_gradient_kernel(s);
    case SubTask::hidden_1:
      return hidden_1_kernel(s, slices_written(spec_, chains_[bound.chain].direction, bound.step));
    case SubTask::hidden_2:
      return hidden_2_kernel(s, steps);
    case SubTask::weight_1:
      return weight_1_kernel(s, steps);
    case SubTask::weight_2:
      return weight_2_kernel(s, steps, !bias_apart(spec_));
    case SubTask::weight_3:
      return weight_3_kernel(s, steps);
    case SubTask::bias:
      return bias_kernel(s, steps);
    default:
      return {};
  }
}

}  // namespace schedlab::detail
