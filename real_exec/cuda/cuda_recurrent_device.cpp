// SPDX-License-Identifier: Apache-2.0
#include "real_exec/cuda/cuda_recurrent_device.hpp"

#include "real_exec/cuda/array_kernels.hpp"
#include "real_exec/cuda/cuda_handles.hpp"
#include "real_exec/cuda/recurrent_kernels.hpp"

namespace schedlab::detail {
namespace {

/// Capturing a stream forbids this thread calls that might wait; to allocate is none that others
/// could see.
class AllowedWhileCapturing {
 public:
  AllowedWhileCapturing() { exchange(); }
  AllowedWhileCapturing(const AllowedWhileCapturing&) = delete;
  AllowedWhileCapturing& operator=(const AllowedWhileCapturing&) = delete;
  ~AllowedWhileCapturing() { static_cast<void>(cudaThreadExchangeStreamCaptureMode(&mode_)); }

 private:
  void exchange() {
    check_cuda(cudaThreadExchangeStreamCaptureMode(&mode_), "cudaThreadExchangeStreamCaptureMode");
  }
  cudaStreamCaptureMode mode_ = cudaStreamCaptureModeRelaxed;
};

/// Everything on the device, rounding above all, has happened.
void synchronize() {
  check_cuda(cudaDeviceSynchronize(), "cudaDeviceSynchronize");
}

}  // namespace

void CudaRecurrentQueue::multiply(const BlasProduct& product) {
  to_.multiply(product);
}
void CudaRecurrentQueue::lstm_forward(const DeviceCellForward& args) {
  detail::lstm_forward(args, to_.kernels());
}
void CudaRecurrentQueue::gru_forward(const DeviceCellForward& args) {
  detail::gru_forward(args, to_.kernels());
}
void CudaRecurrentQueue::reset_gates_forward(const DeviceCellForward& args) {
  detail::reset_gates_forward(args, to_.kernels());
}
void CudaRecurrentQueue::reset_cell_forward(const DeviceCellForward& args) {
  detail::reset_cell_forward(args, to_.kernels());
}
void CudaRecurrentQueue::lstm_backward(const DeviceCellBackward& args) {
  detail::lstm_backward(args, to_.kernels());
}
void CudaRecurrentQueue::gru_backward(const DeviceCellBackward& args) {
  detail::gru_backward(args, to_.kernels());
}
void CudaRecurrentQueue::reset_candidate_backward(const DeviceCellBackward& args) {
  detail::reset_candidate_backward(args, to_.kernels());
}
void CudaRecurrentQueue::reset_cell_backward(const DeviceCellBackward& args) {
  detail::reset_cell_backward(args, to_.kernels());
}
void CudaRecurrentQueue::sum_gradients(const DeviceGradientSum& args) {
  detail::sum_gradients(args, to_.kernels());
}
void CudaRecurrentQueue::add_column_sums(const DeviceColumnSums& args) {
  detail::add_column_sums(args, to_.kernels());
}
void CudaRecurrentQueue::transpose(const DeviceTranspose& args) {
  detail::transpose(args, to_.kernels());
}
void CudaRecurrentQueue::add(const DeviceAddition& args) {
  detail::add(args, to_.kernels());
}
void CudaRecurrentQueue::squared_error(const DeviceLoss& args) {
  detail::squared_error(args, to_.kernels());
}
void CudaRecurrentQueue::update_weights(const DeviceUpdate& args) {
  detail::update_weights(args, to_.kernels());
}
void CudaRecurrentQueue::round_to_bf16(const float* from, Bf16* to, long long elements) {
  detail::round_to_bf16(from, to, elements, to_.kernels());
}

void CudaRecurrentQueue::upload(void* to, const void* from, std::size_t bytes) {
  check_cuda(cudaMemcpyAsync(to, from, bytes, cudaMemcpyHostToDevice, to_.stream),
             "cudaMemcpyAsync to the device");
}

void CudaRecurrentQueue::download(void* to, const void* from, std::size_t bytes) {
  check_cuda(cudaMemcpyAsync(to, from, bytes, cudaMemcpyDeviceToHost, to_.stream),
             "cudaMemcpyAsync from the device");
}

void CudaRecurrentQueue::finish() {
  check_cuda(cudaStreamSynchronize(to_.stream), "cudaStreamSynchronize");
}

std::shared_ptr<void> CudaRecurrentDevice::allocate(std::size_t bytes) {
  const AllowedWhileCapturing allowed;
  const auto made = std::make_shared<DeviceArray<std::byte>>(bytes);
  return {made, made->data()};
}

std::shared_ptr<void> CudaRecurrentDevice::allocate_host(std::size_t bytes) {
  const auto made = std::make_shared<PinnedArray<std::byte>>(bytes);
  return {made, made->data()};
}

void CudaRecurrentDevice::upload(void* to, const void* from, std::size_t bytes) {
  check_cuda(cudaMemcpy(to, from, bytes, cudaMemcpyHostToDevice), "cudaMemcpy to the device");
  synchronize();
}

void CudaRecurrentDevice::upload_rows(
    void* to, std::size_t stride, const void* from, std::size_t row_bytes, std::size_t rows) {
  check_cuda(cudaMemcpy2D(to, stride, from, row_bytes, row_bytes, rows, cudaMemcpyHostToDevice),
             "cudaMemcpy2D to the device");
  synchronize();
}

void CudaRecurrentDevice::download(void* to, const void* from, std::size_t bytes) {
  check_cuda(cudaMemcpy(to, from, bytes, cudaMemcpyDeviceToHost), "cudaMemcpy from the device");
}

void CudaRecurrentDevice::copy(void* to, const void* from, std::size_t bytes) {
  check_cuda(cudaMemcpy(to, from, bytes, cudaMemcpyDeviceToDevice), "cudaMemcpy on the device");
  synchronize();
}

void CudaRecurrentDevice::fill(void* to, unsigned char byte, std::size_t bytes) {
  check_cuda(cudaMemset(to, byte, bytes), "cudaMemset");
  synchronize();
}

void CudaRecurrentDevice::round_to_bf16(const float* from, Bf16* to, long long elements) {
  detail::round_to_bf16(from, to, elements, nullptr);
  synchronize();
}

}  // namespace schedlab::detail
