// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "real_exec/cuda/cuda_launch.hpp"
#include "real_exec/cuda/recurrent_arrays.hpp"
#include "real_exec/cuda/recurrent_kernels.hpp"
#include "real_exec/recurrent_binding.hpp"

#include <cstddef>
#include <cstdint>

namespace schedlab::detail {

/// One kernel of one task.
struct DevicePortion {
  std::size_t chain = 0;
  std::int64_t step = 0;   ///< of weight tasks the last in backward order
  std::int64_t steps = 1;  ///< of weight tasks: that are summed
};

/// Launches sub-tasks on the arrays of a network.
class RecurrentLaunches {
 public:
  RecurrentLaunches(const RecurrentSpec& spec, std::uint64_t seed, CudaPrecision precision)
      : arrays_(spec, seed, precision) {}

  void launch(SubTask task, const DevicePortion& portion, const CudaLaunch& to);
  /// Nodes of all chains in order. Returns when the device has done it.
  void run_forward(const CudaLaunch& to);

  [[nodiscard]] RecurrentArrays& arrays() { return arrays_; }
  [[nodiscard]] const RecurrentArrays& arrays() const { return arrays_; }

 private:
  /// A matrix that products read: as fp32, or its copy in bf16.
  struct Operand {
    const float* full = nullptr;
    const __nv_bfloat16* low = nullptr;
    std::int64_t stride = 0;
    bool transposed = false;
  };
  struct Size {
    std::int64_t m = 0;
    std::int64_t n = 0;
    std::int64_t k = 0;
  };
  struct Result {
    float* data = nullptr;
    std::int64_t stride = 0;
    bool add = false;
  };

  void copy_in(const CudaLaunch& to);
  void copy_out(const CudaLaunch& to);
  void input_gemm(const DeviceChain& chain, std::int64_t step, const CudaLaunch& to);
  void recurrent_gemm(const DeviceChain& chain, std::int64_t step, const CudaLaunch& to);
  void candidate_gemm(const DeviceChain& chain, std::int64_t step, const CudaLaunch& to);
  void forward_cell(SubTask task, const DeviceChain& chain, std::int64_t step, cudaStream_t to);
  void loss(cudaStream_t to);
  void backward_cell(SubTask task, const DeviceChain& chain, std::int64_t step, cudaStream_t to);
  void candidate_hidden(const DeviceChain& chain, std::int64_t step, const CudaLaunch& to);
  void hidden_1(const DeviceChain& chain, std::int64_t step, const CudaLaunch& to);
  void hidden_2(const DeviceChain& chain, std::int64_t step, const CudaLaunch& to);
  void weight(SubTask task,
              const DeviceChain& chain,
              const DevicePortion& portion,
              const CudaLaunch& to);
  void bias(const DeviceChain& chain, const DevicePortion& portion, cudaStream_t to);
  void reduce(SubTask task, const DeviceChain& chain, cudaStream_t to);
  void update(const DeviceChain& chain, cudaStream_t to);

  [[nodiscard]] Operand input(const DeviceChain& chain, std::int64_t step) const;
  [[nodiscard]] Operand h(const DeviceChain& chain, std::int64_t step) const;
  [[nodiscard]] Operand gate_gradients(const DeviceChain& chain,
                                       std::int64_t step,
                                       std::int64_t first_gate) const;
  void multiply(const Size& size,
                const Operand& a,
                const Operand& b,
                const Result& c,
                const CudaLaunch& to) const;
  [[nodiscard]] std::int64_t gate_columns() const {
    return arrays_.shape.gates * arrays_.spec.hidden;
  }
  [[nodiscard]] std::int64_t gradient_columns() const {
    return arrays_.shape.gate_gradients * arrays_.spec.hidden;
  }
  /// The first of the steps that a weight task sums, in the order of memory.
  [[nodiscard]] static std::int64_t lowest_step(const DeviceChain& chain,
                                                const DevicePortion& portion) {
    return chain.place.direction == 1 ? portion.step - (portion.steps - 1) : portion.step;
  }
  [[nodiscard]] std::int64_t buffer(const DevicePortion& portion) const {
    return portion.step % static_cast<std::int64_t>(arrays_.buffers);
  }

  RecurrentArrays arrays_;
};

}  // namespace schedlab::detail
