// SPDX-License-Identifier: Apache-2.0
#include "real_exec/vendor/cudnn_library.hpp"

#include "real_exec/cuda/toolkit_library.hpp"

namespace schedlab::detail {
namespace {

CudnnLibrary load() {
  const LoadedLibrary file = toolkit_library("cuDNN", "cudnn", CUDNN_MAJOR);
  CudnnLibrary functions;
#define SCHEDLAB_CUDNN_FIND(name) file.find(functions.name, #name);
  SCHEDLAB_CUDNN_FUNCTIONS(SCHEDLAB_CUDNN_FIND)
#undef SCHEDLAB_CUDNN_FIND
  return functions;
}

}  // namespace

const CudnnLibrary& cudnn() {
  static const CudnnLibrary library = load();
  return library;
}

}  // namespace schedlab::detail
