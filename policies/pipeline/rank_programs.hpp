// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "policies/pipeline/step_order.hpp"
#include "sim/plan/policy.hpp"

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace schedlab {

/// How the host programs of a pipeline move activations and gradients.
enum class PipelineTransfers : std::uint8_t {
  overlapped,  ///< isend; irecv one step ahead; the bytes move while the rank computes
  one_sided,   ///< isend into memory of the receiver, who waits where data are needed
  blocking,    ///< send and receive, each where its data is made or needed; at once where two
               ///< ranks send to each other, which would be stuck otherwise
};

/// When a stage's gradients are summed over the data-parallel replicas. Those of tied parameters
/// are always summed after the rank's last pass.
enum class GradientSums : std::uint8_t {
  overlapped,      ///< as soon as they are there, beside other passes
  after_passes,    ///< after the rank's last pass
  before_sending,  ///< as soon as they are there; the rank waits for the sum before it sends the
                   ///< gradient of its input on
};

/// How steps that overlap share their rank's device.
enum class StepOverlap : std::uint8_t {
  in_turn,      ///< one after the other, their collectives too
  interleaved,  ///< task by task as interleave() says; collectives have a stream of their own, of
                ///< a higher priority, beside what other steps compute; without collectives
                ///< messages of one step travel while the next computes
};

struct RankProgramOptions {
  GradientSums sums = GradientSums::overlapped;
  PipelineTransfers transfers = PipelineTransfers::overlapped;
  /// Of parameters that replicas have in parts: so many more are gathered than those in use.
  std::size_t prefetch = 1;
  StepOverlap overlap = StepOverlap::in_turn;
};

/// The shape of a graph whose tasks are tagged as sim/pipeline/pipeline_work.hpp says. Throws
/// InfeasibleError naming `policy` if it is none.
[[nodiscard]] PipelineShape pipeline_shape(const TaskGraph& graph, const std::string& policy);

/// One host program per rank: the tasks of its steps in their order on one stream, the parts of
/// collectives on another, gathered parameters on a third, then the updates. Collectives of passes
/// are on the first, or where steps interleave on a fourth. The host waits for a
/// message before the first task that needs it, and for the stream before it sends. Message i is
/// rank_messages(graph)[i].
///
/// Throws InfeasibleError as pipeline_shape(); ContractViolation if `order` leaves out a pass.
/// Cost O(tasks log messages + edges).
[[nodiscard]] Plan rank_programs(const Problem& problem,
                                 const std::string& policy,
                                 const StepOrderOf& order,
                                 const RankProgramOptions& options);

/// The steps of each place as its first rank launches them, backward passes cut in two. nullopt:
/// not one host a rank that launches every pass. Throws InfeasibleError as pipeline_shape().
[[nodiscard]] std::optional<std::vector<StepOrder>> step_orders(const TaskGraph& graph,
                                                                const Plan& plan,
                                                                const std::string& policy);

/// The same as PyTorch runs them: both backward passes are one step where the gradient leaves
/// behind both, and a step overlaps with the next where what it makes leaves behind that.
[[nodiscard]] std::optional<std::vector<StepOrder>> joined_step_orders(const TaskGraph& graph,
                                                                       const Plan& plan,
                                                                       const std::string& policy);

}  // namespace schedlab
