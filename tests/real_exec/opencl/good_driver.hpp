// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "tests/real_exec/opencl/fake_driver.hpp"

#include <dlfcn.h>
#include <doctest/doctest.h>

#include <string>

/// The fake driver in this file, as on a good day.
inline FakeDriver& good_fake_driver(const std::string& library) {
  void* const handle = dlopen(library.c_str(), RTLD_NOW | RTLD_LOCAL);
  REQUIRE(handle != nullptr);
  // POSIX's own way from an object pointer to a function.
  const auto get = reinterpret_cast<FakeDriver* (*)()>(dlsym(handle, fake_driver_symbol));
  REQUIRE(static_cast<bool>(get));
  *get() = FakeDriver{};
  return *get();
}
