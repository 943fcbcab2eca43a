// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "real_exec/tensor_memory.hpp"
#include "sim/graph/task_graph.hpp"

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <vector>

namespace schedlab::detail {

/// Tensors of recurrent() that there is one of for each step and chain.
enum class StepTensor : std::uint8_t {
  input_products,      ///< zx
  recurrent_products,  ///< zh
  gates,
  c,
  h,
  gate_gradients,   ///< dG
  input_gradients,  ///< dx
};

/// Where the arrays of single steps lie when each has memory of its own: a recomputed tensor is
/// another one than the first of its name, so that a task finds the one that it reads or writes.
class StepTensors {
 public:
  struct Chain {
    /// Floats of a step, as the kernels need them; 0: not of one's own. By StepTensor.
    std::vector<std::size_t> elements;
    /// The chain in whose h this one's lies, at so many floats from its beginning: both directions
    /// of a layer lie side by side. The first direction's h has the elements of both.
    std::size_t outputs_in = 0;
    std::size_t outputs_at = 0;
  };
  /// Tensors that are persistent or have another name live elsewhere.
  StepTensors(const TaskGraph& graph,
              const std::vector<Chain>& chains,
              IdVector<TaskId, std::uint32_t> blocks);

  [[nodiscard]] TensorMemory& memory() { return *memory_; }
  [[nodiscard]] const TensorMemory& memory() const { return *memory_; }
  /// nullptr if the task uses no such tensor with memory of its own.
  [[nodiscard]] float* find(TaskId task,
                            StepTensor kind,
                            std::size_t chain,
                            std::int64_t step) const;

 private:
  struct Use {
    std::uint64_t key = 0;
    TensorId tensor;     // in whose memory it lies
    std::size_t at = 0;  // floats from its beginning
  };
  [[nodiscard]] static std::uint64_t key_of(StepTensor kind, std::size_t chain, std::int64_t step);

  std::vector<std::uint32_t> offset_;  // into uses_, by task
  std::vector<Use> uses_;              // of a task by rising key
  std::unique_ptr<TensorMemory> memory_;
};

}  // namespace schedlab::detail
