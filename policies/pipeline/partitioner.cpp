// SPDX-License-Identifier: Apache-2.0
#include "policies/pipeline/partitioner.hpp"

#include "policies/pipeline/partition_search.hpp"
#include "sim/base/ceil_div.hpp"
#include "sim/base/error.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
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
constexpr std::size_t most_table_entries = std::size_t{1} << 24;

constexpr std::array<std::string_view, 4> method_words{"given", "exact", "some_cuts", "greedy"};

/// One model's search, with the down-sets that can be afforded.
class Partitioning {
 public:
  Partitioning(const LayerGraph& graph,
               const IdVector<LayerId, LayerTimes>& times,
               const PartitionRequest& request)
      : graph_(graph),
        times_(times),
        request_(request),
        groups_(detail::group_layers(graph, times, request)),
        chain_(DownSets::prefixes(groups_.count)),
        chain_costs_(graph, times, groups_, chain_, request.rules) {
    if (chain_.size() * (request.accelerators + std::size_t{1}) > most_table_entries) return;
    sets_.emplace(groups_.count, groups_.edges, request.most_down_sets);
    if (sets_->size() * (request.accelerators + std::size_t{1}) > most_table_entries) {
      sets_.reset();
      return;
    }
    costs_.emplace(graph, times, groups_, *sets_, request.rules);
  }

  PartitionResult run() {
    SearchGoal goal;
    goal.accelerators = request_.accelerators;
    goal.use_all = request_.use_all;
    goal.most_replicas = request_.most_replicas;
    if (request_.memory_limit > Bytes{0}) goal.most_memory = request_.memory_limit;
    if (goal.use_all && goal.most_replicas == 1 && groups_.count < goal.accelerators) {
      refuse_stages();
    }
    const std::optional<FoundStages> fastest = search(goal);
    if (!fastest) refuse_memory(goal);
    const bool by_memory = request_.objective == PartitionObjective::memory;
    const double factor = by_memory ? 1.0 + request_.load_slack : 1.0;
    goal.objective = PartitionObjective::memory;
    goal.most_load = std::max(Duration{fastest->value},
                              Duration{static_cast<std::int64_t>(
                                  std::min(9e18, factor * static_cast<double>(fastest->value)))});
    const std::optional<FoundStages> smallest = search(goal);
    return result(smallest ? *smallest : *fastest);
  }

 private:
  [[nodiscard]] const DownSets& sets() const { return sets_ ? *sets_ : chain_; }

  [[nodiscard]] std::optional<FoundStages> search(SearchGoal goal) const {
    if (!sets_) return detail::filled_stages(chain_, chain_costs_, goal);
    if (goal.objective == PartitionObjective::load) {
      // What a quick search finds bounds the work of every stage of a better one.
      const auto quick = detail::filled_stages(chain_, chain_costs_, goal);
      if (quick) goal.most_load = std::min(goal.most_load, Duration{quick->value});
    }
    return detail::best_stages(*sets_, *costs_, goal);
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
                    request_.accelerators,
                    groups_.count,
                    bound));
  }

  [[noreturn]] void refuse_memory(SearchGoal goal) const {
    goal.objective = PartitionObjective::memory;
    goal.most_memory = Bytes{INT64_MAX};
    const std::optional<FoundStages> least = search(goal);
    if (!least) {
      throw InfeasibleError(fmt::format(
          "layers \"{}\": no partition uses exactly {} accelerators with at most {} replicas of a "
          "stage\n  leave the number of accelerators open, or allow more replicas",
          graph_.name,
          request_.accelerators,
          request_.most_replicas));
    }
    throw InfeasibleError(
        fmt::format("layers \"{}\": no partition for {} accelerators fits their memory: the best "
                    "one {} needs {} bytes on one of them, {} are there\n  allow more "
                    "accelerators, fewer microbatches in flight or smaller microbatches",
                    graph_.name,
                    request_.accelerators,
                    sets_ && sets_->complete() ? "of all" : "found",
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
    result.method = !sets_              ? PartitionMethod::greedy
                    : sets_->complete() ? PartitionMethod::exact
                                        : PartitionMethod::some_cuts;
    result.groups = groups_.count;
    result.down_sets = sets().size();
    result.lower_bound = lower_bound();
    return result;
  }

  /// Of the work alone: all of it over all accelerators, or the largest group over its replicas.
  [[nodiscard]] Duration lower_bound() const {
    const Duration all = chain_costs_.compute(chain_.size() - 1);
    std::int64_t bound = ceil_div(all.count(), std::int64_t{request_.accelerators});
    for (std::size_t group = 0; group < groups_.count; ++group) {
      const Duration own = chain_costs_.compute(group + 1) - chain_costs_.compute(group);
      bound = std::max(bound, ceil_div(own.count(), std::int64_t{request_.most_replicas}));
    }
    return Duration{bound};
  }

  const LayerGraph& graph_;
  const IdVector<LayerId, LayerTimes>& times_;
  const PartitionRequest& request_;
  LayerGroups groups_;
  DownSets chain_;
  StageCosts chain_costs_;
  std::optional<DownSets> sets_;  // none: they would not fit the table
  std::optional<StageCosts> costs_;
};

}  // namespace

const std::vector<std::string>& partition_objective_names() {
  static const std::vector<std::string> names{"load", "memory"};
  return names;
}

std::string_view to_string(PartitionMethod method) {
  return method_words[static_cast<std::size_t>(method)];
}

PartitionResult partition_layers(const LayerGraph& graph,
                                 const IdVector<LayerId, LayerTimes>& times,
                                 const PartitionRequest& request) {
  SCHEDLAB_EXPECTS(request.accelerators > 0 && request.most_replicas > 0, graph.name);
  SCHEDLAB_EXPECTS(request.load_slack >= 0 && !graph.layers.empty(), graph.name);
  return Partitioning(graph, times, request).run();
}

}  // namespace schedlab
