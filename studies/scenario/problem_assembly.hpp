// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "hw_models/machine_spec.hpp"
#include "sim/graph/task_graph.hpp"
#include "sim/launch/launch.hpp"
#include "sim/machine/cost_model.hpp"
#include "studies/scenario/prepared_problem.hpp"
#include "studies/spec/ranks.hpp"
#include "workloads/transforms/tensor_parallel.hpp"

#include <cstdint>
#include <memory>
#include <optional>

namespace schedlab {

/// What a problem is assembled of: the parts of a scenario that decide what runs.
struct ProblemParts {
  std::shared_ptr<const TaskGraph> graph;  ///< the workload on one device
  /// With what the launch mode changes about its host (apply_launch_mode).
  std::shared_ptr<const MachineSpec> machine;
  std::shared_ptr<const CostModel> costs;
  LaunchChoice launch;
  RanksChoice ranks;
  std::optional<TensorParallel::Options> tensor_parallel;  ///< the workload is one rank's part
  std::uint32_t workers = 0;  ///< of this computer, which also execute it; 0: only simulated
  bool preloaded = false;     ///< the host's calls cost nothing
};

/// The problem: the graph cut into blocks where the machine says how, divided among ranks, with
/// copies of inputs and repeated as it is launched, and the costs of all that.
/// Throws InfeasibleError for parts that exclude each other, and what costs and transforms throw.
[[nodiscard]] PreparedProblem assemble_problem(const ProblemParts& parts);

}  // namespace schedlab
