// SPDX-License-Identifier: Apache-2.0
#include "policies/pipeline/partitioner.hpp"

#include "policies/pipeline/partition_search.hpp"
#include "sim/base/ceil_div.hpp"
#include "sim/base/error.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <optional>
#include <utility>

namespace schedlab {
namespace {

using detail::DownSets;
using detail::FoundStages;
using detail::LayerGroups;
using detail::SearchGoal;
using detail::StageCosts;

/// Down-sets times accelerators that a table may have: 16 bytes each.
constexpr std::size_t max_table_entries = std::size_t{1} << 24;

/// Pairs of prefixes that a search among them may look at: some seconds.
constexpr std::uint64_t max_pairs = std::uint64_t{1} << 28;
/// Down-sets of a first search, whose result bounds that among all.
constexpr std::size_t quick_down_sets = 1500;

/// One model's search, with the down-sets that can be afforded.
class Partitioning {
 public:
  Partitioning(const LayerGraph& graph,
               const IdVector<LayerId, LayerTimes>& times,
               const PartitionRequest& request,
               detail::MergeUntimed untimed,
               const PartitionProgress& progress)
      : graph_(graph),
        times_(times),
        request_(request),
        groups_(detail::group_layers(graph, times, request, untimed)),
        chain_(DownSets::prefixes(groups_.count, groups_.edges)),
        chain_costs_(graph, times, groups_, chain_, request.rules),
        work_{.progress = progress} {
    if (!fits(chain_)) return;
    if (chain_.complete()) {
      tried_ = {.sets = &chain_, .costs = &chain_costs_};
      return;
    }
    sets_.emplace(groups_.count, groups_.edges, request.max_down_sets);
    if (!fits(*sets_)) {
      sets_.reset();
      return;
    }
    costs_.emplace(graph, times, groups_, *sets_, request.rules);
    tried_ = {.sets = &*sets_, .costs = &*costs_};
    if (sets_->complete() && sets_->size() > quick_down_sets) {
      few_.emplace(groups_.count, groups_.edges, quick_down_sets);
      few_costs_.emplace(graph, times, groups_, *few_, request.rules);
    }
  }

  PartitionResult run() {
    SearchGoal goal;
    goal.accelerators = request_.accelerators;
    goal.use_all = request_.use_all;
    goal.min_replicas = request_.min_replicas;
    goal.max_replicas = request_.max_replicas;
    if (request_.memory_limit > Bytes{0}) goal.max_memory = request_.memory_limit;
    if (goal.use_all && groups_.count * goal.max_replicas < goal.accelerators &&
        goal.min_replicas == goal.max_replicas) {
      refuse_stages();
    }
    const std::optional<FoundStages> fastest = search(goal);
    if (!fastest) refuse_memory(goal);
    const bool by_memory = request_.objective == PartitionObjective::memory;
    const double factor = by_memory ? 1.0 + request_.load_slack : 1.0;
    goal.objective = PartitionObjective::memory;
    goal.max_load = std::max(Duration{fastest->value},
                             Duration{static_cast<std::int64_t>(
                                 std::min(9e18, factor * static_cast<double>(fastest->value)))});
    const std::optional<FoundStages> smallest = search(goal);
    return result(smallest ? *smallest : *fastest);
  }

 private:
  /// Down-sets that a table is made of; without: stages are filled.
  struct Tried {
    const DownSets* sets = nullptr;
    const StageCosts* costs = nullptr;
  };

  [[nodiscard]] bool fits(const DownSets& sets) const {
    return sets.size() * (request_.accelerators + std::size_t{1}) <= max_table_entries;
  }
  [[nodiscard]] const DownSets& sets() const { return tried_.sets ? *tried_.sets : chain_; }
  [[nodiscard]] bool complete() const { return tried_.sets != nullptr && tried_.sets->complete(); }

  [[nodiscard]] std::optional<FoundStages> search(SearchGoal goal) {
    if (!tried_.sets) return detail::filled_stages(chain_, chain_costs_, goal, work_);
    std::optional<FoundStages> quick;
    if (goal.objective == PartitionObjective::load) {
      // What a quick search finds bounds the work of every stage of a better one.
      const auto bound_by = [&goal](const std::optional<FoundStages>& found) {
        if (found) goal.max_load = std::min(goal.max_load, Duration{found->value});
      };
      quick = detail::filled_stages(chain_, chain_costs_, goal, work_);
      bound_by(quick);
      if (few_) bound_by(detail::best_stages(*few_, *few_costs_, goal, work_));
    }
    if (tried_.sets == &chain_ &&
        detail::pairs_of_prefixes(chain_costs_, chain_.size(), goal, max_pairs) == max_pairs) {
      // Too many to try. What is as fast as can be is proven all the same, its memory as it comes.
      if (goal.objective == PartitionObjective::memory &&
          request_.objective == PartitionObjective::load && goal.max_load < Duration::max()) {
        return std::nullopt;
      }
      if (!quick || Duration{quick->value} > lower_bound()) tried_ = {};
      return quick ? quick : detail::filled_stages(chain_, chain_costs_, goal, work_);
    }
    return detail::best_stages(*tried_.sets, *tried_.costs, goal, work_);
  }

  [[noreturn]] void refuse_stages() const {
    std::string bound;
    for (const std::vector<LayerId>& cycle : layers_on_cycles(graph_)) {
      bound += fmt::format("\n  on a cycle, so on one stage: {} layers from \"{}\" to \"{}\"",
                           cycle.size(),
                           graph_.layers[cycle.front()].name,
                           graph_.layers[cycle.back()].name);
    }
    throw InfeasibleError(
        fmt::format("layers \"{}\": {} stages are asked for, but only {} groups of layers can be "
                    "separated{}\n  ask for fewer stages",
                    graph_.name,
                    request_.accelerators / request_.min_replicas,
                    groups_.count,
                    bound));
  }

  [[noreturn]] void refuse_memory(SearchGoal goal) {
    goal.objective = PartitionObjective::memory;
    goal.max_memory = Bytes{INT64_MAX};
    const std::optional<FoundStages> least = search(goal);
    if (!least) {
      throw InfeasibleError(fmt::format(
          "layers \"{}\": no partition uses exactly {} accelerators with at most {} replicas of a "
          "stage\n  leave the number of accelerators open, or allow more replicas",
          graph_.name,
          request_.accelerators,
          request_.max_replicas));
    }
    throw InfeasibleError(
        fmt::format("layers \"{}\": no partition for {} accelerators fits their memory: the best "
                    "one {} needs {} bytes on one of them, {} are there\n  allow more "
                    "accelerators, fewer microbatches in flight or smaller microbatches",
                    graph_.name,
                    request_.accelerators,
                    complete() ? "of all" : "found",
                    least->value,
                    request_.memory_limit.count()),
        "memory",
        fmt::format("{} bytes", least->value),
        fmt::format("{} bytes", request_.memory_limit.count()));
  }

  [[nodiscard]] PartitionResult result(const FoundStages& found) const {
    std::vector<std::uint32_t> stage_of_group(groups_.count, 0);
    for (std::uint32_t group = 0; group < groups_.count; ++group) {
      while (!sets().has(found.ends[stage_of_group[group]], group)) {
        ++stage_of_group[group];
      }
    }
    PartitionResult result;
    result.partition = make_partition(
        graph_, times_, groups_.spread(graph_, stage_of_group), found.replicas, request_.rules);
    result.method = !tried_.sets ? PartitionMethod::greedy
                    : complete() ? PartitionMethod::exact
                                 : PartitionMethod::some_cuts;
    result.groups = groups_.count;
    result.down_sets = sets().size();
    result.stages_tried = work_.stages_tried;
    result.lower_bound = lower_bound();
    return result;
  }

  /// All work over all accelerators, or the group that takes most over its replicas.
  [[nodiscard]] Duration lower_bound() const {
    const Duration all = chain_costs_.compute(chain_.size() - 1);
    std::int64_t bound = ceil_div(all.count(), std::int64_t{request_.accelerators});
    for (const Duration own : chain_costs_.min_loads()) {
      bound = std::max(bound, ceil_div(own.count(), std::int64_t{request_.max_replicas}));
    }
    return Duration{bound};
  }

  const LayerGraph& graph_;
  const IdVector<LayerId, LayerTimes>& times_;
  const PartitionRequest& request_;
  LayerGroups groups_;
  DownSets chain_;
  StageCosts chain_costs_;
  std::optional<DownSets> sets_;  // if there are others than chain_, and they fit the table
  std::optional<StageCosts> costs_;
  std::optional<DownSets> few_;
  std::optional<StageCosts> few_costs_;
  Tried tried_;
  detail::SearchWork work_;
};

/// Is `a` the better partition?
bool better(const PartitionResult& a, const PartitionResult& b, PartitionObjective objective) {
  const auto key = [objective](const PartitionResult& result) {
    const std::int64_t load = result.partition.load().count();
    const std::int64_t memory = result.partition.largest_memory().count();
    return objective == PartitionObjective::load ? std::pair{load, memory}
                                                 : std::pair{memory, load};
  };
  return key(a) < key(b);
}

}  // namespace

PartitionResult partition_layers(const LayerGraph& graph,
                                 const IdVector<LayerId, LayerTimes>& times,
                                 const PartitionRequest& request,
                                 const PartitionProgress& progress) {
  SCHEDLAB_EXPECTS(request.accelerators > 0 && request.min_replicas > 0, graph.name);
  SCHEDLAB_EXPECTS(request.max_replicas >= request.min_replicas, graph.name);
  SCHEDLAB_EXPECTS(request.load_slack >= 0 && !graph.layers.empty(), graph.name);
  using detail::MergeUntimed;
  const auto search = [&](MergeUntimed untimed) {
    return Partitioning(graph, times, request, untimed, progress).run();
  };
  if (request.merge_untimed) {
    return search(*request.merge_untimed ? MergeUntimed::all : MergeUntimed::none);
  }
  PartitionResult fine = search(MergeUntimed::harmless);
  if (fine.method == PartitionMethod::exact) return fine;
  PartitionResult coarse = search(MergeUntimed::all);
  coarse.stages_tried += fine.stages_tried;
  fine.stages_tried = coarse.stages_tried;
  if (!better(coarse, fine, request.objective)) return fine;
  // What is proven of larger groups is not proven of smaller ones.
  coarse.lower_bound = fine.lower_bound;
  if (coarse.method == PartitionMethod::exact && coarse.partition.load() > fine.lower_bound) {
    coarse.method = PartitionMethod::some_cuts;
  }
  return coarse;
}

}  // namespace schedlab
