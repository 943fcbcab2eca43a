// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "sim/base/enum_names.hpp"
#include "sim/base/units.hpp"
#include "sim/pipeline/layer_graph.hpp"
#include "sim/pipeline/partition.hpp"

#include <cstddef>
#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace schedlab {

/// What is made small first. The other one is made small next, without giving up of the first more
/// than PartitionRequest::load_slack says.
enum class PartitionObjective : std::uint8_t {
  load,   ///< of the bottleneck stage
  memory  ///< of the stage that needs most
};
template <>
struct EnumNames<PartitionObjective> {
  static constexpr auto names = name_list("load", "memory");
};

/// A cut that is to be found.
struct PartitionRequest {
  std::uint32_t accelerators = 1;
  bool use_all = false;            ///< else as many of them as make the objective smallest
  std::uint32_t min_replicas = 1;  ///< of one stage
  std::uint32_t max_replicas = 1;  ///< of one stage, not below min_replicas
  StageRules rules{};
  Bytes memory_limit{};  ///< of one accelerator; 0: none
  PartitionObjective objective = PartitionObjective::load;
  /// Objective memory: the bottleneck's load may be so many times the smallest possible, plus one.
  double load_slack = 0.1;
  bool tied_together = false;  ///< layers that share parameters go on one stage
  /// Layers that take no time go with the only layer they read: fewer cuts to try, now and then
  /// much worse ones. nullopt: where no load is lost by it; if not all cuts could be tried then,
  /// all such layers a second time, and the better result is taken.
  std::optional<bool> merge_untimed{};
  std::vector<std::vector<LayerId>> together{};  ///< layers that have to share a stage
  std::size_t max_down_sets = 40000;             ///< more than that are not all tried
};

enum class PartitionMethod : std::uint8_t {
  given,      ///< by the user
  exact,      ///< the best of all legal cuts
  some_cuts,  ///< the best of the cuts between some of the down-sets
  greedy,     ///< stages filled one after another in one order of the layers
};
template <>
struct EnumNames<PartitionMethod> {
  static constexpr auto names = name_list("given", "exact", "some_cuts", "greedy");
};

struct PartitionResult {
  Partition partition{};
  PartitionMethod method = PartitionMethod::given;
  std::size_t groups = 0;          ///< of layers that stay together
  std::size_t down_sets = 0;       ///< that were tried
  std::uint64_t stages_tried = 0;  ///< whose costs were worked out: the work of the search
  /// No partition has a lower load: the work's average over accelerators, or a group's work with,
  /// of each thing it reads or that reads it, the cheaper of its transfer and its work.
  Duration lower_bound{0};
};

/// Told now and then how much of a search is done, 0 to 1. May throw to stop it.
using PartitionProgress = std::function<void(double share)>;

/// Finds the stages of a model.
///
/// A cut is legal if no stage waits, directly or not, for itself; so the layers up to a cut are a
/// down-set of the graph whose strongly connected layers are one. An exact dynamic programme goes
/// through all pairs of down-sets, from the last stage to the first. If there are more down-sets
/// than the request allows, those are tried that are prefixes of some orders of the layers, their
/// unions and intersections; if even their table would be too large, stages are filled greedily,
/// and the bound that they fill is bisected. Of the pairs of down-sets only such are looked at
/// between which a stage may lie if all others are as fast as a quick search found. Deterministic.
///
/// Errors   InfeasibleError if no legal partition keeps the memory limit (says what the best one
///          would need), or uses all accelerators.
/// Cost     O(down-sets^2 (words + accelerators * replicas)) at worst, 16 bytes per down-set and
///          accelerator; of a chain of like layers n log n, because few pairs are left.
/// Source   Tarnawski et al., Efficient Algorithms for Device Placement of DNN Graph Operators,
///          NeurIPS 2020, arXiv 2006.16423 (down-sets); Narayanan et al., PipeDream, SOSP 2019,
///          doi 10.1145/3341301.3359646 (replicas).
[[nodiscard]] PartitionResult partition_layers(const LayerGraph& graph,
                                               const IdVector<LayerId, LayerTimes>& times,
                                               const PartitionRequest& request,
                                               const PartitionProgress& progress = {});

/// Layers of each cycle of the graph, in the model's order; none of them can be on another stage
/// than the others.
[[nodiscard]] std::vector<std::vector<LayerId>> layers_on_cycles(const LayerGraph& graph);

}  // namespace schedlab
