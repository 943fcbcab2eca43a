// SPDX-License-Identifier: Apache-2.0
#include "studies/training/resolved_training.hpp"

#include "hw_models/fixed.hpp"
#include "policies/registry.hpp"
#include "real_exec/cpu/cpu_executor.hpp"
#include "real_exec/ranks/packed_items.hpp"
#include "sim/base/error.hpp"
#include "sim/plan/plan_check.hpp"
#include "studies/training/measured_cut.hpp"
#include "studies/training/rank_costs_json.hpp"
#include "workloads/pipeline/pipeline_graph.hpp"

#include <fmt/format.h>

namespace schedlab {
namespace {

/// Messages up to this are buffered by the receiver: Open MPI's btl_vader_eager_limit.
constexpr Bytes mpi_eager_limit{4096};

/// Durations that are given, and all-reduces as they were measured.
class MeasuredRanks final : public CostModel {
 public:
  explicit MeasuredRanks(const RankCosts& costs) : costs_(costs) {}
  [[nodiscard]] std::string_view name() const override { return "measured ranks"; }
  [[nodiscard]] Estimate estimate(const Operation& operation, const Device& device) const override {
    return fixed_.estimate(operation, device);
  }
  [[nodiscard]] Estimate estimate_collective(const Operation& operation,
                                             const CollectiveSpec& spec,
                                             std::span<const std::uint32_t> /*ranks*/,
                                             const Platform& platform,
                                             DeviceId kind) const override {
    Estimate estimate = fixed_.estimate(operation, platform.devices[kind]);
    for (const auto& [bytes, time] : costs_.sums) {
      if (bytes == spec.bytes) estimate.duration = time;
    }
    return estimate;
  }

 private:
  const RankCosts& costs_;
  FixedCost fixed_;
};

/// Every task is one call of its rank, which goes on when the task is done: what the call costs
/// comes before the next task, as the task itself does.
PipelineCosts with_calls(PipelineCosts costs, Duration call) {
  for (StageCosts& stage : costs.stages) {
    for (PassCost* cost :
         {&stage.whole.forward, &stage.whole.backward_data, &stage.whole.backward_weight}) {
      cost->fixed += call;
    }
    stage.whole.update += call;
    for (auto* parts : {&stage.forward, &stage.backward_data, &stage.backward_weight}) {
      for (Duration& part : *parts) part += call;
    }
  }
  for (PackCosts& link : costs.links) {
    link.pack.fixed += call;
    link.unpack.fixed += call;
  }
  return costs;
}

Platform ranks_platform(std::uint32_t ranks, const RankCosts& costs) {
  Platform platform = ideal_platform();
  platform.name = "ranks";
  platform.ranks = ranks;
  HostCosts& host = platform.hosts[HostId{0}].costs;
  host.record = costs.call;
  host.wait = costs.call;
  host.synchronize = costs.call;
  host.send = costs.call + costs.send;
  host.receive = costs.call + costs.receive;
  if (costs.latency > Duration{0}) {
    platform.network.topology = Topology::fat_tree;
    // Up to the switch and down again. Bytes move in the calls of their receiver, see
    // measure_messages(): no bandwidth.
    platform.network.node = {.bandwidth = {}, .latency = costs.latency / 2};
    platform.network.eager_threshold = mpi_eager_limit;
  }
  return platform;
}

/// The stages, decided by rank 0.
std::vector<NetLayerRange> agreed_stages(const TrainingSpec& spec,
                                         std::uint32_t stages,
                                         const LinkSpeed& speed,
                                         RankLink& link) {
  std::string text;
  if (link.rank() == 0) detail::append_items(text, cut_layers(spec, stages, speed));
  text = broadcast_text(link, text);
  std::string_view rest = text;
  return layer_ranges(detail::take_items<std::int64_t>(rest));
}

Plan plan_of(const TrainingSpec& spec, const Problem& problem, bool checked) {
  Plan plan = make_policy(spec.policy, spec.policy_options)->plan(problem);
  const std::vector<Finding> findings =
      checked ? check(problem.graph, problem.platform, plan) : std::vector<Finding>{};
  if (findings.empty()) return plan;
  const bool stuck = findings.front().kind == FindingKind::deadlock;
  throw InfeasibleError(fmt::format("plan of {}: {}{}",
                                    spec.policy,
                                    findings.front().message,
                                    stuck ? "\n  use \"transfers\": \"overlapped\"" : ""));
}

}  // namespace

void expect_plan(const TrainingSpec& spec, std::uint32_t stages) {
  const bool cut = !spec.layers_per_stage.empty();
  PipelineTraining training = spec.training;
  training.stages = layer_ranges(
      cut ? cut_layers(spec, stages, {})
          : equal_parts(static_cast<std::int64_t>(training.net.layers.size()), stages));
  const TaskGraph graph = pipeline_graph(pipeline_spec(training));
  RankCosts costs;
  costs.latency = Duration{1};  // so that there is a network, with its eager limit
  const Platform platform = ranks_platform(graph.rank_count(), costs);
  const CostTable table(graph, platform, MeasuredRanks{costs});
  static_cast<void>(plan_of(spec, {graph, platform, table}, cut));
}

ResolvedTraining resolve_training(const TrainingSpec& spec, RankLink& link) {
  ResolvedTraining resolved;
  resolved.training = spec.training;
  resolved.cut_by_time = spec.layers_per_stage.empty();
  resolved.link = measure_link(link);
  const std::uint32_t stages = stages_for_ranks(spec, static_cast<std::uint32_t>(link.size()));
  resolved.training.stages = agreed_stages(spec, stages, resolved.link, link);
  const RankCosts measured =
      measure_rank_costs(resolved.training, link, available_cores(), mpi_eager_limit);
  resolved.costs = rank_costs_from_json(
      broadcast_text(link, link.rank() == 0 ? rank_costs_to_json(measured) : std::string{}));
  resolved.graph = pipeline_graph(
      pipeline_spec(resolved.training, with_calls(resolved.costs.pipeline, resolved.costs.call)));
  resolved.platform = ranks_platform(resolved.graph.rank_count(), resolved.costs);
  resolved.table = CostTable(resolved.graph, resolved.platform, MeasuredRanks{resolved.costs});
  resolved.plan = plan_of(spec, resolved.problem(), true);
  return resolved;
}

}  // namespace schedlab
