// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "sim/base/units.hpp"
#include "sim/graph/task_graph.hpp"
#include "sim/graph/transform.hpp"
#include "sim/launch/launch.hpp"
#include "sim/machine/platform.hpp"

#include <cstdint>
#include <string_view>

namespace schedlab {

/// Inputs that lie in the host's memory: each rank first copies them to its device, one after the
/// other, and then does what the graph says. Task t stays task t; copy i of rank r is task
/// tasks + r * count + i. A copy needs the one before, the rank's first tasks need the last.
///
/// Keeps the work of the graph and its tensors; adds `count` copies per rank, `bytes` in all, the
/// last one the larger by what does not divide. Cost O(tasks + edges + ranks * count).
class CopiedInputs final : public Transform {
 public:
  struct Options {
    std::uint32_t count = 1;  ///< > 0, of each rank
    Bytes bytes{};            ///< of each rank, all copies together
    Duration latency{0};      ///< fixed part of each copy ...
    Bandwidth link{};         ///< ... and what the rest takes, for cost models without rates
  };
  explicit CopiedInputs(Options options) : options_(options) {}

  [[nodiscard]] std::string_view name() const override { return "copied_inputs"; }
  /// Throws InfeasibleError if the tasks are more than can be numbered.
  [[nodiscard]] TaskGraph apply(const TaskGraph& graph) const override;

 private:
  Options options_;
};

/// The model with the tasks that copy its inputs before each run of it (sunk_copies()), as
/// `platform` copies them.
/// Throws InfeasibleError for bytes to copy on a machine without a link.
[[nodiscard]] TaskGraph with_sunk_copies(const TaskGraph& graph,
                                         const SinkRun& run,
                                         const Platform& platform);

}  // namespace schedlab
