// SPDX-License-Identifier: Apache-2.0
#include "cli/explain/fused_operators.hpp"

#include "sim/base/error.hpp"

#include <algorithm>
#include <map>
#include <utility>
#include <vector>

namespace schedlab {
namespace {

using Group = std::vector<TaskId>;

/// Copies run on engines of their own, and host work on none.
bool can_be_fused(TaskKind kind) {
  return kind != TaskKind::host && kind != TaskKind::copy_host_to_device &&
         kind != TaskKind::copy_device_to_host;
}

/// Which tasks become one, in the order of their launches.
std::vector<Group> groups_of(const Problem& problem, const Plan& plan, std::uint32_t most) {
  constexpr auto closed = static_cast<std::size_t>(-1);
  std::vector<Group> groups;
  std::vector<std::size_t> open(plan.streams.size(), closed);
  for (const HostCall call : plan.hosts[HostId{0}].calls) {
    if (call.kind() != HostCallKind::launch) {
      // The host may decide by what it learns; a call of one stream concerns that stream alone.
      const bool of_stream =
          call.kind() == HostCallKind::record || call.kind() == HostCallKind::wait;
      if (of_stream) {
        open[call.stream().value()] = closed;
      } else {
        std::fill(open.begin(), open.end(), closed);
      }
      continue;
    }
    std::size_t& group = open[call.stream().value()];
    const bool fits = can_be_fused(problem.graph.operation(call.task()).kind);
    if (group == closed || groups[group].size() == most || !fits) {
      group = groups.size();
      groups.emplace_back();
    }
    groups[group].push_back(call.task());
    if (!fits) group = closed;
  }
  return groups;
}

/// Estimates of the fused operations, found by their place in the graph.
class FusedCosts final : public CostModel {
 public:
  FusedCosts(const TaskGraph& graph, std::vector<Estimate> estimates)
      : first_(&*graph.operations().begin()), estimates_(std::move(estimates)) {}
  [[nodiscard]] std::string_view name() const override { return "fused"; }
  [[nodiscard]] Estimate estimate(const Operation& operation, const Device&) const override {
    return estimates_[static_cast<std::size_t>(&operation - first_)];
  }

 private:
  const Operation* first_;
  std::vector<Estimate> estimates_;
};

class Fuser {
 public:
  Fuser(const Problem& problem, const Plan& plan, std::uint32_t most)
      : problem_(problem), plan_(plan), groups_(groups_of(problem, plan, most)) {}

  [[nodiscard]] FusedRun fuse() {
    IdVector<TaskId, TaskId> becomes(problem_.graph.task_count());
    IdVector<TaskId, Duration> durations;
    for (const Group& group : groups_) {
      Duration total{0};
      for (const TaskId task : group) total += problem_.costs.duration(task);
      durations.push_back(total);
      const TaskId made = builder_.add_task(operation_of(group),
                                            problem_.graph.tags(group.front()),
                                            problem_.graph.name(group.front()));
      for (const TaskId task : group) becomes[task] = made;
    }
    for (const TaskId task : problem_.graph.tasks()) {
      for (const TaskId need : problem_.graph.predecessors(task)) {
        if (becomes[need] != becomes[task]) builder_.add_edge(becomes[need], becomes[task]);
      }
    }
    FusedRun run{.graph = std::move(builder_).build(), .costs = {}, .plan = plan_};
    run.costs =
        CostTable{run.graph, problem_.platform, FusedCosts{run.graph, std::move(estimates_)}};
    run.costs.set_task_durations(std::move(durations));
    launch_fused(becomes, run.plan);
    return run;
  }

 private:
  [[nodiscard]] Estimate estimate_of(const Group& group) const {
    Estimate estimate = problem_.costs.entry(group.front()).estimate;
    if (group.size() == 1) return estimate;
    double time = 0;
    double share = 0;
    double bandwidth = 0;
    Duration total{0};
    for (const TaskId task : group) {
      const Estimate& part = problem_.costs.entry(task).estimate;
      const double weight = std::max(to_seconds(problem_.costs.duration(task)), 1e-12);
      time += weight;
      share += weight * part.share;
      bandwidth += weight * part.bandwidth.count();
      total += problem_.costs.duration(task);
    }
    return {.duration = total,
            .share = std::min(share / time, 1.0),
            .bandwidth = Bandwidth{bandwidth / time}};
  }

  OperationId operation_of(const Group& group) {
    std::vector<OperationId> parts;
    for (const TaskId task : group) parts.push_back(problem_.graph.operation_id(task));
    const auto found = operations_.find(parts);
    if (found != operations_.end()) return found->second;
    Operation operation = problem_.graph.operation(group.front());
    if (group.size() > 1) {
      operation.kernels.clear();  // one launch
      operation.name += " and more";
    }
    estimates_.push_back(estimate_of(group));
    return operations_[parts] = builder_.add_operation(std::move(operation));
  }

  static void launch_fused(const IdVector<TaskId, TaskId>& becomes, Plan& plan) {
    std::vector<HostCall>& calls = plan.hosts[HostId{0}].calls;
    std::vector<bool> launched(becomes.size(), false);
    std::erase_if(calls, [&](HostCall& call) {
      if (call.kind() != HostCallKind::launch) return false;
      const TaskId fused = becomes[call.task()];
      if (launched[fused.value()]) return true;
      launched[fused.value()] = true;
      call = HostCall::launch(call.stream(), fused);
      return false;
    });
  }

  const Problem& problem_;
  const Plan& plan_;
  std::vector<Group> groups_;
  TaskGraphBuilder builder_;
  std::map<std::vector<OperationId>, OperationId> operations_;
  std::vector<Estimate> estimates_;
};

}  // namespace

FusedRun fuse_operators(const Problem& problem, const Plan& plan, std::uint32_t most) {
  SCHEDLAB_EXPECTS(most > 0, "no operators");
  const char* obstacle = plan.hosts.size() != 1                   ? "several hosts"
                         : !plan.graphs.empty()                   ? "device graphs"
                         : problem.graph.collectives().size() > 0 ? "collectives"
                                                                  : nullptr;
  if (obstacle != nullptr) {
    throw InfeasibleError("operators can be fused in eager plans of one host only",
                          "plan",
                          obstacle,
                          "one host, no graphs, no collectives");
  }
  return Fuser{problem, plan, most}.fuse();
}

}  // namespace schedlab
