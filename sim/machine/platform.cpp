// SPDX-License-Identifier: Apache-2.0
#include "sim/machine/platform.hpp"

#include <fmt/format.h>

namespace schedlab {

std::string Platform::device_name(DeviceId id) const {
  return ranks > 1 ? fmt::format("rank {}", id.value()) : device(id).name;
}

Platform ideal_platform(std::uint32_t levels) {
  Platform platform;
  platform.name = "ideal";
  platform.devices[DeviceId{0}].name = "ideal";
  platform.devices[DeviceId{0}].priority_levels = levels;
  return platform;
}

}  // namespace schedlab
