// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "sim/base/options.hpp"
#include "sim/machine/variability.hpp"

#include <cstdint>
#include <vector>

namespace schedlab {

/// The part `variability` of a spec: how the machine scatters, and how often it is drawn.
struct Sampling {
  Variability variability;
  std::uint64_t samples = 0;
};

[[nodiscard]] const std::vector<OptionSpec>& variability_options();

/// Complete options, as from resolve_options(). Throws InputError (pointer "/NAME") for values that
/// do not go together.
[[nodiscard]] Sampling make_sampling(const Options& options);

}  // namespace schedlab
