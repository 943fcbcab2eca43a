// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "sim/base/options.hpp"
#include "sim/graph/task_graph.hpp"

#include <functional>
#include <map>
#include <string>
#include <string_view>
#include <vector>

namespace schedlab {

/// A workload that a spec may name as its "kind".
struct WorkloadInfo {
  std::string name;
  std::string summary;  ///< one sentence
  std::vector<OptionSpec> options;
  std::function<TaskGraph(const Options&)> make;
};

/// All workloads, in the order of the reference pages.
[[nodiscard]] const std::vector<WorkloadInfo>& workloads();

/// Throws InputError for an unknown name or option, with the closest spelling, and what `make`
/// throws.
[[nodiscard]] TaskGraph make_workload(std::string_view name,
                                      const std::map<std::string, OptionValue>& given = {});

}  // namespace schedlab
