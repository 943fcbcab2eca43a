// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "studies/execution/execution_device.hpp"

#include <cstdint>
#include <optional>

namespace schedlab {

/// The CUDA devices of this computer, through CudaExecutor. Spaces must not be prepared for
/// workers: graphs keep the grids that they have.
[[nodiscard]] DeviceKind cuda_kind();

/// Hardware connections that the machines of a spec have, for a process that runs its scenarios;
/// nullopt: more or other than CUDA can give, then as the environment says. Throws InputError if
/// the machines differ: one process has one number.
[[nodiscard]] std::optional<std::uint32_t> cuda_connections(const ScenarioSpace& space);

}  // namespace schedlab
