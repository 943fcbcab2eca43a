// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>

namespace schedlab::detail {

/// A shared library of the CUDA toolkit that is opened by name while the program runs, and stays
/// open: what it holds in the device's context may go later than anything here.
class LoadedLibrary {
 public:
  /// As the loader finds it, else in the toolkit's folder at the time of the build. `what`: the
  /// name people know, for messages. Throws DeviceError.
  LoadedLibrary(std::string what, const std::string& file);

  /// Throws DeviceError if there is no such function.
  template <class Function>
  void find(Function*& function, const char* name) const {
    // POSIX's own way from an object pointer to a function.
    function = reinterpret_cast<Function*>(address(name));  // NOLINT(*-reinterpret-cast)
  }

 private:
  [[nodiscard]] void* address(const char* name) const;

  std::string what_;
  void* handle_ = nullptr;
};

}  // namespace schedlab::detail
