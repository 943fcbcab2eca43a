// SPDX-License-Identifier: Apache-2.0
#pragma once

// Included only where cuDNN is there.

#include <cudnn.h>

namespace schedlab::detail {

/// The functions of cuDNN that are used, each once.
#define SCHEDLAB_CUDNN_FUNCTIONS(use)                                                             \
  use(cudnnGetVersion) use(cudnnGetErrorString) use(cudnnGetLastErrorString) use(cudnnCreate)     \
      use(cudnnDestroy) use(cudnnSetStream) use(cudnnCreateDropoutDescriptor)                     \
          use(cudnnDestroyDropoutDescriptor) use(cudnnSetDropoutDescriptor)                       \
              use(cudnnCreateTensorDescriptor) use(cudnnDestroyTensorDescriptor)                  \
                  use(cudnnSetTensorNdDescriptor) use(cudnnGetTensorNdDescriptor)                 \
                      use(cudnnCreateRNNDescriptor) use(cudnnDestroyRNNDescriptor)                \
                          use(cudnnSetRNNDescriptor_v8) use(cudnnCreateRNNDataDescriptor)         \
                              use(cudnnDestroyRNNDataDescriptor) use(cudnnSetRNNDataDescriptor)   \
                                  use(cudnnBuildRNNDynamic) use(cudnnGetRNNWeightSpaceSize)       \
                                      use(cudnnGetRNNTempSpaceSizes) use(cudnnGetRNNWeightParams) \
                                          use(cudnnRNNForward) use(cudnnRNNBackwardData_v8)       \
                                              use(cudnnRNNBackwardWeights_v8)

/// cuDNN, loaded when it is first asked for: a program without it, or without a device, still
/// starts. It stays loaded to the end of the process: it keeps state in the device's context.
struct CudnnLibrary {
// NOLINTNEXTLINE(bugprone-macro-parentheses): a name is declared
#define SCHEDLAB_CUDNN_MEMBER(name) decltype(&::name) name = nullptr;
  SCHEDLAB_CUDNN_FUNCTIONS(SCHEDLAB_CUDNN_MEMBER)
#undef SCHEDLAB_CUDNN_MEMBER
};

/// Thread-safe. Throws DeviceError if the library, or a function in it, is not found.
[[nodiscard]] const CudnnLibrary& cudnn();

}  // namespace schedlab::detail
