// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "policies/registry.hpp"
#include "sim/engine/simulator.hpp"
#include "sim/pipeline/pipeline_work.hpp"
#include "sim/plan/plan_check.hpp"
#include "sim/trace/memory_use.hpp"
#include "workloads/pipeline/pipeline_graph.hpp"

#include <doctest/doctest.h>

#include <map>
#include <string>
#include <utility>
#include <vector>

namespace schedlab::testing {

inline const std::vector<std::string>& pipeline_policy_names() {
  static const std::vector<std::string> names{"pipeline_naive",
                                              "pipeline_flush",
                                              "pipeline_1f1b",
                                              "pipeline_interleaved_1f1b",
                                              "pipeline_zb_h1"};
  return names;
}

/// Where the policy wants stages to be.
inline StagePlacement placement_for(const std::string& policy) {
  if (policy == "pipeline_dualpipe" || policy == "pipeline_chimera") {
    return StagePlacement::bidirectional;
  }
  const bool v = policy == "pipeline_zb_v" || policy == "pipeline_dualpipe_v";
  return v ? StagePlacement::v : StagePlacement::loop;
}

/// Equal stages, one sample in each micro-batch, messages that take no time.
inline PipelineSpec equal_pipeline(std::uint32_t stages, std::int64_t microbatches) {
  PipelineSpec spec;
  spec.profile.stages.assign(stages,
                             {.name = "stage",
                              .forward = {.fixed = Duration{1'000'000}},
                              .backward_data = {.fixed = Duration{1'000'000}},
                              .backward_weight = {.fixed = Duration{1'000'000}}});
  spec.profile.links = chain_links(stages, Bytes{0});
  spec.batch = microbatches;
  spec.microbatches = microbatches;
  return spec;
}

/// The same for so many ranks, whose stages are placed; two on each rank of a V.
inline PipelineSpec placed_pipeline(StagePlacement placement,
                                    std::uint32_t ranks,
                                    std::int64_t microbatches) {
  const std::uint32_t each = placement == StagePlacement::v ? 2 : 1;
  PipelineSpec spec = equal_pipeline(each * ranks, microbatches);
  spec.virtual_stages = each;
  spec.placement = placement;
  return spec;
}

/// A pipeline's graph on a machine without a network and host costs, planned, checked and run.
struct PipelineRun {
  TaskGraph graph;
  Platform platform = ideal_platform();
  CostTable costs;
  Plan plan;
  Trace trace;

  explicit PipelineRun(const PipelineSpec& spec,
                       const std::string& policy,
                       const std::map<std::string, OptionValue>& options = {})
      : graph(pipeline_graph(spec)) {
    platform.ranks = graph.rank_count();
    costs = CostTable(graph, platform);
    plan = make_policy(policy, options)->plan(problem());
    for (const Finding& finding : check(graph, platform, plan)) {
      CAPTURE(policy);
      CAPTURE(finding.message);
      CHECK(false);
    }
    trace = simulate(problem(), plan);
  }

  [[nodiscard]] Problem problem() const { return {graph, platform, costs}; }
  [[nodiscard]] std::vector<Bytes> peaks() const {
    std::vector<Bytes> result;
    for (const DeviceMemory& memory : memory_use(problem(), trace)) result.push_back(memory.peak);
    return result;
  }
};

}  // namespace schedlab::testing
