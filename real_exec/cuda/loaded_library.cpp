// SPDX-License-Identifier: Apache-2.0
#include "real_exec/cuda/loaded_library.hpp"

#include "sim/base/error.hpp"

#include <dlfcn.h>
#include <fmt/format.h>

#include <utility>

namespace schedlab::detail {

LoadedLibrary::LoadedLibrary(std::string what, const std::string& file)
    : what_(std::move(what)), handle_(dlopen(file.c_str(), RTLD_NOW | RTLD_LOCAL)) {
  if (handle_ != nullptr) return;
  // NOLINTNEXTLINE(concurrency-mt-unsafe): the message is the calling thread's own in glibc
  const std::string reason = dlerror();
  handle_ = dlopen((SCHEDLAB_CUDA_LIBRARY_DIR "/" + file).c_str(), RTLD_NOW | RTLD_LOCAL);
  if (handle_ != nullptr) return;
  throw DeviceError(
      fmt::format("{} cannot be loaded: {}\n  install it, or name its folder in LD_LIBRARY_PATH",
                  what_,
                  reason));
}

void* LoadedLibrary::address(const char* name) const {
  void* found = dlsym(handle_, name);
  if (found == nullptr) throw DeviceError(fmt::format("{} has no function {}", what_, name));
  return found;
}

}  // namespace schedlab::detail
