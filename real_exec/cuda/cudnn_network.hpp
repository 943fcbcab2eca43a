// SPDX-License-Identifier: Apache-2.0
#pragma once

// What the CUDA run-time and cuDNN give out, owned, and every call checked. Included only where
// cuDNN is there.

#include "real_exec/cuda/cudnn_layout.hpp"
#include "workloads/recurrent.hpp"

#include <cuda_runtime_api.h>
#include <cudnn.h>

#include <cstddef>
#include <functional>
#include <memory>
#include <type_traits>
#include <vector>

namespace schedlab::detail {

/// Throws DeviceError naming `call`.
void check(cudaError_t code, const char* call);
/// Throws DeviceError naming `call`; InfeasibleError where cuDNN says that it does not do this.
void check(cudnnStatus_t status, const char* call);

/// What frees an object of the run-time or of cuDNN; errors at that point have nowhere to go.
template <auto Destroy>
struct Destroyer {
  template <class Object>
  void operator()(Object* object) const {
    static_cast<void>(Destroy(object));
  }
};
template <class Handle, auto Destroy>
using Owned = std::unique_ptr<std::remove_pointer_t<Handle>, Destroyer<Destroy>>;

using Stream = Owned<cudaStream_t, &cudaStreamDestroy>;
using GraphExec = Owned<cudaGraphExec_t, &cudaGraphExecDestroy>;
using Graph = Owned<cudaGraph_t, &cudaGraphDestroy>;
using Handle = Owned<cudnnHandle_t, &cudnnDestroy>;
using RnnDescriptor = Owned<cudnnRNNDescriptor_t, &cudnnDestroyRNNDescriptor>;
using DataDescriptor = Owned<cudnnRNNDataDescriptor_t, &cudnnDestroyRNNDataDescriptor>;
using TensorDescriptor = Owned<cudnnTensorDescriptor_t, &cudnnDestroyTensorDescriptor>;
using DropoutDescriptor = Owned<cudnnDropoutDescriptor_t, &cudnnDestroyDropoutDescriptor>;

template <class Object, class Create>
Object made(const Create& create, const char* call) {
  typename Object::pointer object = nullptr;
  check(create(&object), call);
  return Object{object};
}

/// Memory of the device.
class Memory {
 public:
  Memory() = default;
  explicit Memory(std::size_t bytes) : bytes_(bytes) {
    if (bytes == 0) return;
    void* pointer = nullptr;
    check(cudaMalloc(&pointer, bytes), "cudaMalloc");
    pointer_.reset(pointer);
  }
  [[nodiscard]] void* get() const { return pointer_.get(); }
  [[nodiscard]] std::size_t bytes() const { return bytes_; }
  /// 0xFF in every byte is a NaN in each of our types.
  void set(int byte) const {
    if (bytes_ > 0) check(cudaMemset(get(), byte, bytes_), "cudaMemset");
  }

 private:
  struct Free {
    void operator()(void* pointer) const { static_cast<void>(cudaFree(pointer)); }
  };
  std::unique_ptr<void, Free> pointer_;
  std::size_t bytes_ = 0;
};

/// The type of sequences, states and weights, and what cuDNN may compute with.
struct CudnnNumber {
  cudnnDataType_t type;
  cudnnMathType_t math;
  std::size_t bytes;
};
/// InfeasibleError for a type that cuDNN's network does not have.
[[nodiscard]] CudnnNumber cudnn_number(DataType type);

/// Between fp32 here and the number's type there.
void copy_to_device(const CudnnNumber& number, const std::vector<float>& values, void* to);
[[nodiscard]] std::vector<float> copy_to_host(const CudnnNumber& number,
                                              const void* from,
                                              std::size_t count);

/// A network as cuDNN is told of it, without its data. Made for one stream of its own.
class CudnnNetwork {
 public:
  /// `spec.input` must not be 0. InfeasibleError for what cuDNN does not do.
  CudnnNetwork(const RecurrentSpec& spec, cudnnRNNAlgo_t algorithm);

  /// Calls `action(values, device address, elements there)` for each matrix and bias that a chain
  /// has in `space`, weights or their gradients.
  using Visit = std::function<void(std::vector<float>& values, void* address, std::size_t count)>;
  void visit_weights(std::size_t chain,
                     const Memory& space,
                     CudnnChainWeights& weights,
                     const Visit& action) const;

  RecurrentSpec spec;
  CudnnNumber number;
  std::size_t directions;
  Stream stream;
  Handle handle;
  DropoutDescriptor dropout;
  RnnDescriptor rnn;
  DataDescriptor x_shape;
  DataDescriptor y_shape;
  TensorDescriptor state_shape;

 private:
  void describe(cudnnRNNAlgo_t algorithm);
  [[nodiscard]] DataDescriptor data_descriptor(std::size_t width) const;
};

}  // namespace schedlab::detail
