// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "real_exec/cuda/cuda_check.hpp"

#include <cuda_runtime_api.h>

#include <cstddef>
#include <utility>

namespace schedlab::detail {

/// Owns one handle of the CUDA run-time. Errors of giving back are dropped: a context that was lost
/// has nothing left to give back.
template <class Handle, cudaError_t (*give_back)(Handle)>
class CudaHandle {
 public:
  CudaHandle() = default;
  explicit CudaHandle(Handle handle) : handle_(handle) {}
  CudaHandle(const CudaHandle&) = delete;
  CudaHandle& operator=(const CudaHandle&) = delete;
  CudaHandle(CudaHandle&& other) noexcept : handle_(std::exchange(other.handle_, Handle{})) {}
  CudaHandle& operator=(CudaHandle&& other) noexcept {
    std::swap(handle_, other.handle_);
    return *this;
  }
  ~CudaHandle() {
    if (handle_ != Handle{}) static_cast<void>(give_back(handle_));
  }

  [[nodiscard]] Handle get() const { return handle_; }
  [[nodiscard]] explicit operator bool() const { return handle_ != Handle{}; }

 private:
  Handle handle_{};
};

using CudaStream = CudaHandle<cudaStream_t, cudaStreamDestroy>;
using CudaEvent = CudaHandle<cudaEvent_t, cudaEventDestroy>;
using CudaGraph = CudaHandle<cudaGraph_t, cudaGraphDestroy>;
using CudaGraphExec = CudaHandle<cudaGraphExec_t, cudaGraphExecDestroy>;
using DeviceBytes = CudaHandle<void*, cudaFree>;
using PinnedBytes = CudaHandle<void*, cudaFreeHost>;

[[nodiscard]] inline CudaStream make_stream(int priority, bool blocking = false) {
  cudaStream_t made = nullptr;
  check_cuda(cudaStreamCreateWithPriority(
                 &made, blocking ? cudaStreamDefault : cudaStreamNonBlocking, priority),
             "cudaStreamCreateWithPriority");
  return CudaStream(made);
}

[[nodiscard]] inline CudaEvent make_event(bool timing) {
  cudaEvent_t made = nullptr;
  check_cuda(cudaEventCreateWithFlags(&made, timing ? cudaEventDefault : cudaEventDisableTiming),
             "cudaEventCreateWithFlags");
  return CudaEvent(made);
}

/// An array on the device, not initialized; of no elements none.
template <class T>
class DeviceArray {
 public:
  DeviceArray() = default;
  explicit DeviceArray(std::size_t size) : size_(size) {
    if (size == 0) return;
    void* made = nullptr;
    check_cuda(cudaMalloc(&made, size * sizeof(T)), "cudaMalloc");
    memory_ = DeviceBytes(made);
  }

  [[nodiscard]] T* data() const { return static_cast<T*>(memory_.get()); }
  [[nodiscard]] std::size_t size() const { return size_; }
  [[nodiscard]] std::size_t bytes() const { return size_ * sizeof(T); }
  [[nodiscard]] bool empty() const { return size_ == 0; }

 private:
  DeviceBytes memory_;
  std::size_t size_ = 0;
};

/// The same in page-locked memory of the host.
template <class T>
class PinnedArray {
 public:
  PinnedArray() = default;
  explicit PinnedArray(std::size_t size) : size_(size) {
    if (size == 0) return;
    void* made = nullptr;
    check_cuda(cudaMallocHost(&made, size * sizeof(T)), "cudaMallocHost");
    memory_ = PinnedBytes(made);
  }

  [[nodiscard]] T* data() const { return static_cast<T*>(memory_.get()); }
  [[nodiscard]] std::size_t size() const { return size_; }
  [[nodiscard]] std::size_t bytes() const { return size_ * sizeof(T); }

 private:
  PinnedBytes memory_;
  std::size_t size_ = 0;
};

}  // namespace schedlab::detail
