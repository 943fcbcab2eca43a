// SPDX-License-Identifier: Apache-2.0
#include "real_exec/executor/loaded_library.hpp"

#include "sim/base/error.hpp"

#include <dlfcn.h>
#include <fmt/format.h>

#include <utility>

namespace schedlab::detail {

LoadedLibrary::LoadedLibrary(std::string what, const std::vector<std::string>& files)
    : what_(std::move(what)) {
  std::string reason;
  for (const std::string& file : files) {
    handle_ = dlopen(file.c_str(), RTLD_NOW | RTLD_LOCAL);
    if (handle_ != nullptr) return;
    // NOLINTNEXTLINE(concurrency-mt-unsafe): the message is the calling thread's own in glibc
    if (reason.empty()) reason = dlerror();
  }
  throw DeviceError(
      fmt::format("{} cannot be loaded: {}\n  install it, or name its folder in LD_LIBRARY_PATH",
                  what_,
                  reason));
}

void* LoadedLibrary::address(const char* function) const {
  void* found = address_if_there(function);
  if (found == nullptr) throw DeviceError(fmt::format("{} has no function {}", what_, function));
  return found;
}

void* LoadedLibrary::address_if_there(const char* function) const {
  return dlsym(handle_, function);
}

}  // namespace schedlab::detail
