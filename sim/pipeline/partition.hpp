// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "sim/base/enum_names.hpp"
#include "sim/base/ids.hpp"
#include "sim/base/units.hpp"
#include "sim/pipeline/layer_graph.hpp"

#include <cstdint>
#include <string>
#include <vector>

namespace schedlab {

/// Which microbatches a stage holds the kept activations of at once.
enum class InFlight : std::uint8_t {
  none,         ///< forward only
  one,          ///< one microbatch is through before the next starts
  all,          ///< all of a batch, as when every forward pass comes before any backward pass
  later_stages  ///< as many as there are accelerators from this stage to the last one (1F1B)
};
template <>
struct EnumNames<InFlight> {
  static constexpr auto names = name_list("none", "one", "all", "later_stages");
};

/// What decides the load and the memory of a stage (docs/pipeline_partition.md).
struct StageRules {
  bool training = true;           ///< forward and both gradients; else forward only
  Bandwidth bandwidth{};          ///< of the link between two stages; 0: transfers take no time
  Duration latency{0};            ///< of each transfer
  bool overlapped = false;        ///< computing, transfers and synchronisation side by side
  std::int64_t microbatches = 1;  ///< of a batch; a batch is synchronised once
  InFlight in_flight = InFlight::later_stages;
  /// Bytes of weights, gradients and optimizer state per byte of parameters.
  double parameter_copies = 3;  // assumed: weight, gradient, momentum
};

/// One stage: some layers, on one accelerator or on several that take turns with microbatches.
struct PartitionStage {
  std::vector<LayerId> layers{};  ///< in the order of the model
  std::uint32_t replicas = 1;
  Duration compute{0};          ///< all its layers, one microbatch
  Duration receive{0};          ///< what it reads from other stages, each output once
  Duration send{0};             ///< its own outputs that other stages read, each once
  Duration synchronization{0};  ///< of its replicas' gradients, once per batch
  Duration load{0};             ///< time per microbatch in the steady state
  Bytes received{};             ///< of what it reads from other stages, one microbatch
  Bytes parameters{};           ///< each shared parameter once
  Bytes memory{};               ///< of one replica: parameters and what the backward pass needs

  friend bool operator==(const PartitionStage&, const PartitionStage&) = default;
};

/// Which layer is on which stage. Edges between stages go from lower to higher numbers.
struct Partition {
  std::vector<PartitionStage> stages{};
  IdVector<LayerId, std::uint32_t> stage_of{};
  std::uint32_t bottleneck = 0;  ///< the (first) stage with the highest load

  [[nodiscard]] Duration load() const { return stages[bottleneck].load; }
  [[nodiscard]] std::uint32_t accelerators() const;
  [[nodiscard]] Bytes largest_memory() const;
  friend bool operator==(const Partition&, const Partition&) = default;
};

/// Time to move one output of `layer` between stages, both ways in training. InfeasibleError naming
/// the layer if the link needs more than 1000 s.
[[nodiscard]] Duration transfer_time(const Layer& layer, const StageRules& rules);
/// Ring all-reduce of `parameters` among `replicas`, 2 (r - 1) / r of the bytes over the link and
/// 2 (r - 1) latencies. InfeasibleError if that is more than 1000 s.
[[nodiscard]] Duration synchronization_time(Bytes parameters,
                                            std::uint32_t replicas,
                                            const StageRules& rules);
/// Microbatches whose activations one of a stage's `replicas` holds, the later stages having
/// `later` accelerators.
[[nodiscard]] std::int64_t microbatches_held(std::uint32_t later,
                                             std::uint32_t replicas,
                                             const StageRules& rules);

/// Bytes of one replica: parameters as often as the rules say, and `kept` bytes of each microbatch
/// that it holds: what its layers keep and what it received.
[[nodiscard]] Bytes stage_memory(Bytes parameters,
                                 Bytes kept,
                                 std::uint32_t later,
                                 std::uint32_t replicas,
                                 const StageRules& rules);

/// Time per microbatch of a stage whose parts are known.
///
///   added        (compute + receive + send) / replicas + synchronization / microbatches
///   overlapped   the largest of compute / replicas, (receive + send) / replicas and
///                synchronization / microbatches
///
/// Divisions round up to 1 ps.
[[nodiscard]] Duration stage_load(const PartitionStage& stage, const StageRules& rules);

/// Works out a partition from the stage of every layer, 0 to the highest, none empty. Stages are
/// renumbered where an edge would go down, and keep their order otherwise.
///
/// `replicas`  of each stage as numbered in `stage_of`; empty: one each.
/// Errors      InfeasibleError if the stages do not form a DAG, naming the layers of a cycle, or
///             if one is empty. ContractViolation if a list has the wrong length.
/// Cost        O((layers + edges) log).
[[nodiscard]] Partition make_partition(const LayerGraph& graph,
                                       const IdVector<LayerId, LayerTimes>& times,
                                       const IdVector<LayerId, std::uint32_t>& stage_of,
                                       const std::vector<std::uint32_t>& replicas,
                                       const StageRules& rules);

/// The first `layers_per_stage[0]` layers of the model, the next `layers_per_stage[1]`, ...
/// Errors   InfeasibleError unless they add up to the number of layers, each at least 1.
[[nodiscard]] IdVector<LayerId, std::uint32_t> consecutive_stages(
    const LayerGraph& graph, const std::vector<std::int64_t>& layers_per_stage);

/// Words of shared parameters whose layers are on several stages, with those stages: each has a
/// copy, whose gradients are summed at the end of the backward pass.
struct TiedStages {
  std::string tied{};
  std::vector<std::uint32_t> stages{};
  Bytes parameters{};

  friend bool operator==(const TiedStages&, const TiedStages&) = default;
};
[[nodiscard]] std::vector<TiedStages> tied_stages(const LayerGraph& graph,
                                                  const Partition& partition);

}  // namespace schedlab
