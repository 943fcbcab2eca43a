// SPDX-License-Identifier: Apache-2.0
#include "studies/reproduction/engine_runs.hpp"

#include "policies/registry.hpp"
#include "sim/engine/simulator.hpp"
#include "studies/reproduction/engine_study.hpp"
#include "workloads/registry.hpp"

#include <algorithm>
#include <utility>

namespace schedlab {
namespace {

constexpr std::uint64_t other_costs = 4;  // both, both_in_turn, all, machine

}  // namespace

std::uint64_t simulation_count(const EngineStudySpec& spec) {
  const std::uint64_t on_all_groups =
      spec.splits.size() * spec.policies.size() * spec.scheduling_us.size();
  return (spec.operator_shares.size() + other_costs) * spec.networks.size() * (1 + on_all_groups);
}

TaskGraph engine_graph(const EngineStudySpec& spec,
                       const std::string& workload,
                       std::int64_t split) {
  return make_workload(workload,
                       {{"batch", spec.batch},
                        {"split", split},
                        {"include_transfers", false},
                        {"include_tensors", split > 1}});
}

EngineRuns::EngineRuns(const EngineStudySpec& spec,
                       const StopFlag* stop,
                       const Observer& observer,
                       Table& table)
    : spec_(spec),
      stop_(stop),
      observer_(observer),
      table_(table),
      machine_(load_machine(spec.machine)) {}

const TaskGraph& EngineRuns::graph(const std::string& workload, std::int64_t split) {
  // Of one network at a time.
  if (!graphs_.empty() && graphs_.begin()->first.first != workload) graphs_.clear();
  const auto [it, added] = graphs_.try_emplace({workload, split});
  if (added) it->second = engine_graph(spec_, workload, split);
  return it->second;
}

double EngineRuns::seconds(const TaskGraph& graph,
                           const CostTable& costs,
                           const std::string& policy,
                           double scheduling_us) {
  if (stop_requested(stop_)) throw Interrupted("stopped");
  const Problem problem{graph, machine_.platform, costs};
  std::map<std::string, OptionValue> options;
  if (scheduling_us > 0) options["scheduling_us"] = scheduling_us;
  const Plan plan = make_policy(policy, options)->plan(problem);
  const double result = to_seconds(simulate(problem, plan).makespan());
  observer_(++done_);
  return result;
}

CostTable EngineRuns::table_of(const TaskGraph& graph,
                               const OwnCosts& costs,
                               bool with_framework) const {
  const double framework = with_framework ? costs.framework_seconds : 0;
  AccelerationEngine::Options options;
  options.costs.of[static_cast<std::size_t>(Processor::array)] = costs.of;
  options.framework = round_up_seconds(framework);
  CostTable table{graph, machine_.platform, AccelerationEngine{options}};
  if (!costs.image_weight_gradient.known()) return table;
  IdVector<TaskId, Duration> durations = table.durations();
  for (const TaskId task : image_weight_gradients(graph)) {
    const EngineWork work = engine_work(graph.operation(task));
    durations[task] = round_up_seconds(costs.image_weight_gradient.seconds(work) + framework);
  }
  table.set_task_durations(std::move(durations));
  return table;
}

void EngineRuns::add(EngineRow row, const OwnCosts& costs, bool in_turn) {
  const TaskGraph& whole = graph(row.network, 1);
  const double one_group = seconds(whole, table_of(whole, costs, true), "single_stream", 0);
  for (const std::string& policy : spec_.policies) {
    for (const double scheduling_us : spec_.scheduling_us) {
      row.policy = policy;
      row.scheduling_us = scheduling_us;
      add_splits(row, costs, in_turn, one_group);
    }
  }
}

void EngineRuns::add_splits(EngineRow row, const OwnCosts& costs, bool in_turn, double one_group) {
  const double choosing_us = *row.scheduling_us + (in_turn ? 1e6 * costs.framework_seconds : 0.0);
  double unsplit = 0;
  double best = 0;
  double best_split = 0;
  for (const std::int64_t split : spec_.splits) {
    const TaskGraph& sliced = graph(row.network, split);
    row.split = split;
    row.value =
        one_group / seconds(sliced, table_of(sliced, costs, !in_turn), row.policy, choosing_us);
    add_row(table_, row);
    if (split == 1) unsplit = row.value;
    if (split > 1 && row.value > best) {
      best = row.value;
      best_split = static_cast<double>(split);
    }
  }
  row.split.reset();
  const auto add_summary = [&](const char* quantity, double value) {
    row.quantity = quantity;
    row.value = value;
    if (value > 0) add_row(table_, row);
  };
  add_summary("best_speed_up", best);
  add_summary("best_split", best_split);
  if (unsplit > 0 && best > 0) add_summary("split_gain", 100 * (best / unsplit - 1));
}

}  // namespace schedlab
