// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "real_exec/opencl/opencl_lane.hpp"
#include "real_exec/recurrent_device/recurrent_device.hpp"
#include "sim/base/units.hpp"

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>

namespace schedlab::detail {

/// Memory of an OpenCL device. A buffer has no address that the host could count with: each gets a
/// range of the process's address space that nothing may be read from, and pointers into it stand
/// for its elements.
class OpenClRecurrentDevice final : public RecurrentDevice {
 public:
  explicit OpenClRecurrentDevice(std::shared_ptr<OpenClContext> context)
      : lane_(context, context->properties.least_priority),
        none_(context->make_buffer(sizeof(double))) {}

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
  /// Throws ContractViolation: products are in fp32.
  void round_to_bf16(const float* from, Bf16* to, long long elements) override;

  /// Of a pointer to fp32; of nullptr a buffer that kernels do not look at.
  [[nodiscard]] OpenClPlace place(const float* element) const;
  /// Scratch of so many fp32 values; one task at a time.
  [[nodiscard]] OpenClPlace scratch(std::size_t elements);
  [[nodiscard]] Bytes scratch_bytes() const;
  /// The buffer, with `at` in bytes.
  [[nodiscard]] OpenClPlace bytes_place(const void* byte) const;

 private:
  OpenClLane lane_;
  OpenClBuffer none_;
  OpenClBuffer scratch_;
  std::size_t scratch_elements_ = 0;
};

/// A queue, as tasks of recurrent networks see it.
class OpenClRecurrentQueue final : public RecurrentQueue {
 public:
  OpenClRecurrentQueue(OpenClRecurrentDevice& device, OpenClLane& lane)
      : device_(device), lane_(lane) {}

  /// fp32 by CLBlast.
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
  /// Throws ContractViolation.
  void round_to_bf16(const float* from, Bf16* to, long long elements) override;
  void upload(void* to, const void* from, std::size_t bytes) override;
  void download(void* to, const void* from, std::size_t bytes) override;
  [[nodiscard]] bool capturing() const override { return false; }
  void finish() override { lane_.finish(); }

 private:
  /// Over at least `items` work items.
  template <class... Args>
  void launch(const std::string& name, long long items, const Args&... args);
  template <class... C>
  void forward(const std::string& name, const DeviceCellForward& args, int result, const C&... c);
  template <class... C>
  void backward(const std::string& name, const DeviceCellBackward& args, const C&... c);
  /// Puts the steps one behind the other into scratch.
  [[nodiscard]] OpenClPlace gathered(const DeviceLoss& args);

  OpenClRecurrentDevice& device_;
  OpenClLane& lane_;
};

}  // namespace schedlab::detail
