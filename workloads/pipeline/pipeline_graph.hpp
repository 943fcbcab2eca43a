// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "sim/base/ids.hpp"
#include "sim/graph/task_graph.hpp"
#include "sim/pipeline/pipeline_work.hpp"
#include "sim/pipeline/stage_profile.hpp"

#include <cstdint>
#include <map>
#include <optional>
#include <vector>

namespace schedlab {

/// Operator level: the operations that the passes of each stage consist of, in their order, for one
/// micro-batch. Durations of a StageProfile are not used then.
struct StageOperators {
  struct Passes {
    std::vector<OperationId> forward;
    std::vector<OperationId> backward_data;
    std::vector<OperationId> backward_weight;
    std::vector<OperationId> update;
    /// Bytes of parameters that each of the operations of `forward` and `backward_data` reads that
    /// none before it has read.
    std::vector<Bytes> forward_parameters{};
    std::vector<Bytes> backward_parameters{};
  };
  IdVector<OperationId, Operation> operations;
  /// Operations of kind `collective`: what the ranks that share the stage do together.
  std::map<OperationId, CollectiveSpec> collectives{};
  std::vector<Passes> stages;
  /// The operations of the ranks that share a stage from the second on; empty: the same.
  std::vector<IdVector<OperationId, Operation>> other_operations{};
};

/// One iteration of training with a pipeline: a batch, its gradients, an update.
struct PipelineSpec {
  PipelineProfile profile;
  std::uint32_t virtual_stages = 1;  ///< stages that each rank has; divides their number
  /// Which rank has which; bidirectional: one virtual stage, an even number of stages, and two
  /// micro-batches at least.
  StagePlacement placement = StagePlacement::loop;
  std::uint32_t replicas = 1;  ///< data-parallel replicas, each a pipeline of its own
  /// Ranks that share each stage; profile and operators are one rank's part, all parts are alike.
  std::uint32_t tensor_parallel = 1;
  /// These ranks have samples of their own, and alike all but StageProfile::expert_parameters.
  bool expert_parallel = false;
  std::int64_t batch =
      1;  ///< samples of an iteration, shared by all replicas as equally as possible
  std::int64_t microbatches = 1;  ///< of each replica, as equal as possible
  /// Stage of ZeRO: replicas divide optimizer state (1), gradients (2) and parameters (3).
  std::uint32_t zero = 0;
  bool recompute = false;        ///< keep the input of a stage only; forward again in backward
  double compression_ratio = 1;  ///< activations and their gradients are sent so much smaller
  Bandwidth compression_rate{};  ///< at which they are (de)compressed, on either end; 0: at once
  /// Tasks of their own pack and unpack all that travels between ranks, for the costs of its link.
  bool packs = false;
  CollectiveAlgorithm algorithm = CollectiveAlgorithm::automatic;
  std::optional<StageOperators> operators{};  ///< micro-batches must be equal then
};

/// The graph of one iteration, tagged as sim/pipeline/pipeline_work.hpp says. Stage k of replica g
/// is on the T = tensor_parallel ranks from (g R + p) T on, R = stages / virtual stages, p its
/// place: k mod R with `loop`, so that with several virtual stages each rank has every R-th stage
/// (Narayanan et al., SC 2021, doi 10.1145/3458817.3476209). Each of them receives what it needs
/// from the one like it, whole.
///
/// Each replica works on its samples in micro-batches; weight gradients are added up over them,
/// then summed over the replicas, those of tied parameters also over their stages, then each stage
/// updates its parameters.
///
/// What a stage holds: parameters and optimizer state all the time; kept activations from forward
/// to the last backward pass; what it sends until the pass that reads it ends. Received activations
/// are part of what the stage keeps; buffers of messages are not counted.
///
/// ZeRO (Rajbhandari et al., arXiv 1910.02054), P bytes of parameters among n replicas: stage 1
/// reduce-scatters P bytes of gradients once, updates 1/n of the parameters and gathers all; stage
/// 2 reduce-scatters them after each micro-batch, so that only 1/n is kept; stage 3 (FSDP) keeps
/// 1/n of the parameters and gathers them before each forward pass and each backward_data,
/// operation by operation where there are operators, and does not after the update.
///
/// Throws InfeasibleError if there are fewer samples than micro-batches, ZeRO with tied parameters,
/// experts or two directions, or unequal micro-batches
/// at operator level; ContractViolation for an invalid profile or virtual stages that do not divide
/// the stages. Cost O(tasks).
[[nodiscard]] TaskGraph pipeline_graph(const PipelineSpec& spec);

}  // namespace schedlab
