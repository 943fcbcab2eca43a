// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "hw_models/machine_spec.hpp"
#include "hw_models/registry.hpp"
#include "tests/policies/pipeline_support.hpp"
#include "workloads/pipeline/gpt_layer_graph.hpp"
#include "workloads/registry.hpp"

#include <doctest/doctest.h>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <map>
#include <string>

namespace schedlab::testing {

inline GptSpec small_gpt(std::int64_t ranks, bool sequence_parallel = false) {
  GptSpec spec;
  spec.blocks = 2;
  spec.samples = 2;
  spec.vocabulary = 512;
  spec.hidden = 256;
  spec.heads = 8;
  spec.window = 64;
  spec.stride = 0;
  spec.tensor_parallel = ranks;
  spec.sequence_parallel = sequence_parallel;
  return spec;
}

inline const Layer& layer_named(const LayerGraph& graph, const std::string& name) {
  for (const Layer& layer : graph.layers) {
    if (layer.name == name) return layer;
  }
  FAIL(name);
  return graph.layers[LayerId{0}];
}

/// FLOPs of the matrix products of a pass.
inline double product_flops(const LayerGraph& graph, const Layer& layer, LayerPass pass) {
  double sum = 0;
  for (const Kernel& kernel : graph.operations[layer.of(pass)].kernels) {
    if (kernel.kind == TaskKind::gemm) sum += kernel.flops.count();
  }
  return sum;
}

inline std::size_t joins_of(const Layer& layer, LayerPass pass, CollectiveOp op) {
  return static_cast<std::size_t>(
      std::count_if(layer.joins.begin(), layer.joins.end(), [&](const LayerJoin& join) {
        return join.pass == pass && join.op == op;
      }));
}

/// An iteration of that GPT on H200s.
struct GptRun {
  TaskGraph graph;
  Platform platform = load_machine("h200").platform;
  CostTable costs;
  Plan plan;
  Trace trace;

  explicit GptRun(std::map<std::string, OptionValue> options,
                  const std::string& policy = "pipeline_1f1b",
                  const std::map<std::string, OptionValue>& policy_options = {}) {
    for (const auto& [name, value] :
         std::map<std::string, OptionValue>{{"blocks", std::int64_t{4}},
                                            {"hidden", std::int64_t{256}},
                                            {"heads", std::int64_t{8}},
                                            {"window", std::int64_t{64}},
                                            {"vocabulary", std::int64_t{512}},
                                            {"stride", std::int64_t{0}},
                                            {"expressivity", std::int64_t{1}}}) {
      options.emplace(name, value);
    }
    graph = make_workload("gpt_pipeline", options);
    platform.ranks = graph.rank_count();
    costs = CostTable(graph, platform, *make_cost_model("tiled_gemm"));
    plan = make_policy(policy, policy_options)->plan(problem());
    for (const Finding& finding : check(graph, platform, plan)) {
      CAPTURE(policy);
      CAPTURE(finding.message);
      CHECK(false);
    }
    trace = simulate(problem(), plan);
  }
  [[nodiscard]] Problem problem() const { return {graph, platform, costs}; }
};

}  // namespace schedlab::testing
