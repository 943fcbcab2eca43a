// SPDX-License-Identifier: Apache-2.0
#include "studies/training/measured_cut.hpp"

#include "policies/pipeline/partitioner.hpp"
#include "real_exec/training/rank_costs.hpp"
#include "sim/base/error.hpp"

#include <fmt/format.h>

#include <string>
#include <utility>

namespace schedlab {
namespace {

constexpr std::uint32_t measuring_visits = 20;  // assumed: enough for a median

/// The layers as the partitioner sees them: exact bytes, and times if they are measured.
LayerGraph layer_graph(const PipelineTraining& whole, bool measured) {
  PipelineTraining single = whole;
  single.virtual_stages = 1;
  single.by_layer = false;
  single.stages = layer_ranges(std::vector<std::int64_t>(whole.net.layers.size(), std::int64_t{1}));
  PipelineCosts costs;
  if (measured) costs.stages = measure_stages(single, measuring_visits);
  const PipelineSpec spec = pipeline_spec(single, costs);
  const std::int64_t samples = whole.samples(0, 0, 0).count;
  LayerGraph graph;
  graph.name = "net";
  graph.samples = samples;
  const auto operation = [&](const std::string& name, Duration duration) {
    return graph.operations.push_back(
        {.name = name, .kind = TaskKind::fixed, .fixed_duration = duration});
  };
  const auto& stages = spec.profile.stages;
  for (std::size_t i = 0; i < stages.size(); ++i) {
    const StageProfile& stage = stages[i];
    Layer layer;
    const std::string& name = whole.net.layers[i].name;
    layer.name = name.empty() ? fmt::format("layer {}", i) : name;
    layer.forward = operation("forward", stage.forward.of(samples));
    layer.backward_data = operation("backward_data", stage.backward_data.of(samples));
    layer.backward_weight = operation("backward_weight", stage.backward_weight.of(samples));
    layer.parameters = stage.parameters;
    // What comes in is the output of the layer before, or has been received.
    const Bytes input = i == 0 ? Bytes{0} : spec.profile.links[i - 1].bytes;
    layer.kept = Bytes{(stage.kept_activations - input).count() * samples};
    if (i + 1 < stages.size()) {
      layer.activation = Bytes{spec.profile.links[i].encoded.count() * samples};
    }
    if (i > 0) layer.inputs.emplace_back(static_cast<std::uint32_t>(i - 1));
    graph.layers.push_back(std::move(layer));
  }
  return graph;
}

StageRules rules_of(const TrainingSpec& spec, const LinkSpeed& link) {
  StageRules rules;
  rules.microbatches = spec.training.microbatches;
  rules.bandwidth = link.bandwidth;
  rules.latency = link.latency;
  rules.in_flight = spec.policy == "pipeline_naive"   ? InFlight::one
                    : spec.policy == "pipeline_flush" ? InFlight::all
                                                      : InFlight::later_stages;
  // Weights and gradients, and Adam's two moments.
  rules.parameter_copies = spec.training.setting.optimizer.kind == Optimizer::adam ? 4.0 : 2.0;
  return rules;
}

void expect_fits(const TrainingSpec& spec, const StageRules& rules) {
  const LayerGraph graph = layer_graph(spec.training, false);
  const Partition cut = make_partition(
      graph, layer_times(graph), consecutive_stages(graph, spec.layers_per_stage), {}, rules);
  for (std::size_t i = 0; i < cut.stages.size(); ++i) {
    const Bytes needed = cut.stages[i].memory;
    if (needed <= spec.memory_limit) continue;
    throw InfeasibleError(
        fmt::format("{}: stage {} of {} layers from \"{}\" needs {} bytes, memory_limit_mib allows "
                    "{}\n  cut elsewhere, raise the limit, or lower the samples of a micro-batch",
                    spec.file,
                    i,
                    cut.stages[i].layers.size(),
                    graph.layers[cut.stages[i].layers.front()].name,
                    needed.count(),
                    spec.memory_limit.count()),
        "memory",
        fmt::format("{} bytes", needed.count()),
        fmt::format("{} bytes", spec.memory_limit.count()));
  }
}

}  // namespace

std::vector<std::int64_t> cut_layers(const TrainingSpec& spec,
                                     std::uint32_t stages,
                                     const LinkSpeed& link) {
  PartitionRequest request;
  request.rules = rules_of(spec, link);
  if (!spec.layers_per_stage.empty()) {
    if (spec.memory_limit > Bytes{0}) expect_fits(spec, request.rules);
    return spec.layers_per_stage;
  }
  request.accelerators = stages;
  request.use_all = true;
  request.memory_limit = spec.memory_limit;
  request.objective = spec.balance_memory ? PartitionObjective::memory : PartitionObjective::load;
  request.merge_untimed = false;
  const LayerGraph graph = layer_graph(spec.training, true);
  const PartitionResult found = partition_layers(graph, layer_times(graph), request);
  std::vector<std::int64_t> counts;
  for (const PartitionStage& stage : found.partition.stages) {
    counts.push_back(static_cast<std::int64_t>(stage.layers.size()));
  }
  return counts;
}

}  // namespace schedlab
