// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "sim/base/interrupt.hpp"
#include "sim/base/units.hpp"
#include "sim/machine/cost_evidence.hpp"
#include "sim/plan/policy.hpp"
#include "sim/sweep/table.hpp"
#include "workloads/traces/imported_trace.hpp"

#include <cstdint>
#include <filesystem>
#include <optional>
#include <string>
#include <vector>

namespace schedlab {

/// What one operation of a shape costs a device, for a scheduler that has to know.
struct OperationCost {
  std::string operation;
  std::string kind;   ///< of a graph's task, or "operator" or "kernel" of a profile
  std::string shape;  ///< of its kernels, or of an operator's inputs; of a kernel its grid
  std::string type;   ///< of data
  std::uint32_t count = 0;
  Duration cost{0};  ///< alone on the device; of a profile the median, beside what ran beside it
  std::optional<CostEvidence> evidence;  ///< nullopt: the graph's file gives the duration
};

/// One row per operation of a problem, in the order of the graph, by name, shape and type.
[[nodiscard]] std::vector<OperationCost> operation_costs(const Problem& problem);
/// One row per operator and shapes of its inputs (all kernels that one call launched, added up), by
/// name and shapes; then one per kernel and grid of those that no operator launched. Nodes that
/// were not recorded do not count.
[[nodiscard]] std::vector<OperationCost> operation_costs(const ImportedTrace& trace);

/// The costs of a profile, of the run of a folder of `simulate`, or of a spec of one scenario.
/// Throws InputError; what making the scenario throws.
[[nodiscard]] std::vector<OperationCost> load_operation_costs(const std::filesystem::path& input,
                                                              const StopFlag* stop);

/// costs.csv
[[nodiscard]] Table costs_table(const std::vector<OperationCost>& costs);
/// The text form of XLA's ProfiledInstructionsProto (`costs { name: "dot.1" cost_us: 12.5 }`),
/// which its latency-hiding scheduler reads; one for each name, of several shapes the mean by
/// count. Evidence is in comments.
[[nodiscard]] std::string xla_costs(const std::vector<OperationCost>& costs);

}  // namespace schedlab
