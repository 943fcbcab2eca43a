// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "sim/base/units.hpp"

#include <filesystem>

namespace schedlab {

/// The cache of the highest level that the system names for core 0; 0 where it names none.
/// `folder`: as /sys/devices/system/cpu/cpu0/cache, with a folder index0, index1, ... for each
/// cache and in it files `level`, `type` and `size` ("32768K"). Source: Linux,
/// Documentation/ABI/testing/sysfs-devices-system-cpu.
[[nodiscard]] Bytes last_level_cache(
    const std::filesystem::path& folder = "/sys/devices/system/cpu/cpu0/cache");

}  // namespace schedlab
