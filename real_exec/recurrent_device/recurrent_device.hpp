// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "real_exec/recurrent_device/blas_product.hpp"
#include "real_exec/recurrent_device/kernel_arguments.hpp"
#include "sim/base/enum_names.hpp"

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <type_traits>
#include <utility>

namespace schedlab {

/// The arithmetic of matrix products on devices; sums are always taken in fp32.
enum class ProductPrecision : std::uint8_t { fp32, tf32, bf16 };
template <>
struct EnumNames<ProductPrecision> {
  static constexpr auto names = name_list("fp32", "tf32", "bf16");
};

namespace detail {

/// Where a task of a recurrent network puts what it launches: calls return at once, and what they
/// put in runs in order. All throw DeviceError.
class RecurrentQueue {
 public:
  RecurrentQueue() = default;
  RecurrentQueue(const RecurrentQueue&) = delete;
  RecurrentQueue& operator=(const RecurrentQueue&) = delete;
  virtual ~RecurrentQueue() = default;

  virtual void multiply(const BlasProduct& product) = 0;
  virtual void lstm_forward(const DeviceCellForward& args) = 0;
  virtual void gru_forward(const DeviceCellForward& args) = 0;
  virtual void reset_gates_forward(const DeviceCellForward& args) = 0;
  virtual void reset_cell_forward(const DeviceCellForward& args) = 0;
  virtual void lstm_backward(const DeviceCellBackward& args) = 0;
  virtual void gru_backward(const DeviceCellBackward& args) = 0;
  virtual void reset_candidate_backward(const DeviceCellBackward& args) = 0;
  virtual void reset_cell_backward(const DeviceCellBackward& args) = 0;
  virtual void sum_gradients(const DeviceGradientSum& args) = 0;
  virtual void add_column_sums(const DeviceColumnSums& args) = 0;
  virtual void transpose(const DeviceTranspose& args) = 0;
  virtual void add(const DeviceAddition& args) = 0;
  virtual void squared_error(const DeviceLoss& args) = 0;
  virtual void update_weights(const DeviceUpdate& args) = 0;
  virtual void round_to_bf16(const float* from, Bf16* to, long long elements) = 0;
  virtual void upload(void* to, const void* from, std::size_t bytes) = 0;
  virtual void download(void* to, const void* from, std::size_t bytes) = 0;

  /// What is launched becomes part of a device graph: no copies from pageable memory.
  [[nodiscard]] virtual bool capturing() const = 0;
  /// Returns when all that was put in has been done.
  virtual void finish() = 0;
};

/// A device's memory, for a recurrent network. Pointers into it are for arithmetic and for the
/// calls here and of RecurrentQueue; the host does not look where they point. Everything has
/// happened when a member returns. All throw DeviceError.
class RecurrentDevice {
 public:
  RecurrentDevice() = default;
  RecurrentDevice(const RecurrentDevice&) = delete;
  RecurrentDevice& operator=(const RecurrentDevice&) = delete;
  virtual ~RecurrentDevice() = default;

  /// Not initialized; as long as the pointer is shared.
  [[nodiscard]] virtual std::shared_ptr<void> allocate(std::size_t bytes) = 0;
  /// Memory of the host that copies need not be buffered from.
  [[nodiscard]] virtual std::shared_ptr<void> allocate_host(std::size_t bytes) = 0;
  virtual void upload(void* to, const void* from, std::size_t bytes) = 0;
  /// Rows one after another on the host, `stride` bytes from one to the next on the device.
  virtual void upload_rows(
      void* to, std::size_t stride, const void* from, std::size_t row_bytes, std::size_t rows) = 0;
  virtual void download(void* to, const void* from, std::size_t bytes) = 0;
  virtual void copy(void* to, const void* from, std::size_t bytes) = 0;
  virtual void fill(void* to, unsigned char byte, std::size_t bytes) = 0;
  virtual void round_to_bf16(const float* from, Bf16* to, long long elements) = 0;
};

/// An array on a device, or in the host's memory for copies there; not initialized; of no elements
/// none.
template <class T>
class NetworkArray {
  static_assert(std::is_trivially_copyable_v<T>);

 public:
  NetworkArray() = default;
  NetworkArray(RecurrentDevice& device, std::size_t size) : size_(size) {
    if (size > 0) memory_ = device.allocate(size * sizeof(T));
  }
  [[nodiscard]] static NetworkArray on_host(RecurrentDevice& device, std::size_t size) {
    NetworkArray made;
    made.size_ = size;
    if (size > 0) made.memory_ = device.allocate_host(size * sizeof(T));
    return made;
  }
  NetworkArray(const NetworkArray&) = delete;
  NetworkArray& operator=(const NetworkArray&) = delete;
  NetworkArray(NetworkArray&& other) noexcept
      : memory_(std::move(other.memory_)), size_(std::exchange(other.size_, 0)) {}
  NetworkArray& operator=(NetworkArray&& other) noexcept {
    memory_ = std::move(other.memory_);
    size_ = std::exchange(other.size_, 0);
    return *this;
  }
  ~NetworkArray() = default;

  [[nodiscard]] T* data() const { return static_cast<T*>(memory_.get()); }
  [[nodiscard]] std::size_t size() const { return size_; }
  [[nodiscard]] std::size_t bytes() const { return size_ * sizeof(T); }
  [[nodiscard]] bool empty() const { return size_ == 0; }

 private:
  std::shared_ptr<void> memory_;
  std::size_t size_ = 0;
};

}  // namespace detail
}  // namespace schedlab
