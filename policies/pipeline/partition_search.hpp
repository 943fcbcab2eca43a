// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "policies/pipeline/partitioner.hpp"
#include "policies/pipeline/stage_costs.hpp"

#include <cstdint>
#include <optional>
#include <vector>

namespace schedlab::detail {

/// Stages from the first to the last, as the down-sets at their ends.
struct FoundStages {
  std::vector<std::size_t> ends;
  std::vector<std::uint32_t> replicas;
  std::int64_t value = 0;  ///< the largest of a stage: ps of load or bytes of memory
};

/// Whom a search tells how far it is, and how much it did.
struct SearchWork {
  const PartitionProgress& progress;
  std::uint64_t stages_tried = 0;
};

/// What is searched for.
struct SearchGoal {
  PartitionObjective objective = PartitionObjective::load;
  Duration max_load = Duration::max();
  Bytes max_memory{INT64_MAX};
  std::uint32_t accelerators = 1;
  bool use_all = false;
  std::uint32_t min_replicas = 1;
  std::uint32_t max_replicas = 1;

  /// The objective's value of a finished stage; nullopt if it is not allowed.
  [[nodiscard]] std::optional<std::int64_t> value(const PartitionStage& stage) const {
    if (stage.load > max_load || stage.memory > max_memory) return std::nullopt;
    return objective == PartitionObjective::load ? stage.load.count() : stage.memory.count();
  }
};

/// The best partition whose stages lie between down-sets of `sets`; nullopt if none is allowed.
/// Cost: at worst all pairs of sets. A set is only looked at if accelerators before and behind it
/// suffice for the work there at max_load each, so a tight bound leaves few.
[[nodiscard]] std::optional<FoundStages> best_stages(const DownSets& sets,
                                                     const StageCosts& costs,
                                                     const SearchGoal& goal,
                                                     SearchWork& work);

/// Pairs of sets that best_stages() would look at among prefixes, or `most` if there are more. Cost
/// O(sets).
[[nodiscard]] std::uint64_t pairs_of_prefixes(const StageCosts& costs,
                                              std::size_t sets,
                                              const SearchGoal& goal,
                                              std::uint64_t most);

/// Fills stages from the last to the first, each as far as a bound of the objective allows, and
/// bisects the bound; all stages with min_replicas. `sets` are the prefixes of one order. nullopt
/// if none is found.
[[nodiscard]] std::optional<FoundStages> filled_stages(const DownSets& sets,
                                                       const StageCosts& costs,
                                                       const SearchGoal& goal,
                                                       SearchWork& work);

}  // namespace schedlab::detail
