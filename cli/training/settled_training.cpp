// SPDX-License-Identifier: Apache-2.0
#include "cli/training/settled_training.hpp"

#include "hw_models/fixed.hpp"
#include "policies/pipeline/partitioner.hpp"
#include "policies/registry.hpp"
#include "sim/base/error.hpp"
#include "sim/plan/plan_check.hpp"
#include "workloads/pipeline/pipeline_graph.hpp"

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include <utility>

namespace schedlab {
namespace {

using Json = nlohmann::json;

constexpr std::uint32_t measuring_runs = 20;
/// Messages up to this are buffered by the receiver: Open MPI's btl_vader_eager_limit.
constexpr Bytes mpi_eager_limit{4096};

/// The layers as the partitioner sees them: measured times, exact bytes.
LayerGraph measured_layers(const PipelineTraining& whole) {
  PipelineTraining single = whole;
  single.chunks = 1;
  single.stages = layer_ranges(std::vector<std::int64_t>(whole.net.layers.size(), std::int64_t{1}));
  const std::vector<StageProfile> times = measure_stages(single, measuring_runs);
  const PipelineSpec sizes = pipeline_spec(single, times);
  const std::int64_t samples = whole.samples(0, 0, 0).count;
  LayerGraph graph;
  graph.name = "net";
  graph.samples = samples;
  const auto operation = [&](const std::string& name, Duration duration) {
    return graph.operations.push_back(
        {.name = name, .kind = TaskKind::fixed, .fixed_duration = duration});
  };
  for (std::size_t i = 0; i < times.size(); ++i) {
    const StageProfile& stage = sizes.profile.stages[i];
    Layer layer;
    layer.name = fmt::format("layer {}", i);
    layer.forward = operation("forward", stage.forward.of(samples));
    layer.backward_data = operation("backward_data", stage.backward_data.of(samples));
    layer.backward_weight = operation("backward_weight", stage.backward_weight.of(samples));
    layer.parameters = stage.parameters;
    layer.kept = Bytes{stage.kept_activations.count() * samples};
    if (i + 1 < times.size()) {
      layer.activation = Bytes{sizes.profile.links[i].bytes.count() * samples};
    }
    if (i > 0) layer.inputs.push_back(LayerId{static_cast<std::uint32_t>(i - 1)});
    graph.layers.push_back(std::move(layer));
  }
  return graph;
}

/// So many stages whose slowest is as fast as can be, transfers on the measured link included.
std::vector<std::int64_t> balanced_layers(const PipelineTraining& training,
                                          std::uint32_t stages,
                                          const LinkSpeed& link) {
  const LayerGraph graph = measured_layers(training);
  PartitionRequest request;
  request.accelerators = stages;
  request.use_all = true;
  request.rules.microbatches = training.microbatches;
  request.rules.bandwidth = link.bandwidth;
  request.rules.latency = link.latency;
  request.merge_untimed = false;
  const PartitionResult found = partition_layers(graph, layer_times(graph), request);
  std::vector<std::int64_t> counts;
  for (const PartitionStage& stage : found.partition.stages) {
    counts.push_back(static_cast<std::int64_t>(stage.layers.size()));
  }
  return counts;
}

Json to_json(const PassCost& cost) {
  return Json::array({cost.fixed.count(), cost.per_sample.count()});
}

PassCost pass_cost(const Json& json) {
  return {.fixed = Duration{json.at(0).get<std::int64_t>()},
          .per_sample = Duration{json.at(1).get<std::int64_t>()}};
}

/// What rank 0 found, for the others.
std::string told(const std::vector<std::int64_t>& layers, const std::vector<StageProfile>& costs) {
  Json json{{"layers", layers}, {"costs", Json::array()}};
  for (const StageProfile& stage : costs) {
    json["costs"].push_back({{"forward", to_json(stage.forward)},
                             {"backward_data", to_json(stage.backward_data)},
                             {"backward_weight", to_json(stage.backward_weight)},
                             {"update", stage.update.count()}});
  }
  return json.dump();
}

std::vector<StageProfile> costs_from(const Json& json) {
  std::vector<StageProfile> costs;
  for (const Json& stage : json.at("costs")) {
    costs.push_back({.forward = pass_cost(stage.at("forward")),
                     .backward_data = pass_cost(stage.at("backward_data")),
                     .backward_weight = pass_cost(stage.at("backward_weight")),
                     .update = Duration{stage.at("update").get<std::int64_t>()}});
  }
  return costs;
}

Platform ranks_platform(std::uint32_t ranks, const LinkSpeed& link) {
  Platform platform = ideal_platform();
  platform.name = "ranks of MPI";
  platform.ranks = ranks;
  if (link.bandwidth.count() > 0) {
    platform.network.topology = Topology::fat_tree;
    // Up to the switch and down again.
    platform.network.node = {.bandwidth = link.bandwidth, .latency = link.latency / 2};
    platform.network.eager_threshold = mpi_eager_limit;
  }
  return platform;
}

}  // namespace

SettledTraining settle_training(const TrainingSpec& spec, RankLink& link) {
  SettledTraining settled;
  settled.training = spec.training;
  settled.cut_by_time = spec.layers_per_stage.empty();
  settled.link = measure_link(link);
  const std::uint32_t stages = stages_for_ranks(spec, static_cast<std::uint32_t>(link.size()));
  std::string text;
  if (link.rank() == 0) {
    const std::vector<std::int64_t> layers =
        settled.cut_by_time ? balanced_layers(spec.training, stages, settled.link)
                            : spec.layers_per_stage;
    settled.training.stages = layer_ranges(layers);
    text = told(layers, measure_stages(settled.training, measuring_runs));
  }
  const Json json = Json::parse(broadcast_text(link, text));
  settled.training.stages = layer_ranges(json.at("layers").get<std::vector<std::int64_t>>());
  settled.costs = costs_from(json);
  settled.graph = pipeline_graph(pipeline_spec(settled.training, settled.costs));
  settled.platform = ranks_platform(settled.graph.rank_count(), settled.link);
  settled.table = CostTable(settled.graph, settled.platform, FixedCost{});
  settled.plan = make_policy(spec.policy, spec.policy_options)->plan(settled.problem());
  const std::vector<Finding> findings = check(settled.graph, settled.platform, settled.plan);
  if (!findings.empty()) {
    throw InfeasibleError(fmt::format("plan of {}: {}", spec.policy, findings.front().message));
  }
  return settled;
}

}  // namespace schedlab
