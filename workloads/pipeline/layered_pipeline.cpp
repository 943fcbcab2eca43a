// SPDX-License-Identifier: Apache-2.0
#include "workloads/pipeline/layered_pipeline.hpp"

#include "sim/base/error.hpp"
#include "sim/pipeline/partition_profile.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace schedlab {
namespace {

using LayerOperations = std::vector<OperationId>;

/// The operations of the layers of a stage in one pass; backward visits layers from last to first.
LayerOperations operations_of(const LayerGraph& graph,
                              const PartitionStage& stage,
                              OperationId Layer::*pass,
                              bool backward) {
  LayerOperations result;
  for (const LayerId layer : stage.layers) {
    if ((graph.layers[layer].*pass).valid()) result.push_back(graph.layers[layer].*pass);
  }
  if (backward) std::reverse(result.begin(), result.end());
  return result;
}

/// Makes the operations of whole passes of one kind, one for all stages with the same layers.
class WholePasses {
 public:
  WholePasses(const LayerGraph& graph,
              std::string_view name,
              TaskClass task_class,
              IdVector<OperationId, Operation>& made)
      : graph_(graph), name_(name), class_(task_class), made_(made) {}

  [[nodiscard]] LayerOperations of(const LayerOperations& parts) {
    if (parts.empty()) return {};
    const auto [found, is_new] = known_.try_emplace(parts);
    if (is_new) found->second = made_.push_back(joined(parts));
    return {found->second};
  }

 private:
  [[nodiscard]] Operation joined(const LayerOperations& parts) const {
    Operation whole{.name = name_, .kind = TaskKind::fixed, .task_class = class_};
    std::size_t with_kernels = 0;
    for (const OperationId part : parts) {
      const Operation& operation = graph_.operations[part];
      whole.kernels.insert(whole.kernels.end(), operation.kernels.begin(), operation.kernels.end());
      whole.fixed_duration += operation.fixed_duration;
      if (!operation.kernels.empty()) ++with_kernels;
    }
    if (with_kernels == 0) return whole;
    if (with_kernels != parts.size()) {
      throw InfeasibleError(fmt::format(
          "pipeline: of the layers from {} on some have kernels and some a duration\n  make "
          "operators tasks of their own",
          graph_.operations[parts.front()].name));
    }
    whole.kind = whole.kernels.size() == 1 ? whole.kernels.front().kind : TaskKind::composite;
    return whole;
  }

  const LayerGraph& graph_;
  std::string name_;
  TaskClass class_;
  IdVector<OperationId, Operation>& made_;
  std::map<LayerOperations, OperationId> known_;
};

/// Of all layers at one rate; all 0 without one.
IdVector<LayerId, LayerTimes> times_at(const LayerGraph& graph, FlopRate rate) {
  IdVector<LayerId, LayerTimes> times(graph.layers.size());
  if (rate.count() <= 0) return times;
  const auto time = [&](OperationId id) {
    return id.valid() ? graph.operations[id].flops() / rate : Duration{0};
  };
  for (const LayerId id : graph.layers.ids()) {
    const Layer& layer = graph.layers[id];
    times[id] = {.forward = time(layer.forward),
                 .backward_data = time(layer.backward_data),
                 .backward_weight = time(layer.backward_weight),
                 .update = Duration{0}};
  }
  return times;
}

StageOperators stage_operators(const LayerGraph& graph,
                               const Partition& partition,
                               bool whole_passes) {
  StageOperators operators;
  if (!whole_passes) operators.operations = graph.operations;
  auto& made = operators.operations;
  WholePasses forward{graph, "forward", TaskClass::unclassified, made};
  WholePasses data{graph, "backward_data", TaskClass::unclassified, made};
  WholePasses weight{graph, "backward_weight", TaskClass::weight_gradient, made};
  WholePasses update{graph, "update", TaskClass::update, made};
  for (const PartitionStage& stage : partition.stages) {
    StageOperators::Passes own{
        .forward = operations_of(graph, stage, &Layer::forward, false),
        .backward_data = operations_of(graph, stage, &Layer::backward_data, true),
        .backward_weight = operations_of(graph, stage, &Layer::backward_weight, true),
        .update = operations_of(graph, stage, &Layer::update, false)};
    if (whole_passes) {
      own.forward = forward.of(own.forward);
      own.backward_data = data.of(own.backward_data);
      own.backward_weight = weight.of(own.backward_weight);
      own.update = update.of(own.update);
    }
    operators.stages.push_back(std::move(own));
  }
  return operators;
}

}  // namespace

PipelineSpec layered_pipeline(const LayerGraph& graph,
                              const Partition& partition,
                              const LayeredPasses& passes) {
  PipelineSpec spec;
  spec.profile = partition_profile(
      graph, times_at(graph, passes.rate), partition, passes.labels, passes.optimizer_copies);
  if (passes.rate.count() > 0) {
    for (StageProfile& stage : spec.profile.stages) {
      stage.forward.fixed += passes.overhead;
      stage.backward_weight.fixed += passes.overhead;
    }
  } else {
    spec.operators = stage_operators(graph, partition, !passes.operators);
  }
  return spec;
}

}  // namespace schedlab
