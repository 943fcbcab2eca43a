// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>

/// What the fake driver does wrong, and what it was asked for. The library has one, which both the
/// program under test and its test see.
struct FakeDriver {
  const char* failing_call = "";  ///< "clEnqueueNDRangeKernel"
  int failing_status = 0;
  int calls_before = 0;                ///< of that call, which still succeed
  int kernel_status = 0;               ///< what kernels end with; below 0: an error
  std::uint64_t kernel_offset_ns = 0;  ///< by how much clocks of kernels and of markers differ
  const char* extensions = "";
  bool available = true;

  int live_objects = 0;               ///< handles that were not given back
  std::uint64_t priorities_seen = 0;  ///< a bit for each queue priority that was asked for
};

/// The name of the function in the library that returns the one FakeDriver.
inline constexpr const char* fake_driver_symbol = "schedlab_fake_driver";
