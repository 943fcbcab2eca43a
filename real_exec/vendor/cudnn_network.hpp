// SPDX-License-Identifier: Apache-2.0
#pragma once

// What the CUDA run-time and cuDNN give out, owned, and every call checked. Included only where
// cuDNN is there.

#include "real_exec/cuda/cuda_handles.hpp"
#include "real_exec/vendor/cudnn_layout.hpp"
#include "real_exec/vendor/cudnn_library.hpp"
#include "workloads/models/recurrent/recurrent.hpp"

#include <cstddef>
#include <functional>
#include <memory>
#include <type_traits>
#include <vector>

namespace schedlab::detail {

/// Throws DeviceError naming `call`; InfeasibleError where cuDNN says that it does not do this.
void check_cudnn(cudnnStatus_t status, const char* call);

/// What gives a descriptor or handle of cuDNN back; errors at that point have nowhere to go.
template <auto CudnnLibrary::*Destroy>
struct CudnnDestroyer {
  template <class Object>
  void operator()(Object* object) const {
    static_cast<void>((cudnn().*Destroy)(object));
  }
};
template <class Handle, auto CudnnLibrary::*Destroy>
using CudnnOwned = std::unique_ptr<std::remove_pointer_t<Handle>, CudnnDestroyer<Destroy>>;

using CudnnHandle = CudnnOwned<cudnnHandle_t, &CudnnLibrary::cudnnDestroy>;
using RnnDescriptor = CudnnOwned<cudnnRNNDescriptor_t, &CudnnLibrary::cudnnDestroyRNNDescriptor>;
using DataDescriptor =
    CudnnOwned<cudnnRNNDataDescriptor_t, &CudnnLibrary::cudnnDestroyRNNDataDescriptor>;
using TensorDescriptor =
    CudnnOwned<cudnnTensorDescriptor_t, &CudnnLibrary::cudnnDestroyTensorDescriptor>;
using DropoutDescriptor =
    CudnnOwned<cudnnDropoutDescriptor_t, &CudnnLibrary::cudnnDestroyDropoutDescriptor>;
/// Device memory.
using Memory = DeviceArray<std::byte>;

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
  CudaStream stream;
  CudnnHandle handle;
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
