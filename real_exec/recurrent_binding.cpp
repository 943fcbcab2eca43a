// SPDX-License-Identifier: Apache-2.0
// Which sub-tasks the operations of recurrent() stand for, and what their kernels must look like.
#include "real_exec/recurrent_steps.hpp"
#include "workloads/recurrent_kernels.hpp"

#include <array>

namespace schedlab::detail {
namespace {

struct Named {
  std::string_view operation;
  SubTask task;
};

constexpr std::array<Named, 22> single_tasks{{{"transfer_in", SubTask::transfer_in},
                                              {"input_gemm", SubTask::input_gemm},
                                              {"recurrent_gemm", SubTask::recurrent_gemm},
                                              {"gates_forward", SubTask::gates_forward},
                                              {"candidate_gemm", SubTask::candidate_gemm},
                                              {"cell_forward", SubTask::cell_forward},
                                              {"loss", SubTask::loss},
                                              {"candidate_cell", SubTask::candidate_cell},
                                              {"candidate_hidden", SubTask::candidate_hidden},
                                              {"cell", SubTask::cell},
                                              {"hidden_1", SubTask::hidden_1},
                                              {"hidden_2", SubTask::hidden_2},
                                              {"weight_1", SubTask::weight_1},
                                              {"weight_2", SubTask::weight_2},
                                              {"weight_3", SubTask::weight_3},
                                              {"bias", SubTask::bias},
                                              {"reduce_1", SubTask::reduce_1},
                                              {"reduce_2", SubTask::reduce_2},
                                              {"reduce_3", SubTask::reduce_3},
                                              {"reduce_bias", SubTask::reduce_bias},
                                              {"update", SubTask::update},
                                              {"transfer_out", SubTask::transfer_out}}};

}  // namespace

std::vector<SubTask> sub_tasks_of(std::string_view operation, RecurrentCell cell_kind) {
  using enum SubTask;
  const bool candidate = cell_kind == RecurrentCell::gru_reset_before;
  if (operation == "node_forward") {
    if (!candidate) return {input_gemm, recurrent_gemm, cell_forward};
    return {input_gemm, recurrent_gemm, gates_forward, candidate_gemm, cell_forward};
  }
  if (operation == "data_node" || operation == "node") {
    std::vector<SubTask> tasks;
    if (candidate) tasks = {candidate_cell, candidate_hidden};
    tasks.insert(tasks.end(), {cell, hidden_1, hidden_2});
    if (operation == "data_node") return tasks;
    tasks.insert(tasks.end(), {weight_1, weight_2});
    if (candidate) tasks.push_back(weight_3);
    return tasks;
  }
  for (const Named& named : single_tasks) {
    if (named.operation == operation) return {named.task};
  }
  return {};
}

RecurrentShape RecurrentSteps::shape_of(const ChainState& chain) const {
  return {.batch = state_.spec.batch,
          .hidden = state_.spec.hidden,
          .width = chain.wx_map.rows,
          .type = state_.spec.type,
          .cell = state_.spec.cell};
}

std::int64_t RecurrentSteps::steps_summed(SubTask task, const Kernel& kernel) const {
  const std::int64_t batch = state_.spec.batch;
  if (task == SubTask::weight_1 || task == SubTask::weight_2 || task == SubTask::weight_3) {
    return kernel.k / batch;
  }
  if (task != SubTask::bias) return 1;
  const std::int64_t sums = batch * state_.shape.biases * state_.spec.hidden;
  return static_cast<std::int64_t>(kernel.flops.count()) / sums;
}

Kernel RecurrentSteps::expected(SubTask task, std::size_t index, std::int64_t steps) const {
  const ChainState& chain = state_.chains[index];
  const RecurrentShape s = shape_of(chain);
  switch (task) {
    case SubTask::input_gemm:
      return input_kernel(s);
    case SubTask::recurrent_gemm:
      return recurrent_kernel(s);
    case SubTask::candidate_gemm:
      return candidate_kernel(s);
    case SubTask::candidate_hidden:
      return candidate_gradient_kernel(s);
    case SubTask::hidden_1:
      return hidden_1_kernel(s);
    case SubTask::hidden_2:
      return hidden_2_kernel(s);
    case SubTask::weight_1:
      return weight_1_kernel(s, steps);
    case SubTask::weight_2:
      return weight_2_kernel(s, steps, !bias_apart());
    case SubTask::weight_3:
      return weight_3_kernel(s, steps);
    case SubTask::bias:
      return bias_kernel(s, steps);
    default:
      return {};
  }
}

}  // namespace schedlab::detail
