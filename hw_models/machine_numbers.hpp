// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "sim/machine/platform.hpp"

#include <limits>
#include <string_view>
#include <vector>

namespace schedlab {

/// One number that a machine file may give: the reader, the JSON Schema and the overrides of a
/// sweep are all made from this list.
struct MachineNumber {
  std::string_view
      section;  ///< "host", "device" or an object in it, "device/sm_limits", ...; "network"
  std::string_view name;  ///< with its unit
  std::string_view doc;   ///< one sentence; what absence means, where it is not "none"
  void (*set)(Platform&, double);
  double minimum = 0;  ///< in the unit of the name, as the maximum; both are allowed
  double maximum = std::numeric_limits<double>::infinity();
  bool integer = false;
};

/// In the order of the documentation. Names are unique over both sections.
[[nodiscard]] const std::vector<MachineNumber>& machine_numbers();

}  // namespace schedlab
