// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "policies/pipeline/down_sets.hpp"
#include "policies/pipeline/layer_groups.hpp"
#include "sim/pipeline/partition.hpp"

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

namespace schedlab::detail {

/// What a stage between two down-sets costs, from sums over down-sets and the outputs that cross
/// their edges. Shares no code with make_partition(), which checks it.
class StageCosts {
 public:
  /// All must outlive this.
  StageCosts(const LayerGraph& graph,
             const IdVector<LayerId, LayerTimes>& times,
             const LayerGroups& groups,
             const DownSets& sets,
             const StageRules& rules);

  /// Work of the layers of a down-set.
  [[nodiscard]] Duration compute(std::size_t set) const { return sums_[set].compute; }

  /// No stage with the group has a lower load on one accelerator: its work and, of each output that
  /// it reads, the cheaper of the transfer and of having its group, too; of each of its own the
  /// cheaper of the transfer and of having all groups that read it.
  [[nodiscard]] std::vector<Duration> min_loads() const;

  struct Parts {
    PartitionStage stage{};  ///< without layers, replicas, synchronization, load and memory
    Bytes kept{};            ///< by its layers, and what it received
  };
  /// The parts of the stage that `outer` has and `inner`, a subset, has not.
  void between(std::size_t inner, std::size_t outer, Parts& parts) const;

  /// The same with what depends on replicas, and on accelerators of later stages.
  void finish(Parts& parts, std::uint32_t replicas, std::uint32_t later) const;

 private:
  struct Sums {
    Duration compute{0};
    Bytes parameters{};
    Bytes kept{};
    std::vector<std::uint32_t> tied;      ///< layers of each word of shared parameters
    std::vector<std::uint32_t> crossing;  ///< outputs that are read outside
  };
  /// An output that a group outside its own reads.
  struct Output {
    std::uint32_t group = 0;
    std::vector<std::uint32_t> readers;  ///< groups
    Duration transfer{0};
    Bytes bytes{};
  };
  void collect(const LayerGraph& graph,
               const IdVector<LayerId, LayerTimes>& times,
               const LayerGroups& groups);
  void add_group(std::uint32_t group, Sums& sums) const;
  [[nodiscard]] bool crosses(const Output& output, std::size_t set) const;
  [[nodiscard]] Sums sums_of(std::size_t set) const;
  /// Those of all prefixes, each from the one before.
  void add_prefixes();

  const DownSets& sets_;
  StageRules rules_;
  std::vector<Sums> of_group_;  // crossing is empty
  std::vector<Output> outputs_;
  std::vector<Bytes> tied_bytes_;
  std::vector<Sums> sums_;
};

}  // namespace schedlab::detail
