// SPDX-License-Identifier: Apache-2.0
#include "policies/pipeline/stage_costs.hpp"

#include <algorithm>
#include <map>
#include <set>

namespace schedlab::detail {

StageCosts::StageCosts(const LayerGraph& graph,
                       const IdVector<LayerId, LayerTimes>& times,
                       const LayerGroups& groups,
                       const DownSets& sets,
                       const StageRules& rules)
    : sets_(sets), rules_(rules) {
  collect(graph, times, groups);
  sums_.reserve(sets.size());
  for (std::size_t set = 0; set < sets.size(); ++set) sums_.push_back(sums_of(sets[set]));
}

void StageCosts::collect(const LayerGraph& graph,
                         const IdVector<LayerId, LayerTimes>& times,
                         const LayerGroups& groups) {
  std::map<std::string, std::uint32_t> tied;
  for (const Layer& layer : graph.layers) {
    if (layer.tied.empty()) continue;
    const auto number = static_cast<std::uint32_t>(tied.size());
    if (tied.emplace(layer.tied, number).second) tied_bytes_.push_back(layer.parameters);
  }
  of_group_.resize(groups.count);
  for (Sums& sums : of_group_) sums.tied.assign(tied.size(), 0);
  IdVector<LayerId, std::set<std::uint32_t>> readers(graph.layers.size());
  for (const LayerId id : graph.layers.ids()) {
    const std::uint32_t group = groups.group_of[id];
    for (const LayerId input : graph.layers[id].inputs) {
      if (groups.group_of[input] != group) readers[input].insert(group);
    }
    if (group == LayerGroups::none) continue;
    const Layer& layer = graph.layers[id];
    Sums& sums = of_group_[group];
    sums.compute += rules_.training ? times[id].microbatch() : times[id].forward;
    sums.parameters += layer.parameters;
    sums.kept += layer.kept;
    if (!layer.tied.empty()) ++sums.tied[tied.at(layer.tied)];
  }
  for (const LayerId id : graph.layers.ids()) {
    const std::uint32_t group = groups.group_of[id];
    if (group == LayerGroups::none || readers[id].empty()) continue;
    outputs_.push_back(
        {.group = group,
         .readers = std::vector<std::uint32_t>(readers[id].begin(), readers[id].end()),
         .transfer = transfer_time(graph.layers[id], rules_),
         .bytes = graph.layers[id].activation});
  }
}

StageCosts::Sums StageCosts::sums_of(const Bits& set) const {
  Sums sums;
  sums.tied.assign(tied_bytes_.size(), 0);
  for (std::uint32_t group = 0; group < of_group_.size(); ++group) {
    if (!contains(set, group)) continue;
    sums.compute += of_group_[group].compute;
    sums.parameters += of_group_[group].parameters;
    sums.kept += of_group_[group].kept;
    for (std::size_t t = 0; t < sums.tied.size(); ++t) sums.tied[t] += of_group_[group].tied[t];
  }
  for (std::uint32_t i = 0; i < outputs_.size(); ++i) {
    const Output& output = outputs_[i];
    if (!contains(set, output.group)) continue;
    const bool outside = std::any_of(
        output.readers.begin(), output.readers.end(), [&](auto g) { return !contains(set, g); });
    if (outside) sums.crossing.push_back(i);
  }
  return sums;
}

void StageCosts::between(std::size_t inner, std::size_t outer, Parts& parts) const {
  const Sums& before = sums_[inner];
  const Sums& after = sums_[outer];
  PartitionStage& stage = parts.stage;
  stage.compute = after.compute - before.compute;
  stage.parameters = after.parameters - before.parameters;
  parts.kept = after.kept - before.kept;
  for (std::size_t t = 0; t < tied_bytes_.size(); ++t) {
    const std::uint32_t layers = after.tied[t] - before.tied[t];
    if (layers > 1) stage.parameters -= tied_bytes_[t] * (std::int64_t{layers} - 1);
  }
  stage.receive = Duration{0};
  stage.received = Bytes{};
  for (const std::uint32_t i : before.crossing) {
    const bool read = std::any_of(
        outputs_[i].readers.begin(), outputs_[i].readers.end(), [&](std::uint32_t group) {
          return contains(sets_[outer], group) && !contains(sets_[inner], group);
        });
    if (!read) continue;
    stage.receive += outputs_[i].transfer;
    stage.received += outputs_[i].bytes;
  }
  parts.kept += stage.received;
  stage.send = Duration{0};
  for (const std::uint32_t i : after.crossing) {
    if (!contains(sets_[inner], outputs_[i].group)) stage.send += outputs_[i].transfer;
  }
}

void StageCosts::finish(Parts& parts, std::uint32_t replicas, std::uint32_t later) const {
  PartitionStage& stage = parts.stage;
  stage.replicas = replicas;
  stage.synchronization = synchronization_time(stage.parameters, replicas, rules_);
  stage.load = stage_load(stage, rules_);
  stage.memory = stage_memory(stage.parameters, parts.kept, later, replicas, rules_);
}

}  // namespace schedlab::detail
