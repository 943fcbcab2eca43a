// SPDX-License-Identifier: Apache-2.0
#include "sim/pipeline/partition_profile.hpp"

#include "sim/base/ceil_div.hpp"
#include "sim/base/error.hpp"

#include <fmt/format.h>

#include <cmath>
#include <map>
#include <set>
#include <tuple>
#include <utility>

namespace schedlab {
namespace {

/// The whole picoseconds of each sample; what is left over counts once.
PassCost pass_cost(Duration duration, std::int64_t samples) {
  const Duration each = duration / samples;
  return {.fixed = duration - each * samples, .per_sample = each};
}

Bytes per_sample(Bytes bytes, std::int64_t samples) {
  return Bytes{ceil_div(bytes.count(), samples)};
}

StageProfile stage_profile(const LayerGraph& graph,
                           const IdVector<LayerId, LayerTimes>& times,
                           const PartitionStage& stage,
                           double optimizer_copies) {
  LayerTimes sum;
  Bytes kept = stage.received;
  Bytes gradients;
  Bytes experts;
  for (const LayerId id : stage.layers) {
    const Layer& layer = graph.layers[id];
    sum += times[id];
    kept += layer.kept;
    experts += layer.expert_parameters;
    if (layer.parameters > Bytes{0}) gradients += layer.activation;
  }
  const Layer& first = graph.layers[stage.layers.front()];
  const Layer& last = graph.layers[stage.layers.back()];
  const auto state = static_cast<std::int64_t>(
      std::ceil(optimizer_copies * static_cast<double>(stage.parameters.count())));
  return {.name = stage.layers.size() == 1 ? first.name
                                           : fmt::format("{} to {}", first.name, last.name),
          .forward = pass_cost(sum.forward, graph.samples),
          .backward_data = pass_cost(sum.backward_data, graph.samples),
          .backward_weight = pass_cost(sum.backward_weight, graph.samples),
          .update = sum.update,
          .parameters = stage.parameters,
          .expert_parameters = experts,
          .optimizer_state = Bytes{state},
          .kept_activations = per_sample(kept, graph.samples),
          .kept_gradients = per_sample(gradients, graph.samples)};
}

std::vector<StageLink> stage_links(const LayerGraph& graph, const Partition& partition) {
  std::set<std::tuple<std::uint32_t, std::uint32_t, std::uint32_t>> outputs;  // from, to, layer
  for (const Edge& edge : layer_edges(graph)) {
    const std::uint32_t from = partition.stage_of[LayerId{edge.first}];
    const std::uint32_t to = partition.stage_of[LayerId{edge.second}];
    if (from != to) outputs.emplace(from, to, edge.first);
  }
  std::map<std::pair<std::uint32_t, std::uint32_t>, Bytes> bytes;
  for (const auto& [from, to, layer] : outputs) {
    bytes[{from, to}] += graph.layers[LayerId{layer}].activation;
  }
  std::vector<StageLink> links;
  links.reserve(bytes.size());
  for (const auto& [ends, sum] : bytes) {
    links.push_back(
        {.from = ends.first, .to = ends.second, .bytes = per_sample(sum, graph.samples)});
  }
  return links;
}

}  // namespace

PipelineProfile partition_profile(const LayerGraph& graph,
                                  const IdVector<LayerId, LayerTimes>& times,
                                  const Partition& partition,
                                  Bytes labels,
                                  double optimizer_copies) {
  PipelineProfile profile;
  for (std::size_t i = 0; i < partition.stages.size(); ++i) {
    const PartitionStage& stage = partition.stages[i];
    if (stage.replicas > 1) {
      throw InfeasibleError(fmt::format(
          "layers \"{}\": stage {} has {} replicas; schedules replicate all stages "
          "alike\n  find a partition without replicas, and use `replicas` of the pipeline",
          graph.name,
          i,
          stage.replicas));
    }
    profile.stages.push_back(stage_profile(graph, times, stage, optimizer_copies));
  }
  profile.links = stage_links(graph, partition);
  for (const TiedStages& tied : tied_stages(graph, partition)) {
    profile.tied.push_back({.name = tied.tied, .bytes = tied.parameters, .stages = tied.stages});
  }
  profile.labels = labels;
  expect_valid(profile);
  return profile;
}

}  // namespace schedlab
