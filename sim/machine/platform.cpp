// SPDX-License-Identifier: Apache-2.0
#include "sim/machine/platform.hpp"

namespace schedlab {

Platform ideal_platform(std::uint32_t levels) {
  Platform platform;
  platform.name = "ideal";
  platform.devices[DeviceId{0}].name = "ideal";
  platform.devices[DeviceId{0}].priority_levels = levels;
  return platform;
}

}  // namespace schedlab
