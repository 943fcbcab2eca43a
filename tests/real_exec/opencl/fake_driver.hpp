// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <string>
#include <vector>

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
  std::uint64_t queues_out_of_order = 0;  ///< CL_QUEUE_OUT_OF_ORDER_EXEC_MODE_ENABLE, or 0
  std::uint64_t command_buffers = 0;      ///< their capabilities
  std::uint32_t max_groups = 0;           ///< sub-devices

  int live_objects = 0;                      ///< handles that were not given back
  std::vector<std::uint32_t> sync_points{};  ///< that each recorded kernel waits for, how many
  int buffers_launched = 0;
  std::vector<std::uint32_t> queues_of_group{};  ///< by sub-device
  std::uint64_t priorities_seen = 0;  ///< a bit for each queue priority that was asked for
  std::uint64_t throttles_seen = 0;   ///< likewise

  // The same library is a fake of CLBlast, whose products only take time.
  using Parameters = std::map<std::string, std::size_t>;
  std::map<std::string, Parameters> parameters{{"XgemmDirect", {{"WGD", 16}}},
                                               {"Xgemm", {{"MWG", 16}, {"SA", 0}}},
                                               {"GemmRoutine", {{"XGEMM_MIN_INDIRECT_SIZE", 100}}}};
  std::size_t fast_tile = 32;   ///< WGD with which products take no time
  std::size_t wrong_tile = 64;  ///< WGD with which they are wrong
  float product = 0;            ///< what reads find; set by products
};

/// The name of the function in the library that returns the one FakeDriver.
inline constexpr const char* fake_driver_symbol = "schedlab_fake_driver";
