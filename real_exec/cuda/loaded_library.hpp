// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <string_view>

namespace schedlab::detail {

/// A shared library of the CUDA toolkit that is opened by name while the program runs, and stays
/// open: what it holds in the device's context may go later than anything here.
class LoadedLibrary {
 public:
  /// Opens the major version that this program was built for, as the loader finds it, else in the
  /// toolkit's folder at the time of the build. `what`: the name people know, for messages; `name`:
  /// of lib<name>.so. Throws DeviceError.
  LoadedLibrary(std::string what, std::string_view name, int major_version);

  /// Throws DeviceError if there is no such function.
  template <class Function>
  void find(Function*& function, const char* name) const {
    // POSIX's own way from an object pointer to a function.
    function = reinterpret_cast<Function*>(address(name));  // NOLINT(*-reinterpret-cast)
  }

 private:
  [[nodiscard]] void* address(const char* function) const;

  std::string what_;
  void* handle_ = nullptr;
};

}  // namespace schedlab::detail
