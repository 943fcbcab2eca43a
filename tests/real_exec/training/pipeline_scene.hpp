// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "policies/registry.hpp"
#include "real_exec/ranks/rank_link.hpp"
#include "real_exec/training/pipeline_run.hpp"
#include "sim/plan/plan_check.hpp"
#include "workloads/pipeline/pipeline_graph.hpp"

#include <map>
#include <stdexcept>
#include <string>
#include <utility>
#include <vector>

namespace schedlab::testing {

/// A small net with every kind of layer that reads pictures, cut into stages.
inline PipelineTraining small_training(std::vector<std::int64_t> layers_per_stage) {
  PipelineTraining training;
  training.net = {.input = {6, 6, 1},
                  .layers = {{.kind = NetLayerKind::conv2d, .units = 4, .relu = true},
                             {.kind = NetLayerKind::max_pool, .window = 2},
                             {.kind = NetLayerKind::dropout, .rate = 0.25},
                             {.kind = NetLayerKind::dense, .units = 8, .relu = true},
                             {.kind = NetLayerKind::dense, .units = 3}}};
  training.stages = layer_ranges(layers_per_stage);
  training.data = synthetic_samples(training.net.input, 3, 90, 0.1, 5);
  training.setting.optimizer.learning_rate = 0.1;
  training.batch = 13;  // does not divide into its micro-batches
  training.microbatches = 4;
  return training;
}

/// A GPT of two blocks on text, 22 layers; without its last normalisation.
inline PipelineTraining gpt_training(std::vector<std::int64_t> layers_per_stage) {
  constexpr std::int64_t width = 8;
  constexpr std::int64_t length = 6;
  std::string text;
  for (int i = 0; i < 60; ++i) text += i % 3 == 0 ? "one and two " : "and three, ";
  PipelineTraining training;
  training.data = text_samples(text, "text", length);
  training.net = {.input = {length, 1, 1}, .layers = {}, .labels = length};
  auto& layers = training.net.layers;
  layers.push_back({.kind = NetLayerKind::embedding,
                    .name = "state0",
                    .units = width,
                    .vocabulary = training.data.classes});
  const auto dense = [&](std::int64_t units) {
    layers.push_back({.kind = NetLayerKind::dense, .units = units, .per_row = true});
  };
  for (int block = 0; block < 2; ++block) {
    const std::string before = "state" + std::to_string(block);
    const std::string middle = "middle" + std::to_string(block);
    layers.push_back({.kind = NetLayerKind::layer_norm});
    dense(3 * width);
    layers.push_back({.kind = NetLayerKind::attention, .heads = 2});
    dense(width);
    layers.push_back({.kind = NetLayerKind::add, .name = middle, .adds = before});
    layers.push_back({.kind = NetLayerKind::layer_norm});
    dense(4 * width);
    layers.push_back({.kind = NetLayerKind::gelu});
    dense(width);
    layers.push_back(
        {.kind = NetLayerKind::add, .name = "state" + std::to_string(block + 1), .adds = middle});
  }
  dense(training.data.classes);
  training.stages = layer_ranges(layers_per_stage);
  training.setting.optimizer = {.kind = Optimizer::adam, .learning_rate = 0.01};
  training.batch = 12;
  training.microbatches = 4;
  return training;
}

/// A training with its graph and a checked plan.
struct PlannedTraining {
  PipelineTraining training;
  TaskGraph graph;
  Plan plan;

  PlannedTraining(PipelineTraining described,
                  const std::string& policy,
                  const std::map<std::string, OptionValue>& options = {})
      : training(std::move(described)), graph(pipeline_graph(pipeline_spec(training))) {
    Platform platform = ideal_platform();
    platform.ranks = graph.rank_count();
    const CostTable costs(graph, platform);
    plan = make_policy(policy, options)->plan({graph, platform, costs});
    const auto findings = check(graph, platform, plan);
    if (!findings.empty()) throw std::runtime_error(findings.front().message);
  }

  [[nodiscard]] int ranks() const { return static_cast<int>(graph.rank_count()); }
  [[nodiscard]] PipelineRunResult run(RankLink& link, std::int64_t iterations) const {
    return run_pipeline(
        training, graph, plan, link, {.iterations = iterations, .verified_iterations = iterations});
  }
};

}  // namespace schedlab::testing
