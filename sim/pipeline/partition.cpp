// SPDX-License-Identifier: Apache-2.0
#include "sim/pipeline/partition.hpp"

#include "sim/base/ceil_div.hpp"
#include "sim/base/error.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <functional>
#include <map>
#include <numeric>
#include <queue>
#include <set>
#include <utility>

namespace schedlab {
namespace {

Duration divided(Duration duration, std::int64_t by) {
  return Duration{ceil_div(duration.count(), by)};
}

/// Sums of thousands of them stay below the range of Duration.
constexpr Duration longest_transfer = std::chrono::seconds{1000};

[[noreturn]] void refuse_transfer(const std::string& what) {
  throw InfeasibleError(fmt::format(
      "{} would take more than {} s between two stages\n  check bandwidth and latency of the link",
      what,
      to_seconds(longest_transfer)));
}

using StageNumbers = IdVector<LayerId, std::uint32_t>;

/// "a (stage 0) feeds b (stage 1), c (stage 1) feeds d (stage 0)"
[[noreturn]] void refuse_cycle(const LayerGraph& graph,
                               const StageNumbers& stage_of,
                               const std::vector<std::uint32_t>& cycle) {
  std::string steps;
  for (std::size_t i = 0; i < cycle.size(); ++i) {
    const std::uint32_t from = cycle[i];
    const std::uint32_t to = cycle[(i + 1) % cycle.size()];
    for (const Edge& edge : layer_edges(graph)) {
      const LayerId a{edge.first};
      const LayerId b{edge.second};
      if (stage_of[a] != from || stage_of[b] != to) continue;
      steps += fmt::format("{}\"{}\" (stage {}) feeds \"{}\" (stage {})",
                           steps.empty() ? "" : ", ",
                           graph.layers[a].name,
                           from,
                           graph.layers[b].name,
                           to);
      break;
    }
  }
  const std::string stages =
      print_cycle(cycle, [](std::size_t stage) { return fmt::format("stage {}", stage); });
  throw InfeasibleError(
      fmt::format("layers \"{}\": these stages wait for each other: {}\n  {}\n  put the layers of "
                  "a cycle on one stage",
                  graph.name,
                  stages,
                  steps));
}

/// The new number of each stage: the lowest of those whose inputs are numbered comes next.
std::vector<std::uint32_t> upward_numbers(const LayerGraph& graph,
                                          const StageNumbers& stage_of,
                                          std::size_t stage_count) {
  std::set<Edge> edges;
  for (const Edge& edge : layer_edges(graph)) {
    const Edge between{stage_of[LayerId{edge.first}], stage_of[LayerId{edge.second}]};
    if (between.first != between.second) edges.insert(between);
  }
  std::vector<std::uint32_t> waiting(stage_count, 0);
  for (const Edge& edge : edges) ++waiting[edge.second];
  std::priority_queue<std::uint32_t, std::vector<std::uint32_t>, std::greater<>> ready;
  for (std::uint32_t stage = 0; stage < stage_count; ++stage) {
    if (waiting[stage] == 0) ready.push(stage);
  }
  std::vector<std::uint32_t> number(stage_count, 0);
  std::uint32_t next = 0;
  while (!ready.empty()) {
    const std::uint32_t stage = ready.top();
    ready.pop();
    number[stage] = next++;
    for (auto edge = edges.lower_bound({stage, 0}); edge != edges.end() && edge->first == stage;
         ++edge) {
      if (--waiting[edge->second] == 0) ready.push(edge->second);
    }
  }
  if (next < stage_count) {
    const std::vector<Edge> list(edges.begin(), edges.end());
    refuse_cycle(graph, stage_of, find_cycle(stage_count, list));
  }
  return number;
}

void add_transfers(const LayerGraph& graph, const StageRules& rules, Partition& partition) {
  std::set<Edge> received;  // layer, stage that reads it
  std::set<std::uint32_t> sent;
  for (const Edge& edge : layer_edges(graph)) {
    const LayerId from{edge.first};
    const std::uint32_t source = partition.stage_of[from];
    const std::uint32_t target = partition.stage_of[LayerId{edge.second}];
    if (source == target) continue;
    const Duration time = transfer_time(graph.layers[from], rules);
    if (received.emplace(edge.first, target).second) {
      partition.stages[target].receive += time;
      partition.stages[target].received += graph.layers[from].activation;
    }
    if (sent.insert(edge.first).second) partition.stages[source].send += time;
  }
}

void add_layers(const LayerGraph& graph,
                const IdVector<LayerId, LayerTimes>& times,
                const StageRules& rules,
                Partition& partition) {
  std::set<std::pair<std::string, std::uint32_t>> counted;
  for (const LayerId id : graph.layers.ids()) {
    const Layer& layer = graph.layers[id];
    const std::uint32_t number = partition.stage_of[id];
    PartitionStage& stage = partition.stages[number];
    stage.layers.push_back(id);
    stage.compute += rules.training ? times[id].microbatch() : times[id].forward;
    if (layer.tied.empty() || counted.emplace(layer.tied, number).second) {
      stage.parameters += layer.parameters;
    }
  }
}

void add_memory(const LayerGraph& graph, const StageRules& rules, Partition& partition) {
  std::uint32_t later = 0;
  for (std::size_t number = partition.stages.size(); number-- > 0;) {
    PartitionStage& stage = partition.stages[number];
    Bytes kept = stage.received;
    for (const LayerId layer : stage.layers) kept += graph.layers[layer].kept;
    stage.memory = stage_memory(stage.parameters, kept, later, stage.replicas, rules);
    later += stage.replicas;
  }
}

}  // namespace

std::uint32_t Partition::accelerators() const {
  std::uint32_t sum = 0;
  for (const PartitionStage& stage : stages) sum += stage.replicas;
  return sum;
}

Bytes Partition::largest_memory() const {
  Bytes largest{};
  for (const PartitionStage& stage : stages) largest = std::max(largest, stage.memory);
  return largest;
}

Duration transfer_time(const Layer& layer, const StageRules& rules) {
  const std::int64_t ways = rules.training ? 2 : 1;
  if (layer.transfer) return *layer.transfer * ways;
  if (rules.bandwidth.count() <= 0.0 || layer.activation.count() == 0) return Duration{0};
  const Duration one_way = layer.activation / rules.bandwidth;
  if (one_way > longest_transfer || rules.latency > longest_transfer) {
    refuse_transfer(fmt::format("the output of layer \"{}\"", layer.name));
  }
  return (rules.latency + one_way) * ways;
}

Duration synchronization_time(Bytes parameters, std::uint32_t replicas, const StageRules& rules) {
  if (!rules.training || replicas < 2 || parameters.count() == 0) return Duration{0};
  if (rules.bandwidth.count() <= 0.0) return Duration{0};
  const std::int64_t steps = 2 * (std::int64_t{replicas} - 1);
  const double seconds = static_cast<double>(steps) / replicas *
                         static_cast<double>(parameters.count()) / rules.bandwidth.count();
  const Duration moving = round_up_seconds(seconds);
  if (moving > longest_transfer || rules.latency > longest_transfer / steps) {
    refuse_transfer(fmt::format("the gradients of {} replicas", replicas));
  }
  return rules.latency * steps + moving;
}

std::int64_t microbatches_held(std::uint32_t later,
                               std::uint32_t replicas,
                               const StageRules& rules) {
  if (!rules.training || rules.in_flight == InFlight::none) return 0;
  if (rules.in_flight == InFlight::one) return 1;
  std::int64_t all = rules.microbatches;
  if (rules.in_flight == InFlight::later_stages) {
    all = std::min<std::int64_t>(all, std::int64_t{later} + replicas);
  }
  return ceil_div(all, std::int64_t{replicas});
}

Bytes stage_memory(Bytes parameters,
                   Bytes kept,
                   std::uint32_t later,
                   std::uint32_t replicas,
                   const StageRules& rules) {
  const double copies = rules.training ? rules.parameter_copies : 1.0;
  const double fixed = std::ceil(copies * static_cast<double>(parameters.count()));
  const std::int64_t held = microbatches_held(later, replicas, rules);
  constexpr double most = 9e18;  // more fits nowhere
  if (fixed + static_cast<double>(kept.count()) * static_cast<double>(held) > most) {
    return Bytes{static_cast<std::int64_t>(most)};
  }
  return Bytes{static_cast<std::int64_t>(fixed)} + kept * held;
}

Duration stage_load(const PartitionStage& stage, const StageRules& rules) {
  const Duration transfers = stage.receive + stage.send;
  const Duration once = divided(stage.synchronization, rules.microbatches);
  if (!rules.overlapped) return divided(stage.compute + transfers, stage.replicas) + once;
  return std::max(
      {divided(stage.compute, stage.replicas), divided(transfers, stage.replicas), once});
}

Partition make_partition(const LayerGraph& graph,
                         const IdVector<LayerId, LayerTimes>& times,
                         const IdVector<LayerId, std::uint32_t>& stage_of,
                         const std::vector<std::uint32_t>& replicas,
                         const StageRules& rules) {
  const std::size_t layers = graph.layers.size();
  SCHEDLAB_EXPECTS(layers > 0 && stage_of.size() == layers && times.size() == layers, graph.name);
  const std::size_t count = *std::max_element(stage_of.begin(), stage_of.end()) + std::size_t{1};
  SCHEDLAB_EXPECTS(replicas.empty() || replicas.size() == count, graph.name);
  const std::set<std::uint32_t> used(stage_of.begin(), stage_of.end());
  if (used.size() < count) {
    throw InfeasibleError(fmt::format(
        "layers \"{}\": {} of {} stages have no layer", graph.name, count - used.size(), count));
  }
  const std::vector<std::uint32_t> number = upward_numbers(graph, stage_of, count);
  Partition partition;
  partition.stages.resize(count);
  partition.stage_of = stage_of;
  for (std::uint32_t& stage : partition.stage_of) stage = number[stage];
  for (std::size_t old = 0; old < replicas.size(); ++old) {
    SCHEDLAB_EXPECTS(replicas[old] > 0, fmt::format("replicas of stage {}", old));
    partition.stages[number[old]].replicas = replicas[old];
  }
  add_layers(graph, times, rules, partition);
  add_transfers(graph, rules, partition);
  add_memory(graph, rules, partition);
  for (PartitionStage& stage : partition.stages) {
    stage.synchronization = synchronization_time(stage.parameters, stage.replicas, rules);
    stage.load = stage_load(stage, rules);
  }
  const auto highest = std::max_element(
      partition.stages.begin(),
      partition.stages.end(),
      [](const PartitionStage& a, const PartitionStage& b) { return a.load < b.load; });
  partition.bottleneck = static_cast<std::uint32_t>(highest - partition.stages.begin());
  return partition;
}

IdVector<LayerId, std::uint32_t> consecutive_stages(
    const LayerGraph& graph, const std::vector<std::int64_t>& layers_per_stage) {
  StageNumbers stage_of(graph.layers.size());
  std::size_t next = 0;
  const auto sum =
      std::accumulate(layers_per_stage.begin(), layers_per_stage.end(), std::int64_t{0});
  const bool positive = std::all_of(layers_per_stage.begin(),
                                    layers_per_stage.end(),
                                    [](std::int64_t layers) { return layers > 0; });
  if (!positive || sum != static_cast<std::int64_t>(graph.layers.size())) {
    throw InfeasibleError(
        fmt::format("layers \"{}\": layers per stage add up to {}, the model has {}\n  each stage "
                    "needs at least one, all together all layers",
                    graph.name,
                    sum,
                    graph.layers.size()));
  }
  for (std::uint32_t stage = 0; stage < layers_per_stage.size(); ++stage) {
    for (std::int64_t i = 0; i < layers_per_stage[stage]; ++i) {
      stage_of[LayerId{static_cast<std::uint32_t>(next++)}] = stage;
    }
  }
  return stage_of;
}

std::vector<TiedStages> tied_stages(const LayerGraph& graph, const Partition& partition) {
  std::map<std::string, std::set<std::uint32_t>> stages;
  std::map<std::string, Bytes> parameters;
  for (const LayerId id : graph.layers.ids()) {
    const Layer& layer = graph.layers[id];
    if (layer.tied.empty()) continue;
    stages[layer.tied].insert(partition.stage_of[id]);
    parameters[layer.tied] = layer.parameters;
  }
  std::vector<TiedStages> result;
  for (const auto& [word, on] : stages) {
    if (on.size() < 2) continue;
    result.push_back({.tied = word,
                      .stages = std::vector<std::uint32_t>(on.begin(), on.end()),
                      .parameters = parameters[word]});
  }
  return result;
}

}  // namespace schedlab
