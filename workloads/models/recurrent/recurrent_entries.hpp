// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "sim/base/options.hpp"
#include "workloads/models/recurrent/recurrent.hpp"

#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace schedlab {

/// What the workloads `lstm` and `gru` make with these options, their granularity decided; nullopt
/// for other workloads. Whoever computes the tasks needs it besides the graph.
[[nodiscard]] std::optional<RecurrentSpec> recurrent_spec(std::string_view workload,
                                                          const Options& options);

/// The workload's name and the options that say which network it is: sizes, pass, data type, cell
/// and directions, not how it is cut into tasks. The way back of recurrent_spec().
struct RecurrentNames {
  std::string workload;
  std::vector<std::pair<std::string, OptionValue>> options;
};
[[nodiscard]] RecurrentNames network_names(const RecurrentSpec& spec);

}  // namespace schedlab
