// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "sim/base/units.hpp"

#include <filesystem>

namespace schedlab {

/// Caches as the system names them; 0 where it names none.
struct SystemCaches {
  Bytes last{};  ///< of the highest level
  Bytes unit{};  ///< of the level below it: a core's own
};

/// The data and unified caches of core 0.
/// `folder`: as /sys/devices/system/cpu/cpu0/cache, with a folder index0, index1, ... for each
/// cache and in it files `level`, `type` and `size` ("32768K"). Source: Linux,
/// Documentation/ABI/testing/sysfs-devices-system-cpu.
[[nodiscard]] SystemCaches system_caches(
    const std::filesystem::path& folder = "/sys/devices/system/cpu/cpu0/cache");

}  // namespace schedlab
