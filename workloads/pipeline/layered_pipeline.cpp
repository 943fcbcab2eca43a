// SPDX-License-Identifier: Apache-2.0
#include "workloads/pipeline/layered_pipeline.hpp"

#include "sim/base/error.hpp"
#include "sim/pipeline/partition_profile.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cstddef>
#include <map>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace schedlab {
namespace {

using LayerOperations = std::vector<OperationId>;

/// Passes of layers as operations between which collectives stand.
class LayerPieces {
 public:
  LayerPieces(const LayerGraph& graph, bool kernels) : graph_(graph), kernels_(kernels) {
    all.operations = graph.operations;
  }

  /// Those of the layers of a stage; backward visits layers from last to first. `parameters`: what
  /// each reads first.
  [[nodiscard]] LayerOperations of(const PartitionStage& stage,
                                   LayerPass pass,
                                   std::vector<Bytes>* parameters = nullptr) {
    LayerOperations result;
    const auto add = [&](LayerId id) {
      const LayerOperations& pieces = of(graph_.layers[id], pass);
      result.insert(result.end(), pieces.begin(), pieces.end());
      if (parameters == nullptr || pieces.empty()) return;
      parameters->push_back(graph_.layers[id].parameters);
      parameters->resize(result.size());
    };
    if (pass == LayerPass::forward) {
      std::for_each(stage.layers.begin(), stage.layers.end(), add);
    } else {
      std::for_each(stage.layers.rbegin(), stage.layers.rend(), add);
    }
    return result;
  }
  [[nodiscard]] LayerOperations updates_of(const PartitionStage& stage) const {
    LayerOperations result;
    for (const LayerId id : stage.layers) {
      if (graph_.layers[id].update.valid()) result.push_back(graph_.layers[id].update);
    }
    return result;
  }

  StageOperators all;  ///< without stages

 private:
  [[nodiscard]] const LayerOperations& of(const Layer& layer, LayerPass pass) {
    static const LayerOperations nothing;
    const OperationId whole = layer.of(pass);
    if (!whole.valid()) return nothing;
    const auto [found, is_new] = known_.try_emplace(whole);
    LayerOperations& pieces = found->second;
    if (!is_new) return pieces;
    std::size_t next = 0;
    for (const LayerJoin& join : layer.joins) {
      if (join.pass != pass) continue;
      add_kernels(whole, next, join.kernels, pieces);
      next = join.kernels;
      pieces.push_back(all.operations.push_back({.name = std::string{to_string(join.op)},
                                                 .kind = TaskKind::collective,
                                                 .task_class = TaskClass::unclassified,
                                                 .kernels = {},
                                                 .fixed_duration = Duration{0}}));
      all.collectives[pieces.back()] = {.op = join.op, .bytes = join.bytes};
    }
    if (pieces.empty() && (!kernels_ || graph_.operations[whole].kernels.size() < 2)) {
      pieces.push_back(whole);
    } else {
      add_kernels(whole, next, graph_.operations[whole].kernels.size(), pieces);
    }
    return pieces;
  }

  void add_kernels(OperationId whole, std::size_t begin, std::size_t end, LayerOperations& pieces) {
    if (kernels_ && end - begin > 1) {
      for (std::size_t i = begin; i < end; ++i) add_kernels(whole, i, i + 1, pieces);
      return;
    }
    if (begin == end) return;
    Operation piece = graph_.operations[whole];
    piece.kernels.assign(
        graph_.operations[whole].kernels.begin() + static_cast<std::ptrdiff_t>(begin),
        graph_.operations[whole].kernels.begin() + static_cast<std::ptrdiff_t>(end));
    piece.kind = piece.kernels.size() == 1 ? piece.kernels.front().kind : TaskKind::composite;
    if (kernels_) piece.name += fmt::format(".{}", begin);
    pieces.push_back(all.operations.push_back(std::move(piece)));
  }

  const LayerGraph& graph_;
  bool kernels_;
  std::map<OperationId, LayerOperations> known_;
};

/// Makes the operations of whole passes of one kind, one for all stages with the same layers.
class WholePasses {
 public:
  WholePasses(const StageOperators& parts,
              std::string_view name,
              TaskClass task_class,
              StageOperators& made)
      : parts_(parts), name_(name), class_(task_class), made_(made) {}

  /// One operation for all between two collectives.
  [[nodiscard]] LayerOperations of(const LayerOperations& parts) {
    LayerOperations result;
    LayerOperations run;
    const auto flush = [&] {
      if (!run.empty()) result.push_back(whole(run));
      run.clear();
    };
    for (const OperationId part : parts) {
      const auto collective = parts_.collectives.find(part);
      if (collective == parts_.collectives.end()) {
        run.push_back(part);
        continue;
      }
      flush();
      run = {part};
      flush();
      made_.collectives[result.back()] = collective->second;
    }
    flush();
    return result;
  }

 private:
  [[nodiscard]] OperationId whole(const LayerOperations& parts) {
    const auto [found, is_new] = known_.try_emplace(parts);
    if (is_new) {
      found->second = made_.operations.push_back(parts_.collectives.contains(parts.front())
                                                     ? parts_.operations[parts.front()]
                                                     : joined(parts));
    }
    return found->second;
  }

  [[nodiscard]] Operation joined(const LayerOperations& parts) const {
    Operation whole{.name = name_, .kind = TaskKind::fixed, .task_class = class_};
    std::size_t with_kernels = 0;
    for (const OperationId part : parts) {
      const Operation& operation = parts_.operations[part];
      whole.kernels.insert(whole.kernels.end(), operation.kernels.begin(), operation.kernels.end());
      whole.fixed_duration += operation.fixed_duration;
      if (!operation.kernels.empty()) ++with_kernels;
    }
    if (with_kernels == 0) return whole;
    if (with_kernels != parts.size()) {
      throw InfeasibleError(fmt::format(
          "pipeline: of the layers from {} on some have kernels and some a duration\n  make "
          "operators tasks of their own",
          parts_.operations[parts.front()].name));
    }
    whole.kind = whole.kernels.size() == 1 ? whole.kernels.front().kind : TaskKind::composite;
    return whole;
  }

  const StageOperators& parts_;
  std::string name_;
  TaskClass class_;
  StageOperators& made_;
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
                               const LayeredPasses& passes) {
  LayerPieces pieces{graph, passes.operators && passes.kernels};
  std::vector<StageOperators::Passes> stages;
  for (const PartitionStage& stage : partition.stages) {
    StageOperators::Passes& own = stages.emplace_back();
    own.forward = pieces.of(stage, LayerPass::forward, &own.forward_parameters);
    own.backward_data = pieces.of(stage, LayerPass::backward_data, &own.backward_parameters);
    own.backward_weight = pieces.of(stage, LayerPass::backward_weight);
    own.update = pieces.updates_of(stage);
  }
  if (passes.operators) {
    pieces.all.stages = std::move(stages);
    return std::move(pieces.all);
  }
  StageOperators made;
  WholePasses forward{pieces.all, "forward", TaskClass::unclassified, made};
  WholePasses data{pieces.all, "backward_data", TaskClass::unclassified, made};
  WholePasses weight{pieces.all, "backward_weight", TaskClass::weight_gradient, made};
  WholePasses update{pieces.all, "update", TaskClass::update, made};
  for (const StageOperators::Passes& own : stages) {
    made.stages.push_back({.forward = forward.of(own.forward),
                           .backward_data = data.of(own.backward_data),
                           .backward_weight = weight.of(own.backward_weight),
                           .update = update.of(own.update)});
  }
  return made;
}

}  // namespace

PipelineSpec layered_pipeline(const LayerGraph& graph,
                              const Partition& partition,
                              const LayeredPasses& passes) {
  if (graph.tensor_parallel > 1 && passes.rate.count() > 0) {
    throw InfeasibleError(
        "pipeline: collectives of layers that ranks share have no rate\n  leave gflop_per_s out, "
        "or set tensor_parallel to 1");
  }
  PipelineSpec spec;
  spec.tensor_parallel = graph.tensor_parallel;
  spec.expert_parallel = graph.expert_parallel;
  spec.profile = partition_profile(
      graph, times_at(graph, passes.rate), partition, passes.labels, passes.optimizer_copies);
  if (passes.rate.count() > 0) {
    for (StageProfile& stage : spec.profile.stages) {
      stage.forward.fixed += passes.overhead;
      stage.backward_weight.fixed += passes.overhead;
    }
  } else {
    spec.operators = stage_operators(graph, partition, passes);
    LayerGraph other = graph;
    for (const auto& operations : graph.other_operations) {
      other.operations = operations;
      spec.operators->other_operations.push_back(
          stage_operators(other, partition, passes).operations);
    }
  }
  return spec;
}

}  // namespace schedlab
