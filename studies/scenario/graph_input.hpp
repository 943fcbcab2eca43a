// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "hw_models/machine_spec.hpp"
#include "sim/graph/task_graph.hpp"
#include "sim/machine/cost_model.hpp"

#include <string>

namespace schedlab {

/// A graph with the machine and costs it is looked at with.
struct GraphInput {
  std::string title;
  TaskGraph graph;
  MachineSpec machine;
  CostTable costs;
};

/// A graph file (read_graph_file), or a spec with one workload. A
/// spec's own machine and cost model count where it names exactly one; otherwise `machine`. Throws
/// InputError.
[[nodiscard]] GraphInput load_graph_input(const std::string& path, const std::string& machine);

}  // namespace schedlab
