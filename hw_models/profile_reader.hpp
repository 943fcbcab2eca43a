// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "hw_models/machine_reader.hpp"
#include "sim/machine/kernel_profile.hpp"

#include <memory>

namespace schedlab {

/// The section "profile" of a machine file, with the libraries that were read before; nullptr if
/// there is neither. Its numbers share one origin and are not among MachineReader::sources().
[[nodiscard]] std::shared_ptr<const KernelProfile> read_profile(MachineReader& reader,
                                                                KernelProfile fitted);

}  // namespace schedlab
