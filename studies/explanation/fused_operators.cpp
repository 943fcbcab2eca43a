// SPDX-License-Identifier: Apache-2.0
#include "studies/explanation/fused_operators.hpp"

#include "sim/base/error.hpp"

#include <algorithm>
#include <map>
#include <utility>
#include <vector>

namespace schedlab {
namespace {

using Group = std::vector<TaskId>;
constexpr auto closed = static_cast<std::size_t>(-1);

/// Copies run on engines of their own, and host work on none.
bool can_be_fused(TaskKind kind) {
  return kind != TaskKind::host && kind != TaskKind::copy_host_to_device &&
         kind != TaskKind::copy_device_to_host;
}

/// Which tasks become one, in the order of their launches.
std::vector<Group> groups_of(const Problem& problem,
                             const Plan& plan,
                             std::uint32_t most,
                             bool sleeps_are_work) {
  // The open group of a stream, unless everything was closed since.
  struct Open {
    std::size_t group = closed;
    std::size_t era = 0;
  };
  std::vector<Group> groups;
  std::vector<Open> open(plan.streams.size());
  std::size_t era = 0;
  for (const HostCall call : plan.hosts[HostId{0}].calls) {
    if (call.kind() != HostCallKind::launch) {
      if (call.kind() == HostCallKind::sleep && sleeps_are_work) continue;
      // The host may decide by what it learns; a call of one stream concerns that stream alone.
      const bool of_stream =
          call.kind() == HostCallKind::record || call.kind() == HostCallKind::wait;
      if (of_stream) {
        open[call.stream().value()].group = closed;
      } else {
        ++era;
      }
      continue;
    }
    Open& last = open[call.stream().value()];
    std::size_t& group = last.group;
    if (std::exchange(last.era, era) != era) group = closed;
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

/// What tasks no longer move when their results stay within a fused operator.
struct SavedTraffic {
  IdVector<TaskId, Bytes> read;
  IdVector<TaskId, Bytes> written;
};

/// Takes its input as it comes, element by element or row by row. Matrix products and convolutions
/// need it whole.
bool takes_as_it_comes(TaskKind kind) {
  return kind == TaskKind::pointwise || kind == TaskKind::reduction;
}

/// `becomes`: the fused operator of each task. Of a tensor that one of its tasks makes, the others
/// of kinds that take it as it comes read it from there; if it has no other readers, it is not
/// written either.
SavedTraffic saved_traffic(const TaskGraph& graph, const IdVector<TaskId, TaskId>& becomes) {
  SavedTraffic saved{IdVector<TaskId, Bytes>(graph.task_count()),
                     IdVector<TaskId, Bytes>(graph.task_count())};
  const TensorTable& tensors = graph.tensors();
  for (const TensorId id : tensors.ids()) {
    const auto writers = tensors.writers(id);
    if (writers.size() != 1 || tensors.accumulate(id)) continue;
    const TaskId writer = writers.front();
    bool inside = !tensors.persistent(id) && !tensors.readers(id).empty();
    for (const TaskId reader : tensors.readers(id)) {
      if (reader != writer && becomes[reader] == becomes[writer] &&
          takes_as_it_comes(graph.operation(reader).kind)) {
        saved.read[reader] += tensors.bytes(id);
      } else {
        inside = false;
      }
    }
    if (inside) saved.written[writer] += tensors.bytes(id);
  }
  for (const TaskId task : graph.tasks()) {  // no more than the kernels are said to move
    const Operation& operation = graph.operation(task);
    saved.read[task] = std::min(saved.read[task], operation.bytes_read());
    saved.written[task] = std::min(saved.written[task], operation.bytes_written());
  }
  return saved;
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
  Fuser(const Problem& problem, const Plan& plan, std::uint32_t most, bool sleeps_are_work)
      : problem_(problem), plan_(plan), groups_(groups_of(problem, plan, most, sleeps_are_work)) {}

  [[nodiscard]] FusedRun fuse() {
    IdVector<TaskId, TaskId> becomes(problem_.graph.task_count());
    for (std::uint32_t i = 0; i < groups_.size(); ++i) {
      for (const TaskId task : groups_[i]) becomes[task] = TaskId{i};
    }
    saved_ = saved_traffic(problem_.graph, becomes);
    IdVector<TaskId, Duration> durations;
    Bytes saved{0};
    for (const Group& group : groups_) {
      Duration total{0};
      for (const TaskId task : group) {
        total += shortened(task);
        saved += saved_.read[task] + saved_.written[task];
      }
      durations.push_back(total);
      builder_.add_task(operation_of(group),
                        problem_.graph.tags(group.front()),
                        problem_.graph.name(group.front()));
    }
    for (const TaskId task : problem_.graph.tasks()) {
      for (const TaskId need : problem_.graph.predecessors(task)) {
        if (becomes[need] != becomes[task]) builder_.add_edge(becomes[need], becomes[task]);
      }
    }
    FusedRun run{
        .graph = std::move(builder_).build(), .costs = {}, .plan = plan_, .saved_traffic = saved};
    run.costs =
        CostTable{run.graph, problem_.platform, FusedCosts{run.graph, std::move(estimates_)}};
    run.costs.set_task_durations(std::move(durations));
    launch_fused(becomes, run.plan);
    return run;
  }

 private:
  /// Share of its memory traffic that a task keeps.
  [[nodiscard]] double kept(TaskId task) const {
    const Operation& operation = problem_.graph.operation(task);
    const auto all =
        static_cast<double>((operation.bytes_read() + operation.bytes_written()).count());
    const auto saved = static_cast<double>((saved_.read[task] + saved_.written[task]).count());
    return all > 0 ? 1.0 - saved / all : 1.0;
  }

  /// The time of a task is the floors of its kernels and the rest; the rest shrinks with the
  /// traffic down to what the computing takes (Estimate::compute_share of the time).
  [[nodiscard]] Duration shortened(TaskId task) const {
    const Duration duration = problem_.costs.duration(task);
    const double share = kept(task);
    if (share == 1.0) return duration;
    const CostTable::Entry& entry = problem_.costs.entry(task);
    const Duration floors = problem_.platform.devices[DeviceId{0}].kernel_floor * entry.launches;
    const double rest = std::max(to_seconds(duration - floors), 0.0);
    const double computing = entry.estimate.compute_share * to_seconds(duration);
    return std::min(duration, floors + round_up_seconds(std::max(rest * share, computing)));
  }

  [[nodiscard]] Estimate estimate_of(const Group& group) const {
    Estimate estimate = problem_.costs.entry(group.front()).estimate;
    if (group.size() == 1) return estimate;
    double time = 0;
    double share = 0;
    double bytes = 0;
    Duration total{0};
    for (const TaskId task : group) {
      const Estimate& part = problem_.costs.entry(task).estimate;
      const Duration duration = shortened(task);
      const double weight = std::max(to_seconds(duration), 1e-12);
      time += weight;
      share += weight * part.share;
      bytes += to_seconds(problem_.costs.duration(task)) * part.bandwidth.count() * kept(task);
      total += duration;
    }
    return {.duration = total,
            .share = std::min(share / time, 1.0),
            .bandwidth = Bandwidth{bytes / time}};
  }

  OperationId operation_of(const Group& group) {
    Parts parts;
    for (const TaskId task : group) {
      parts.emplace_back(problem_.graph.operation_id(task), shortened(task));
    }
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

  /// Operation and duration of each part.
  using Parts = std::vector<std::pair<OperationId, Duration>>;

  const Problem& problem_;
  const Plan& plan_;
  std::vector<Group> groups_;
  SavedTraffic saved_;
  TaskGraphBuilder builder_;
  std::map<Parts, OperationId> operations_;
  std::vector<Estimate> estimates_;
};

}  // namespace

FusedRun fuse_operators(const Problem& problem,
                        const Plan& plan,
                        std::uint32_t most,
                        bool sleeps_are_work) {
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
  return Fuser{problem, plan, most, sleeps_are_work}.fuse();
}

}  // namespace schedlab
