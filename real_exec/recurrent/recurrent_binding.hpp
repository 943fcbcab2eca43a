// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "sim/graph/task.hpp"
#include "sim/graph/task_graph.hpp"
#include "workloads/models/recurrent/recurrent.hpp"

#include <cstddef>
#include <cstdint>
#include <string_view>
#include <vector>

namespace schedlab::detail {

/// What one kernel of a recurrent graph computes.
enum class SubTask : std::uint8_t {
  transfer_in,
  input_gemm,
  recurrent_gemm,
  gates_forward,
  candidate_gemm,
  cell_forward,
  cell_values,  ///< cell_forward without the state
  projection_gemm,
  loss,
  candidate_cell,
  candidate_hidden,
  projection_sum,
  projection_hidden,
  cell,
  hidden_1,
  hidden_2,
  transpose_input,  ///< copies for weight_1 and weight_2
  transpose_state,
  transpose_gradients,
  weight_1,
  weight_2,
  weight_3,
  bias,
  reduce_1,
  reduce_2,
  reduce_3,
  reduce_bias,
  update,
  transfer_out,
};

/// The kernels of the operation of this name, in the order of the graph; empty: no such operation.
[[nodiscard]] std::vector<SubTask> sub_tasks_of(std::string_view operation,
                                                const RecurrentSpec& spec);

/// Do bias gradients have tasks of their own?
[[nodiscard]] inline bool bias_apart(const RecurrentSpec& spec) {
  return spec.granularity == Granularity::matmul;
}
/// Buffers that the gradients of a chain are summed in; the first gets the result.
[[nodiscard]] std::size_t gradient_buffers(const RecurrentSpec& spec);

/// Slices of dh (RecurrentSpec::hidden_1_slices) that the cell of a step reads: one of the last
/// step, whose gradient is given.
[[nodiscard]] inline std::int64_t slices_read(const RecurrentSpec& spec,
                                              std::int64_t direction,
                                              std::int64_t step) {
  return step == (direction == 1 ? 0 : spec.steps - 1) ? 1 : spec.hidden_1_slices;
}
/// Slices that hidden_1 of a step writes: one of the first step, whose result is the graph's.
[[nodiscard]] inline std::int64_t slices_written(const RecurrentSpec& spec,
                                                 std::int64_t direction,
                                                 std::int64_t step) {
  return step == (direction == 1 ? spec.steps - 1 : 0) ? 1 : spec.hidden_1_slices;
}

/// A direction of a layer.
struct ChainPlace {
  std::int64_t layer = 0;
  std::int64_t direction = 0;  ///< 1: from the last step to the first
  std::int64_t width = 0;      ///< of its input
};
/// In the order of the `layer` tags of tasks.
[[nodiscard]] std::vector<ChainPlace> chain_places(const RecurrentSpec& spec);

/// What the tasks of recurrent(spec) are to compute, whatever computes it.
class RecurrentBinding {
 public:
  struct BoundKernel {
    SubTask task = SubTask::loss;
    std::uint32_t blocks = 1;
    std::int64_t steps = 1;  ///< that weight tasks sum, and that hidden_2 and copies are of
  };
  struct BoundTask {
    OperationId operation;
    std::uint32_t chain = 0;
    std::int64_t step = 0;  ///< of tasks of several steps the last in backward order
  };

  /// ContractViolation, naming the task, if `graph` is not recurrent(spec) but for the grid of its
  /// kernels.
  RecurrentBinding(const RecurrentSpec& spec, const TaskGraph& graph);

  [[nodiscard]] const std::vector<BoundKernel>& kernels(TaskId task) const {
    return operations_[tasks_[task].operation];
  }
  [[nodiscard]] const BoundTask& task(TaskId task) const { return tasks_[task]; }

 private:
  [[nodiscard]] std::vector<BoundKernel> bind(const Operation& operation) const;
  void add_task(const TaskGraph& graph, TaskId task);
  void check_task(const TaskGraph& graph, TaskId task, const BoundTask& bound) const;
  [[nodiscard]] RecurrentShape shape_of(std::size_t chain) const;
  [[nodiscard]] std::int64_t steps_of(SubTask task, const Kernel& kernel) const;
  [[nodiscard]] Kernel expected(const BoundKernel& kernel, const BoundTask& bound) const;

  RecurrentSpec spec_;
  std::vector<ChainPlace> chains_;
  IdVector<OperationId, std::vector<BoundKernel>> operations_;
  IdVector<TaskId, BoundTask> tasks_;
};

}  // namespace schedlab::detail
