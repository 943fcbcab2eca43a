// SPDX-License-Identifier: Apache-2.0
#include "real_exec/cuda/blas_library.hpp"

#include "sim/base/error.hpp"

#include <dlfcn.h>
#include <fmt/format.h>

#include <string>

namespace schedlab::detail {
namespace {

/// By its name, as the loader finds it, else where the toolkit of the build has it.
void* open_blas(const std::string& name) {
  void* library = dlopen(name.c_str(), RTLD_NOW | RTLD_LOCAL);
  if (library != nullptr) return library;
  // NOLINTNEXTLINE(concurrency-mt-unsafe): the message is the calling thread's own in glibc
  const std::string first_reason = dlerror();
  const std::string path = std::string(SCHEDLAB_CUDA_LIBRARY_DIR) + "/" + name;
  library = dlopen(path.c_str(), RTLD_NOW | RTLD_LOCAL);
  if (library != nullptr) return library;
  throw DeviceError(fmt::format(
      "cuBLAS cannot be loaded: {}\n  install the CUDA libraries of version {} or name their "
      "folder in LD_LIBRARY_PATH",
      first_reason,
      CUBLAS_VER_MAJOR));
}

template <class Function>
void find(void* library, Function& function, const char* name) {
  void* const found = dlsym(library, name);
  if (found == nullptr) throw DeviceError(fmt::format("cuBLAS has no function {}", name));
  // POSIX's own way from an object pointer to a function.
  function = reinterpret_cast<Function>(found);  // NOLINT(*-reinterpret-cast): see above
}

}  // namespace

BlasLibrary::BlasLibrary() : library_(open_blas(fmt::format("libcublas.so.{}", CUBLAS_VER_MAJOR))) {
  find(library_, create, "cublasCreate_v2");
  find(library_, destroy, "cublasDestroy_v2");
  find(library_, set_stream, "cublasSetStream_v2");
  find(library_, set_workspace, "cublasSetWorkspace_v2");
  find(library_, status_string, "cublasGetStatusString");
  find(library_, gemm, "cublasGemmEx");
  find(library_, batched_gemm, "cublasGemmStridedBatchedEx");
}

void BlasLibrary::check(cublasStatus_t status, const char* call) const {
  if (status == CUBLAS_STATUS_SUCCESS) [[likely]]
    return;
  throw DeviceError(fmt::format("{}: {}", call, status_string(status)));
}

}  // namespace schedlab::detail
