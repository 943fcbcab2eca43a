// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "real_exec/recurrent/tensor_memory.hpp"
#include "sim/graph/task_graph.hpp"

#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <utility>
#include <vector>

namespace schedlab::detail {

/// Tensors of recurrent() that there is one of for each step and chain.
enum class StepTensor : std::uint8_t {
  input_products,      ///< zx
  recurrent_products,  ///< zh
  gates,
  c,
  h,
  gate_gradients,       ///< dG
  input_gradients,      ///< dx
  inner,                ///< m: the state before its projection
  inner_gradients,      ///< dm
  projected_gradients,  ///< dp
  output_gradients,     ///< dy: one for all steps of a segment, of the top layer
};
inline constexpr std::size_t step_tensor_count = 11;

/// In which tensor of the graph each array of a step lies when tensors have memory of their own: a
/// recomputed tensor is another one than the first of its name, so that a task finds the one that
/// it reads or writes.
class StepTensorMap {
 public:
  struct Chain {
    /// Floats of a step, of dy of a segment, as the kernels need them; 0: not of one's own. By
    /// StepTensor.
    std::array<std::size_t, step_tensor_count> elements{};
    /// The chain in whose h this one's lies, at so many floats from its beginning: both directions
    /// of a layer lie side by side. The first direction's h has the elements of both.
    std::size_t outputs_in = 0;
    std::size_t outputs_at = 0;
  };
  struct Place {
    TensorId tensor;     ///< in whose memory it lies
    std::size_t at = 0;  ///< floats from its beginning
  };

  /// Tensors that are persistent or have another name live elsewhere.
  StepTensorMap(const TaskGraph& graph, const std::vector<Chain>& chains);

  /// Nothing if the task uses no such tensor with memory of its own.
  [[nodiscard]] std::optional<Place> find(TaskId task,
                                          StepTensor kind,
                                          std::size_t chain,
                                          std::int64_t step) const;
  /// Floats of each tensor; 0: it lives elsewhere, or lies in another.
  [[nodiscard]] const IdVector<TensorId, std::size_t>& elements() const { return elements_; }
  /// The tensor in whose memory each lies, mostly itself.
  [[nodiscard]] const IdVector<TensorId, TensorId>& lies_in() const { return lies_in_; }

 private:
  struct Use {
    std::uint64_t key = 0;
    Place place;
  };
  void add_uses(const TaskGraph& graph, std::vector<std::pair<TaskId, Use>> all);
  [[nodiscard]] static std::uint64_t key_of(StepTensor kind, std::size_t chain, std::int64_t step);

  std::vector<std::uint32_t> offset_;  // into uses_, by task
  std::vector<Use> uses_;              // of a task by rising key
  IdVector<TensorId, std::size_t> elements_;
  IdVector<TensorId, TensorId> lies_in_;
};

/// The arrays of steps in memory of this computer.
class StepTensors {
 public:
  /// `blocks`: of all kernels of each task.
  StepTensors(const TaskGraph& graph,
              const std::vector<StepTensorMap::Chain>& chains,
              IdVector<TaskId, std::uint32_t> blocks)
      : map_(graph, chains), memory_(graph, map_.elements(), map_.lies_in(), std::move(blocks)) {}

  [[nodiscard]] TensorMemory& memory() { return memory_; }
  [[nodiscard]] const TensorMemory& memory() const { return memory_; }
  /// nullptr if the task uses no such tensor with memory of its own.
  [[nodiscard]] float* find(TaskId task,
                            StepTensor kind,
                            std::size_t chain,
                            std::int64_t step) const {
    const auto place = map_.find(task, kind, chain, step);
    return place ? memory_.at(place->tensor) + place->at : nullptr;
  }

 private:
  StepTensorMap map_;
  TensorMemory memory_;
};

}  // namespace schedlab::detail
