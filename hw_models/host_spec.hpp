// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "hw_models/machine_spec.hpp"

#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace schedlab {

/// What an operator costs the host in all, its launch included, according to publications: of the
/// cheapest and of the dearest code of the kind, host threads and versions of the framework as they
/// come.
struct OperatorCostRange {
  double min_us = 0;
  double max_us = 0;
  std::string text;  ///< where both come from, and what was measured
};

/// What a framework costs the host of any machine: numbers of the section "host" of machine files,
/// each with its origin, under a name that a scenario may give ({"base": "h200", "host":
/// "pytorch_eager"}).
struct HostSpec {
  std::string name;
  std::string description;
  std::vector<NumberSource> numbers;  ///< pointers as in a machine file: "/host/front_end_us"
  std::optional<OperatorCostRange> operator_cost;  ///< nullopt: it is not published
};

/// "own", which changes nothing, and the host files that the library carries.
[[nodiscard]] const std::vector<std::string>& host_names();
/// One that the library carries; ContractViolation for any other name.
[[nodiscard]] const HostSpec& host_spec(std::string_view name);

/// Gives the machine's host the numbers that the host file has; the others stay. "own": all stay.
void apply_host(MachineSpec& machine, std::string_view name);

/// The host file whose numbers the machine has, every one unchanged; nullptr if there is none.
[[nodiscard]] const HostSpec* host_in_use(const MachineSpec& machine);

/// The same host if an operator costs `operator_us` in all, its launch included: all stages before
/// the launch become longer or shorter by one factor.
[[nodiscard]] Host with_operator_cost(Host host, double operator_us);

}  // namespace schedlab
