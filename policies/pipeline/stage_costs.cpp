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
  if (sets.only_prefixes()) {
    add_prefixes();
  } else {
    for (std::size_t set = 0; set < sets.size(); ++set) sums_.push_back(sums_of(set));
  }
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

void StageCosts::add_group(std::uint32_t group, Sums& sums) const {
  const Sums& own = of_group_[group];
  sums.compute += own.compute;
  sums.parameters += own.parameters;
  sums.kept += own.kept;
  for (std::size_t t = 0; t < sums.tied.size(); ++t) sums.tied[t] += own.tied[t];
}

bool StageCosts::crosses(const Output& output, std::size_t set) const {
  return sets_.has(set, output.group) &&
         std::any_of(output.readers.begin(), output.readers.end(), [&](std::uint32_t group) {
           return !sets_.has(set, group);
         });
}

StageCosts::Sums StageCosts::sums_of(std::size_t set) const {
  Sums sums;
  sums.tied.assign(tied_bytes_.size(), 0);
  for (std::uint32_t group = 0; group < of_group_.size(); ++group) {
    if (sets_.has(set, group)) add_group(group, sums);
  }
  for (std::uint32_t i = 0; i < outputs_.size(); ++i) {
    if (crosses(outputs_[i], set)) sums.crossing.push_back(i);
  }
  return sums;
}

void StageCosts::add_prefixes() {
  std::vector<std::vector<std::uint32_t>> outputs_of(of_group_.size());
  for (std::uint32_t i = 0; i < outputs_.size(); ++i) outputs_of[outputs_[i].group].push_back(i);
  Sums sums;
  sums.tied.assign(tied_bytes_.size(), 0);
  sums_.push_back(sums);
  for (std::uint32_t group = 0; group < of_group_.size(); ++group) {
    add_group(group, sums);
    const auto& fresh = outputs_of[group];
    sums.crossing.insert(sums.crossing.end(), fresh.begin(), fresh.end());
    std::erase_if(sums.crossing,
                  [&](std::uint32_t i) { return !crosses(outputs_[i], sums_.size()); });
    sums_.push_back(sums);
  }
}

std::vector<Duration> StageCosts::min_loads() const {
  std::vector<Duration> loads;
  std::vector<std::map<std::uint32_t, Duration>> received(of_group_.size());  // by writing group
  std::vector<std::map<std::uint32_t, Duration>> sent(of_group_.size());      // by reading group
  loads.reserve(of_group_.size());
  for (const Sums& sums : of_group_) loads.push_back(sums.compute);
  if (rules_.overlapped) return loads;
  for (const Output& output : outputs_) {
    for (const std::uint32_t reader : output.readers) {
      received[reader][output.group] += output.transfer;
      // Sent unless every reader is there, so at least as cheap as having the cheapest missing one.
      Duration& each = sent[output.group][reader];
      each = std::max(each, output.transfer);
    }
  }
  for (std::size_t group = 0; group < loads.size(); ++group) {
    for (const auto& [writer, transfer] : received[group]) {
      loads[group] += std::min(transfer, of_group_[writer].compute);
    }
    Duration largest{0};  // outputs may have the same readers: only one counts
    for (const auto& [reader, transfer] : sent[group]) {
      largest = std::max(largest, std::min(transfer, of_group_[reader].compute));
    }
    loads[group] += largest;
  }
  return loads;
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
          return sets_.has(outer, group) && !sets_.has(inner, group);
        });
    if (!read) continue;
    stage.receive += outputs_[i].transfer;
    stage.received += outputs_[i].bytes;
  }
  parts.kept += stage.received;
  stage.send = Duration{0};
  for (const std::uint32_t i : after.crossing) {
    if (!sets_.has(inner, outputs_[i].group)) stage.send += outputs_[i].transfer;
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
