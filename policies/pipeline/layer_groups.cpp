// SPDX-License-Identifier: Apache-2.0
#include "policies/pipeline/layer_groups.hpp"

#include <algorithm>
#include <functional>
#include <map>
#include <optional>
#include <queue>
#include <set>
#include <string>

namespace schedlab::detail {
namespace {

Duration time_of(const LayerTimes& times, const StageRules& rules) {
  return rules.training ? times.microbatch() : times.forward;
}

/// Free layers: no time, nothing to move, no memory, and all they read is free.
IdVector<LayerId, std::uint8_t> free_layers(const LayerGraph& graph,
                                            const IdVector<LayerId, LayerTimes>& times,
                                            const StageRules& rules) {
  IdVector<LayerId, std::uint8_t> free(graph.layers.size(), 0);
  const auto costs_nothing = [&](LayerId id) {
    const Layer& layer = graph.layers[id];
    return time_of(times[id], rules) == Duration{0} && transfer_time(layer, rules) == Duration{0} &&
           layer.parameters == Bytes{0} && layer.kept == Bytes{0};
  };
  for (bool changed = true; changed;) {
    changed = false;
    for (const LayerId id : graph.layers.ids()) {
      const Layer& layer = graph.layers[id];
      if (free[id] != 0 || !costs_nothing(id)) continue;
      if (!std::all_of(layer.inputs.begin(), layer.inputs.end(), [&](LayerId input) {
            return free[input] != 0;
          })) {
        continue;
      }
      free[id] = 1;
      changed = true;
    }
  }
  const bool all = std::all_of(free.begin(), free.end(), [](std::uint8_t f) { return f != 0; });
  // A free layer without readers has no stage to join.
  std::vector<std::uint8_t> read(graph.layers.size(), 0);
  for (const Layer& layer : graph.layers) {
    for (const LayerId input : layer.inputs) read[input.value()] = 1;
  }
  for (const LayerId id : graph.layers.ids()) {
    if (all || read[id.value()] == 0) free[id] = 0;
  }
  return free;
}

/// Whom a layer without time goes with.
std::optional<LayerId> companion(const LayerGraph& graph,
                                 const StageRules& rules,
                                 MergeUntimed untimed,
                                 const IdVector<LayerId, std::uint8_t>& free,
                                 const IdVector<LayerId, std::set<LayerId>>& readers,
                                 LayerId id) {
  std::set<LayerId> inputs;
  for (const LayerId input : graph.layers[id].inputs) {
    if (free[input] == 0) inputs.insert(input);
  }
  if (untimed == MergeUntimed::all) {
    return inputs.size() == 1 ? std::optional{*inputs.begin()} : std::nullopt;
  }
  if (inputs.empty() && free[id] == 0 && readers[id].size() == 1) return *readers[id].begin();
  if (inputs.size() != 1) return std::nullopt;
  const LayerId input = *inputs.begin();
  const auto transfer = [&](LayerId of) { return transfer_time(graph.layers[of], rules); };
  const bool harmless = readers[id].empty() || transfer(id) == Duration{0} ||
                        (readers[input].size() == 1 && transfer(id) <= transfer(input));
  return harmless ? std::optional{input} : std::nullopt;
}

/// Edges both ways between what has to stay together, so that it is one strong component.
void add_bonds(const LayerGraph& graph,
               const IdVector<LayerId, LayerTimes>& times,
               const PartitionRequest& request,
               MergeUntimed untimed,
               const IdVector<LayerId, std::uint8_t>& free,
               std::vector<Edge>& edges) {
  const auto bond = [&](LayerId a, LayerId b) {
    edges.emplace_back(a.value(), b.value());
    edges.emplace_back(b.value(), a.value());
  };
  for (const std::vector<LayerId>& layers : request.together) {
    for (std::size_t i = 1; i < layers.size(); ++i) bond(layers[i - 1], layers[i]);
  }
  IdVector<LayerId, std::set<LayerId>> readers(graph.layers.size());
  for (const LayerId id : graph.layers.ids()) {
    for (const LayerId input : graph.layers[id].inputs) readers[input].insert(id);
  }
  std::map<std::string, LayerId> last_tied;
  for (const LayerId id : graph.layers.ids()) {
    const Layer& layer = graph.layers[id];
    if (request.tied_together && !layer.tied.empty()) {
      const auto [other, fresh] = last_tied.emplace(layer.tied, id);
      if (!fresh) bond(other->second, id);
    }
    if (untimed == MergeUntimed::none || time_of(times[id], request.rules) > Duration{0}) continue;
    const auto with = companion(graph, request.rules, untimed, free, readers, id);
    if (with) bond(*with, id);
  }
}

/// Numbers components so that edges go upwards and, where they leave it open, in the model's order.
std::vector<std::uint32_t> ordered(std::size_t count,
                                   const std::set<Edge>& edges,
                                   const std::vector<std::uint32_t>& first_layer) {
  std::vector<std::uint32_t> waiting(count, 0);
  std::vector<std::vector<std::uint32_t>> after(count);
  for (const Edge& edge : edges) {
    ++waiting[edge.second];
    after[edge.first].push_back(edge.second);
  }
  using Entry = std::pair<std::uint32_t, std::uint32_t>;  // first layer, component
  std::priority_queue<Entry, std::vector<Entry>, std::greater<>> ready;
  for (std::uint32_t c = 0; c < count; ++c) {
    if (waiting[c] == 0) ready.emplace(first_layer[c], c);
  }
  std::vector<std::uint32_t> number(count, 0);
  for (std::uint32_t next = 0; !ready.empty(); ++next) {
    const std::uint32_t component = ready.top().second;
    ready.pop();
    number[component] = next;
    for (const std::uint32_t reader : after[component]) {
      if (--waiting[reader] == 0) ready.emplace(first_layer[reader], reader);
    }
  }
  return number;
}

}  // namespace

LayerGroups group_layers(const LayerGraph& graph,
                         const IdVector<LayerId, LayerTimes>& times,
                         const PartitionRequest& request,
                         MergeUntimed untimed) {
  const auto free = free_layers(graph, times, request.rules);
  const std::vector<Edge> reads = layer_edges(graph);
  std::vector<Edge> bonded = reads;
  add_bonds(graph, times, request, untimed, free, bonded);
  const std::vector<std::uint32_t> component = strong_components(graph.layers.size(), bonded);

  // A free layer that is bonded to others keeps its component; alone it has none.
  std::map<std::uint32_t, std::uint32_t> size;
  for (const std::uint32_t c : component) ++size[c];
  std::map<std::uint32_t, std::uint32_t> compact;  // component -> 0..count-1
  std::vector<std::uint32_t> first_layer;
  IdVector<LayerId, std::uint32_t> group_of(graph.layers.size(), LayerGroups::none);
  for (const LayerId id : graph.layers.ids()) {
    const std::uint32_t c = component[id.value()];
    if (free[id] != 0 && size[c] == 1) continue;
    const auto [place, fresh] = compact.emplace(c, static_cast<std::uint32_t>(compact.size()));
    if (fresh) first_layer.push_back(id.value());
    group_of[id] = place->second;
  }
  std::set<Edge> edges;
  for (const Edge& edge : reads) {
    const Edge between{group_of[LayerId{edge.first}], group_of[LayerId{edge.second}]};
    if (between.first == between.second || between.first == LayerGroups::none) continue;
    if (between.second != LayerGroups::none) edges.insert(between);
  }
  const std::vector<std::uint32_t> number = ordered(compact.size(), edges, first_layer);
  LayerGroups groups;
  groups.count = compact.size();
  for (std::uint32_t& group : group_of) {
    if (group != LayerGroups::none) group = number[group];
  }
  groups.group_of = std::move(group_of);
  for (const Edge& edge : edges) groups.edges.emplace_back(number[edge.first], number[edge.second]);
  std::sort(groups.edges.begin(), groups.edges.end());
  return groups;
}

IdVector<LayerId, std::uint32_t> LayerGroups::spread(
    const LayerGraph& graph, const std::vector<std::uint32_t>& stage_of_group) const {
  IdVector<LayerId, std::uint32_t> stage(graph.layers.size(), none);
  for (const LayerId id : graph.layers.ids()) {
    if (group_of[id] != none) stage[id] = stage_of_group[group_of[id]];
  }
  // Free layers read only free layers, so some pass gives each of them a stage.
  for (bool changed = true; changed;) {
    changed = false;
    for (const LayerId id : graph.layers.ids()) {
      for (const LayerId input : graph.layers[id].inputs) {
        if (group_of[input] != none || stage[id] >= stage[input]) continue;
        stage[input] = stage[id];
        changed = true;
      }
    }
  }
  return stage;
}

}  // namespace schedlab::detail

namespace schedlab {

std::vector<std::vector<LayerId>> layers_on_cycles(const LayerGraph& graph) {
  const auto component = strong_components(graph.layers.size(), layer_edges(graph));
  std::map<std::uint32_t, std::vector<LayerId>> members;
  for (const LayerId id : graph.layers.ids()) members[component[id.value()]].push_back(id);
  std::vector<std::vector<LayerId>> cycles;
  for (auto& [number, layers] : members) {
    if (layers.size() > 1) cycles.push_back(layers);
  }
  std::sort(cycles.begin(), cycles.end());
  return cycles;
}

}  // namespace schedlab
