// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "hw_models/machine_spec.hpp"
#include "sim/machine/network.hpp"

#include <string>
#include <string_view>
#include <vector>

namespace schedlab {

/// How devices are connected inside a node and nodes with each other: numbers of the section
/// "network" of machine files, each with its origin, under a name that a scenario may give
/// ({"base": "h100", "node": "dgx_h100"}). What collectives cost beyond links stays the machine's.
struct NodeSpec {
  std::string name;
  std::string description;
  Topology topology = Topology::none;
  std::vector<NumberSource> numbers;  ///< pointers as in a machine file: "/network/nics_per_node"
};

/// "own", which changes nothing, and the node files that the library carries.
[[nodiscard]] const std::vector<std::string>& node_names();
/// One that the library carries; ContractViolation for any other name.
[[nodiscard]] const NodeSpec& node_spec(std::string_view name);

/// Gives the machine's network the topology and the numbers of the node file; the others stay.
/// "own": all stay.
void apply_node(MachineSpec& machine, std::string_view name);

}  // namespace schedlab
