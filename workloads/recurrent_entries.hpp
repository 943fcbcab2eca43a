// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "sim/base/options.hpp"
#include "workloads/recurrent.hpp"

#include <optional>
#include <string_view>

namespace schedlab {

/// What the workloads `lstm` and `gru` make with these options, their granularity decided; nullopt
/// for other workloads. Whoever computes the tasks needs it besides the graph.
[[nodiscard]] std::optional<RecurrentSpec> recurrent_spec(std::string_view workload,
                                                          const Options& options);

}  // namespace schedlab
