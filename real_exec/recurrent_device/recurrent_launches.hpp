// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "real_exec/executor/launched_memory.hpp"
#include "real_exec/recurrent/recurrent_binding.hpp"
#include "real_exec/recurrent/step_tensors.hpp"
#include "real_exec/recurrent_device/recurrent_arrays.hpp"
#include "real_exec/recurrent_device/recurrent_device.hpp"

#include <cstddef>
#include <cstdint>
#include <memory>
#include <utility>
#include <vector>

namespace schedlab::detail {

/// One kernel of one task.
struct DevicePortion {
  TaskId id{};  ///< where tensors have memory of their own
  std::size_t chain = 0;
  std::int64_t step = 0;   ///< of tasks of several steps the last in backward order
  std::int64_t steps = 1;  ///< that weight tasks sum, and that hidden_2 and copies are of
};

/// Launches sub-tasks on the arrays of a network.
class RecurrentLaunches {
 public:
  RecurrentLaunches(std::shared_ptr<RecurrentDevice> device,
                    const RecurrentSpec& spec,
                    RecurrentInputs<float> inputs,
                    ProductPrecision precision,
                    bool by_tensor)
      : arrays_(std::move(device), spec, std::move(inputs), precision, by_tensor) {}

  /// Where the arrays of steps lie if not in the arrays here; must outlive this. Their sizes are
  /// step_arrays().
  void use(const StepTensorMap& map, const LaunchedMemory& memory) {
    map_ = &map;
    memory_ = &memory;
  }
  [[nodiscard]] std::vector<StepTensorMap::Chain> step_arrays() const;

  void launch(SubTask task, const DevicePortion& portion, RecurrentQueue& to);
  /// Nodes of all chains in order. Returns when the device has done it.
  void run_forward(RecurrentQueue& to);

  [[nodiscard]] RecurrentArrays& arrays() { return arrays_; }
  [[nodiscard]] const RecurrentArrays& arrays() const { return arrays_; }

 private:
  /// A matrix that products read, in fp32 or bf16.
  struct Operand {
    const float* full = nullptr;
    const Bf16* low = nullptr;
    std::int64_t stride = 0;
    bool transposed = false;
    std::int64_t product = 0;  ///< elements from one product of several to the next
  };
  struct Size {
    std::int64_t m = 0;
    std::int64_t n = 0;
    std::int64_t k = 0;
    std::int64_t count = 1;  ///< products side by side
    std::int64_t units = 0;  ///< that they may use; 0: all
  };
  struct Result {
    float* data = nullptr;
    Bf16* low = nullptr;  ///< in place of data
    std::int64_t stride = 0;
    bool add = false;
    std::int64_t product = 0;
  };

  void copy_in(RecurrentQueue& to);
  void copy_out(RecurrentQueue& to) const;
  void input_gemm(const DeviceChain& chain, const DevicePortion& at, RecurrentQueue& to);
  void recurrent_gemm(const DeviceChain& chain, const DevicePortion& at, RecurrentQueue& to);
  void candidate_gemm(const DeviceChain& chain, const DevicePortion& at, RecurrentQueue& to);
  void forward_cell(SubTask task,
                    const DeviceChain& chain,
                    const DevicePortion& at,
                    RecurrentQueue& to);
  void loss(const DevicePortion& at, RecurrentQueue& to);
  void backward_cell(SubTask task,
                     const DeviceChain& chain,
                     const DevicePortion& at,
                     RecurrentQueue& to);
  void upstream_gradients(const DeviceChain& chain,
                          const DevicePortion& at,
                          const float* (&upstream)[2],            // NOLINT(*-avoid-c-arrays)
                          const Bf16* (&upstream_low)[2]) const;  // NOLINT(*-avoid-c-arrays)
  void candidate_hidden(const DeviceChain& chain, const DevicePortion& at, RecurrentQueue& to);
  void projection_gemm(const DeviceChain& chain, const DevicePortion& at, RecurrentQueue& to);
  void projection_sum(const DeviceChain& chain, const DevicePortion& at, RecurrentQueue& to);
  void projection_hidden(const DeviceChain& chain, const DevicePortion& at, RecurrentQueue& to);
  void hidden_1(const DeviceChain& chain, const DevicePortion& at, RecurrentQueue& to);
  void hidden_2(const DeviceChain& chain, const DevicePortion& at, RecurrentQueue& to);
  void copy_transposed(SubTask task,
                       const DeviceChain& chain,
                       const DevicePortion& portion,
                       RecurrentQueue& to);
  void weight(SubTask task,
              const DeviceChain& chain,
              const DevicePortion& portion,
              RecurrentQueue& to);
  void add_weight(SubTask task,
                  const DeviceChain& chain,
                  const DevicePortion& portion,
                  std::int64_t buffer,
                  RecurrentQueue& to);
  /// The copy from a column of the original on, of steps from `lowest` on; as a second factor it is
  /// `transposed`.
  [[nodiscard]] Operand k_major(const StoredArray& copy,
                                std::int64_t column,
                                std::int64_t lowest,
                                bool transposed) const;
  void bias(const DeviceChain& chain, const DevicePortion& portion, RecurrentQueue& to);
  void add_bias(const DeviceChain& chain,
                const DevicePortion& portion,
                std::int64_t buffer,
                RecurrentQueue& to);
  void reduce(SubTask task, const DeviceChain& chain, RecurrentQueue& to);
  void update(const DeviceChain& chain, RecurrentQueue& to) const;

  // Matrices that the task uses, of a step.
  [[nodiscard]] float* own(StepTensor kind,
                           const DeviceChain& chain,
                           TaskId task,
                           std::int64_t step) const;
  [[nodiscard]] Result gates(const DeviceChain& chain, const DevicePortion& at) const;
  [[nodiscard]] Result products(const DeviceChain& chain, const DevicePortion& at) const;
  [[nodiscard]] Result recurrent_products(const DeviceChain& chain, const DevicePortion& at) const;
  [[nodiscard]] Operand input(const DeviceChain& chain, TaskId task, std::int64_t step) const;
  [[nodiscard]] float* h_data(const DeviceChain& chain, TaskId task, std::int64_t step) const;
  [[nodiscard]] Bf16* h_low(const DeviceChain& chain, std::int64_t step) const;
  [[nodiscard]] Operand h(const DeviceChain& chain, TaskId task, std::int64_t step) const;
  [[nodiscard]] float* c(const DeviceChain& chain, TaskId task, std::int64_t step) const;
  /// r * h of a step, or o * tanh(c) before its projection; its gradient; the gradient of h.
  [[nodiscard]] Operand inner(const DeviceChain& chain, TaskId task, std::int64_t step) const;
  [[nodiscard]] float* inner_data(const DeviceChain& chain, TaskId task, std::int64_t step) const;
  [[nodiscard]] Bf16* inner_low(const DeviceChain& chain, std::int64_t step) const;
  [[nodiscard]] float* inner_gradient(const DeviceChain& chain, const DevicePortion& at) const;
  [[nodiscard]] Operand projected_gradient(const DeviceChain& chain,
                                           TaskId task,
                                           std::int64_t step) const;
  [[nodiscard]] float* projected_gradient_data(const DeviceChain& chain,
                                               TaskId task,
                                               std::int64_t step) const;
  [[nodiscard]] float* gate_gradient_data(const DeviceChain& chain,
                                          TaskId task,
                                          std::int64_t step) const;
  [[nodiscard]] Operand gate_gradients(const DeviceChain& chain,
                                       TaskId task,
                                       std::int64_t step,
                                       std::int64_t first_gate) const;
  [[nodiscard]] Result dx(const DeviceChain& chain, TaskId task, std::int64_t step) const;
  /// The gradient of the outputs of all steps.
  [[nodiscard]] float* dy(TaskId task) const;
  void multiply(const Size& size,
                const Operand& a,
                const Operand& b,
                const Result& c,
                RecurrentQueue& to) const;
  [[nodiscard]] std::int64_t gate_columns() const {
    return arrays_.shape.gates * arrays_.spec.hidden;
  }
  [[nodiscard]] std::int64_t gradient_columns() const {
    return arrays_.shape.gate_gradients * arrays_.spec.hidden;
  }
  /// The first of the steps of a task, in the order of memory.
  [[nodiscard]] static std::int64_t lowest_step(const DeviceChain& chain,
                                                const DevicePortion& portion) {
    return chain.place.direction == 1 ? portion.step - (portion.steps - 1) : portion.step;
  }
  [[nodiscard]] std::int64_t buffer(const DevicePortion& portion) const {
    return portion.step % static_cast<std::int64_t>(arrays_.buffers);
  }

  /// A task of several steps: one call for all of them, or by tensors one for each, in the order of
  /// the backward pass.
  template <class Launch>
  void for_each_part(const DeviceChain& chain, const DevicePortion& portion, const Launch& launch);

  RecurrentArrays arrays_;
  const StepTensorMap* map_ = nullptr;  // nullptr: all lie in the arrays
  const LaunchedMemory* memory_ = nullptr;
};

template <class Launch>
void RecurrentLaunches::for_each_part(const DeviceChain& chain,
                                      const DevicePortion& portion,
                                      const Launch& launch) {
  if (map_ == nullptr || portion.steps == 1) return launch(portion);
  const std::int64_t lowest = lowest_step(chain, portion);
  for (std::int64_t i = 0; i < portion.steps; ++i) {
    DevicePortion one = portion;
    one.steps = 1;
    one.step = lowest + (chain.place.direction == 1 ? i : portion.steps - 1 - i);
    launch(one);
  }
}

}  // namespace schedlab::detail
