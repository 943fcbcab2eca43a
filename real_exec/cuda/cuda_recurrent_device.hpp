// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "real_exec/cuda/cuda_launch.hpp"
#include "real_exec/recurrent_device/recurrent_device.hpp"

#include <cstddef>
#include <memory>

namespace schedlab::detail {

/// A stream, as tasks of recurrent networks see it.
class CudaRecurrentQueue final : public RecurrentQueue {
 public:
  explicit CudaRecurrentQueue(const CudaLaunch& to) : to_(to) {}

  void multiply(const BlasProduct& product) override;
  void lstm_forward(const DeviceCellForward& args) override;
  void gru_forward(const DeviceCellForward& args) override;
  void reset_gates_forward(const DeviceCellForward& args) override;
  void reset_cell_forward(const DeviceCellForward& args) override;
  void lstm_backward(const DeviceCellBackward& args) override;
  void gru_backward(const DeviceCellBackward& args) override;
  void reset_candidate_backward(const DeviceCellBackward& args) override;
  void reset_cell_backward(const DeviceCellBackward& args) override;
  void sum_gradients(const DeviceGradientSum& args) override;
  void add_column_sums(const DeviceColumnSums& args) override;
  void transpose(const DeviceTranspose& args) override;
  void add(const DeviceAddition& args) override;
  void squared_error(const DeviceLoss& args) override;
  void update_weights(const DeviceUpdate& args) override;
  void round_to_bf16(const float* from, Bf16* to, long long elements) override;
  void upload(void* to, const void* from, std::size_t bytes) override;
  void download(void* to, const void* from, std::size_t bytes) override;
  [[nodiscard]] bool capturing() const override { return to_.capturing; }
  void finish() override;

 private:
  const CudaLaunch& to_;
};

/// Memory of the calling thread's device. Uses the legacy default stream.
class CudaRecurrentDevice final : public RecurrentDevice {
 public:
  [[nodiscard]] std::shared_ptr<void> allocate(std::size_t bytes) override;
  [[nodiscard]] std::shared_ptr<void> allocate_host(std::size_t bytes) override;
  void upload(void* to, const void* from, std::size_t bytes) override;
  void upload_rows(void* to,
                   std::size_t stride,
                   const void* from,
                   std::size_t row_bytes,
                   std::size_t rows) override;
  void download(void* to, const void* from, std::size_t bytes) override;
  void copy(void* to, const void* from, std::size_t bytes) override;
  void fill(void* to, unsigned char byte, std::size_t bytes) override;
  void round_to_bf16(const float* from, Bf16* to, long long elements) override;
};

}  // namespace schedlab::detail
