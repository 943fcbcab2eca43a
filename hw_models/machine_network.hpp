// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "hw_models/machine_numbers.hpp"

#include <vector>

namespace schedlab {

/// The numbers of section "network", in the order of the documentation. "topology", a word, is not
/// among them.
[[nodiscard]] std::vector<MachineNumber> network_numbers();

}  // namespace schedlab
