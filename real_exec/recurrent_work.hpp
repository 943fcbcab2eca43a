// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "real_exec/cpu_work.hpp"
#include "real_exec/recurrent_values.hpp"
#include "sim/graph/task_graph.hpp"
#include "workloads/recurrent.hpp"

#include <cstddef>
#include <cstdint>
#include <memory>

namespace schedlab {

/// Computes the tasks of recurrent(spec) in fp32: every cell, pass, granularity and accumulation.
///
/// Inputs, weights and states are drawn from `seed`, uniform in [-1, 1), weights and biases in
/// [-1, 1) / sqrt(hidden). The loss is half the mean over the batch of the squared error against
/// drawn targets. Pass backward runs the forward pass at construction. What an optimizer does with
/// the gradients is in recurrent_kernels.hpp and update_kernels.hpp; rates in recurrent_values.hpp.
///
/// Kernels of matrix products and point-wise kernels are cut into blocks by columns of their
/// results, 16 at a time; a kernel with more blocks than that has empty ones. Results do not depend
/// on the number of blocks, nor on the order of tasks (but with buffer_order by_plan), and are bit
/// for bit equal between granularities and accumulations, except `partial`, where sums are taken in
/// another order. Results of one machine differ from those of another by rounding: with and
/// without fused multiply-add.
///
/// Memory  activations and gradients of all steps: about 4 * (2 G + I + 4 H) * batch bytes a node.
/// Errors  InfeasibleError for another type than fp32; ContractViolation, naming the task, if
/// `graph` is not recurrent(spec): the grid of its kernels may differ, nothing else.
class RecurrentWork final : public CpuWork {
 public:
  RecurrentWork(const RecurrentSpec& spec, const TaskGraph& graph, std::uint64_t seed);
  RecurrentWork(const RecurrentWork&) = delete;
  RecurrentWork& operator=(const RecurrentWork&) = delete;
  ~RecurrentWork() override;

  [[nodiscard]] std::size_t kernel_count(TaskId task) const override;
  [[nodiscard]] std::uint32_t blocks(TaskId task, std::size_t kernel) const override;
  void run(TaskId task, std::size_t kernel, std::uint32_t block) override;
  void reset() override;

  /// What the run was given; for a reference that computes the same.
  [[nodiscard]] const RecurrentInputs<float>& inputs() const;
  /// After a run of all tasks; copies.
  [[nodiscard]] RecurrentResults<float> results() const;

 private:
  class Implementation;
  std::unique_ptr<Implementation> implementation_;
};

/// All tasks in a topological order, by the calling thread alone.
void run_serially(CpuWork& work, const TaskGraph& graph);

}  // namespace schedlab
