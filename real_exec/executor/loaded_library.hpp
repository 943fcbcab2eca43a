// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace schedlab::detail {

/// A shared library that is opened by name while the program runs, so that the program starts
/// without it. It stays open: what it holds of a device may go later than anything here.
class LoadedLibrary {
 public:
  /// Opens the first of `files` that the loader finds. `what`: the name people know, for messages.
  /// Throws DeviceError with the loader's reason for the first of them.
  LoadedLibrary(std::string what, const std::vector<std::string>& files);

  /// Throws DeviceError if there is no such function.
  template <class Function>
  void find(Function*& function, const char* name) const {
    // POSIX's own way from an object pointer to a function.
    function = reinterpret_cast<Function*>(address(name));  // NOLINT(*-reinterpret-cast)
  }

  /// nullptr if there is no such function.
  template <class Function>
  void find_if_there(Function*& function, const char* name) const {
    function = reinterpret_cast<Function*>(address_if_there(name));  // NOLINT(*-reinterpret-cast)
  }

 private:
  [[nodiscard]] void* address_if_there(const char* function) const;
  [[nodiscard]] void* address(const char* function) const;

  std::string what_;
  void* handle_ = nullptr;
};

}  // namespace schedlab::detail
