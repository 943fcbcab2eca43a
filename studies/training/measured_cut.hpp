// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "real_exec/ranks/link_speed.hpp"
#include "studies/training/training_spec.hpp"

#include <cstdint>
#include <vector>

namespace schedlab {

/// Layers of each of so many stages as the spec wants them: its own, or cut so that the measured
/// times of layers, or memory, balance. Measures on this thread where times are asked for;
/// transfers are those of `link`. Throws InfeasibleError if a stage would need more than the spec's
/// memory limit.
[[nodiscard]] std::vector<std::int64_t> cut_layers(const TrainingSpec& spec,
                                                   std::uint32_t stages,
                                                   const LinkSpeed& link);

}  // namespace schedlab
