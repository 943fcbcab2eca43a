// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "real_exec/cpu/cpu_work.hpp"
#include "real_exec/recurrent/padded_batch.hpp"
#include "real_exec/recurrent/recurrent_values.hpp"
#include "real_exec/recurrent/trained_network.hpp"
#include "sim/base/enum_names.hpp"
#include "sim/graph/task_graph.hpp"
#include "workloads/models/recurrent/recurrent.hpp"

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace schedlab {

/// When a run takes the memory of tensors that there is one of for each step.
enum class TensorAllocation : std::uint8_t {
  whole_run,  ///< all of them before it, side by side
  by_tensor,  ///< each when the first task that uses it begins, until the last one has ended
};
template <>
struct EnumNames<TensorAllocation> {
  static constexpr auto names = name_list("whole_run", "by_tensor");
};

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
/// Memory  whole_run: activations and gradients of all steps, about 4 * (2 G + I + 4 H) * batch
/// bytes a node. by_tensor: what the graph's tensors hold at the time; memory() says how much that
/// was. It is for training of LSTMs and GRUs (reset gate after the product) whose graph has named
/// tensors, and is needed by `recompute` other than keep_backward, as nothing can be dropped
/// otherwise. Results are the same bit for bit, but for y, which is dropped and comes back as
/// zeros.
/// Errors  InfeasibleError for another type than fp32, for what by_tensor is not for, and for
/// recompute keep_all, whose intermediate results fused kernels do not have; ContractViolation,
/// naming the task, if `graph` is not recurrent(spec): the grid of its kernels may differ, nothing
/// else.
class RecurrentWork final : public CpuWork, public TrainedNetwork {
 public:
  RecurrentWork(const RecurrentSpec& spec,
                const TaskGraph& graph,
                std::uint64_t seed,
                TensorAllocation allocation = TensorAllocation::whole_run);
  RecurrentWork(const RecurrentWork&) = delete;
  RecurrentWork& operator=(const RecurrentWork&) = delete;
  ~RecurrentWork() override;

  [[nodiscard]] std::size_t kernel_count(TaskId task) const override;
  [[nodiscard]] std::uint32_t blocks(TaskId task, std::size_t kernel) const override;
  void run(TaskId task, std::size_t kernel, std::uint32_t block) override;
  void reset() override;
  [[nodiscard]] std::optional<AllocatedMemory> memory() const override;

  void train_on(const PaddedBatch& batch) override;
  void continue_from(const TrainedNetwork& other) override;
  [[nodiscard]] float loss() const override;
  [[nodiscard]] Bytes kept_memory() const override;

  /// What the run was given, weights as they were drawn; for a reference that computes the same.
  [[nodiscard]] const RecurrentInputs<float>& inputs() const;
  [[nodiscard]] RecurrentResults<float> results() const override;

 private:
  class Implementation;
  std::unique_ptr<Implementation> implementation_;
};

/// All tasks in a topological order, by the calling thread alone.
void run_serially(CpuWork& work, const TaskGraph& graph);

}  // namespace schedlab
