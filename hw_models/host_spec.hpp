// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "hw_models/machine_spec.hpp"

#include <string>
#include <string_view>
#include <vector>

namespace schedlab {

/// What a framework costs the host of any machine: numbers of the section "host" of machine files,
/// each with its origin, under a name that a scenario may give ({"base": "h200", "host":
/// "pytorch_eager"}).
struct HostSpec {
  std::string name;
  std::string description;
  std::vector<NumberSource> numbers;  ///< pointers as in a machine file: "/host/front_end_us"
};

/// "own", which changes nothing, and the host files that the library carries.
[[nodiscard]] const std::vector<std::string>& host_names();
/// One that the library carries; ContractViolation for any other name.
[[nodiscard]] HostSpec host_spec(std::string_view name);

/// Gives the machine's host the numbers that the host file has; the others stay. "own": all stay.
void apply_host(MachineSpec& machine, std::string_view name);

}  // namespace schedlab
