// SPDX-License-Identifier: Apache-2.0
#include "hw_models/kernel_steps.hpp"

#include "hw_models/step_costs.hpp"
#include "sim/base/error.hpp"
#include "sim/machine/cache_contents.hpp"
#include "sim/plan/dispatching_policy.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <deque>
#include <optional>
#include <utility>

namespace schedlab {
namespace {

/// Kernels of the operation that are equal to number `index` and stand before it.
std::size_t equal_kernels_before(const Operation& operation, std::size_t index) {
  const auto begin = operation.kernels.begin();
  return static_cast<std::size_t>(
      std::count(begin, begin + static_cast<std::ptrdiff_t>(index), operation.kernels[index]));
}

/// An operation of one kernel. Its name decides which samples it is predicted from, so that it has
/// the name of those that the kernel has within the whole.
Operation step_of(const Operation& operation,
                  std::size_t index,
                  Bytes working_set,
                  const ProfileFits& fits) {
  Operation step{.name = operation.name,
                 .kind = operation.kernels[index].kind,
                 .task_class = operation.task_class,
                 .kernels = {operation.kernels[index]},
                 .fixed_duration = Duration{0}};
  Operation whole = operation;
  for (Kernel& kernel : whole.kernels) kernel.working_set = working_set;
  const KernelClass* found =
      fits.find(whole, whole.kernels[index], equal_kernels_before(whole, index));
  if (found != nullptr) step.name = found->operation();
  return step;
}

/// The plan with what `put(launch, calls)` adds to a host's calls in the place of each launch.
template <class Put>
Plan with_launches(const Plan& plan, Put&& put) {
  Plan result = plan;
  for (HostProgram& host : result.hosts) {
    std::vector<HostCall> calls;
    for (const HostCall call : host.calls) {
      if (call.kind() == HostCallKind::launch) {
        put(call, calls);
      } else {
        calls.push_back(call);
      }
    }
    host.calls = std::move(calls);
  }
  return result;
}

/// Streams of one device that are given tasks of several kernels, and others.
struct CoRunningStreams {
  StreamId several;
  StreamId single;
  bool singles = false;  // of two streams

  /// False until two streams are there, one of them with a task of several kernels.
  bool add(StreamId stream, bool has_several) {
    const auto beside = [&](StreamId other) { return other.valid() && other != stream; };
    if (beside(several) || (has_several && (singles || beside(single)))) return true;
    singles = singles || (!has_several && beside(single));
    (has_several ? several : single) = stream;
    return false;
  }
};

/// Passes on what workers take, a launch as one of each step.
class StepsOfWorkers final : public DispatchingPolicy {
 public:
  StepsOfWorkers(const KernelSteps& steps, DispatchingPolicy& policy)
      : steps_(steps), policy_(policy) {}

  [[nodiscard]] IdVector<StreamId, StreamSpec> initial_streams() override {
    return policy_.initial_streams();
  }
  [[nodiscard]] std::span<const DispatchedCall> dispatch(std::span<const StreamId> ended,
                                                         Time now) override {
    calls_.clear();
    for (const DispatchedCall& made : policy_.dispatch(ended, now)) {
      if (made.call.kind() != HostCallKind::launch) {
        calls_.push_back(made);
        continue;
      }
      const TaskId task = made.call.task();
      for (std::uint32_t i = 0; i < steps_.step_count(task); ++i) {
        const TaskId step{first_step(task) + i};
        calls_.push_back({HostCall::launch(made.call.stream(), step), made.at});
      }
    }
    return calls_;
  }
  [[nodiscard]] Plan decided() const override { return steps_.expanded(policy_.decided()); }

 private:
  [[nodiscard]] std::uint32_t first_step(TaskId task) {
    while (first_.size() <= task.value()) {
      const TaskId before{static_cast<std::uint32_t>(first_.size()) - 1};
      first_.push_back(first_.back() + steps_.step_count(before));
    }
    return first_[task.value()];
  }

  const KernelSteps& steps_;
  DispatchingPolicy& policy_;
  std::vector<DispatchedCall> calls_;
  std::vector<std::uint32_t> first_{0};  // by task, as far as asked for
};

}  // namespace

/// Passes the decisions of a policy on, a launch as one of each step.
class KernelSteps::Expanding final : public OnlinePolicy {
 public:
  Expanding(const KernelSteps& steps, OnlinePolicy& policy) : steps_(steps), policy_(policy) {}

  [[nodiscard]] IdVector<StreamId, StreamSpec> initial_streams() override {
    return policy_.initial_streams();
  }
  [[nodiscard]] std::optional<OnlineStep> next(const HostView& view) override {
    if (!waiting_.empty()) {
      const HostCall call = waiting_.front();
      waiting_.pop_front();
      return OnlineStep{.call = call, .stream = {}};
    }
    std::optional<OnlineStep> step = policy_.next(view);
    if (!step || step->call.kind() != HostCallKind::launch) return step;
    const StreamId stream = step->call.stream();
    const TaskId task = step->call.task();
    SCHEDLAB_EXPECTS(task.value() + std::size_t{1} < steps_.first_.size(),
                     fmt::format("launch of task {}", task.value()));
    const std::uint32_t first = steps_.first_step(task).value();
    step->call = HostCall::launch(stream, TaskId{first}, step->call.programmatic());
    for (std::uint32_t i = 1; i < steps_.step_count(task); ++i) {
      waiting_.push_back(HostCall::launch(stream, TaskId{first + i}));
    }
    return step;
  }

 private:
  const KernelSteps& steps_;
  OnlinePolicy& policy_;
  std::deque<HostCall> waiting_;
};

std::shared_ptr<const KernelSteps> KernelSteps::of(const TaskGraph& graph,
                                                   const Platform& platform,
                                                   const CostTable& costs,
                                                   const CostModel& model) {
  const auto& operations = graph.operations();
  if (graph.has_task_durations() ||
      std::none_of(operations.begin(), operations.end(), several_kernels)) {
    return nullptr;
  }
  std::size_t count = 0;
  for (const TaskId task : graph.tasks()) count += graph.operation(task).launches();
  if (count > max_steps) return nullptr;
  if (const auto* measured = dynamic_cast<const Measured*>(&model)) {
    return of_measured(graph, platform, *measured);
  }
  auto made = std::shared_ptr<KernelSteps>(new KernelSteps);
  TaskGraphBuilder builder;
  std::vector<std::vector<OperationId>> steps;  // by operation
  for (const Operation& operation : operations) {
    auto& own = steps.emplace_back();
    if (!several_kernels(operation)) {
      own.push_back(builder.add_operation(operation));
      continue;
    }
    for (const Kernel& kernel : operation.kernels) {
      own.push_back(builder.add_operation(step_of(operation, kernel)));
    }
  }
  made->add_tasks(graph, steps, builder);
  made->graph_ = std::move(builder).build();
  StepCosts step_costs{graph, platform, costs, model};
  made->costs_ = step_costs.table(made->graph_, &Device::stream_gap);
  made->graph_costs_ = step_costs.table(made->graph_, &Device::graph_node_gap);
  return made;
}

std::shared_ptr<const KernelSteps> KernelSteps::of_measured(const TaskGraph& graph,
                                                            const Platform& platform,
                                                            const Measured& model) {
  if (graph.has_ranks() || !graph.collectives().empty()) return nullptr;
  const auto& operations = graph.operations();
  const Bytes working_set = bytes_of_tensors(graph);
  const auto cached = cached_shares(graph, platform.devices[DeviceId{0}]);
  const auto fits = model.fits(platform.devices[DeviceId{0}]);
  auto made = std::shared_ptr<KernelSteps>(new KernelSteps);
  made->measured_ = true;
  TaskGraphBuilder builder;
  std::vector<std::vector<OperationId>> steps;  // by operation
  for (const OperationId id : operations.ids()) {
    const Operation& operation = operations[id];
    auto& own = steps.emplace_back();
    const std::size_t count = several_kernels(operation) ? operation.kernels.size() : 1;
    for (std::size_t i = 0; i < count; ++i) {
      Operation step = count == 1 ? operation : step_of(operation, i, working_set, *fits);
      if (!cached.empty()) set_cached(cached[id].begin() + static_cast<std::ptrdiff_t>(i), step);
      own.push_back(builder.add_operation(std::move(step)));
    }
  }
  made->add_tasks(graph, steps, builder);
  // What competes for the caches, which the costs depend on.
  builder.add_tensor(
      {.name = "all tensors", .bytes = working_set, .accumulate = false, .persistent = true});
  made->graph_ = std::move(builder).build();
  made->costs_ = CostTable(made->graph_, platform, model);
  return made;
}

void KernelSteps::add_tasks(const TaskGraph& graph,
                            const std::vector<std::vector<OperationId>>& steps,
                            TaskGraphBuilder& builder) {
  for (const TaskId task : graph.tasks()) {
    first_.push_back(static_cast<std::uint32_t>(builder.task_count()));
    for (const OperationId step : steps[graph.operation_id(task).value()]) {
      const TaskId added = builder.add_task(step, graph.tags(task));
      if (graph.has_ranks()) builder.set_rank(added, graph.rank(task));
      task_of_.push_back(task);
    }
  }
  first_.push_back(static_cast<std::uint32_t>(builder.task_count()));
  const CollectiveTable& collectives = graph.collectives();
  for (const CollectiveId id : collectives.ids()) {
    const CollectiveId joined = builder.add_collective(collectives.spec(id));
    for (const TaskId task : collectives.tasks(id)) builder.joins(first_step(task), joined);
  }
}

bool KernelSteps::needed(const Plan& plan) const {
  if (measured_) return true;
  std::vector<CoRunningStreams> co_running;  // by device
  const auto meets = [&](StreamId stream, TaskId task) {
    if (graph_.collectives().of(first_step(task)).valid()) return false;
    const std::size_t device = plan.streams[stream].device.value();
    if (device >= co_running.size()) co_running.resize(device + 1);
    return co_running[device].add(stream, step_count(task) > 1);
  };
  for (const HostProgram& host : plan.hosts) {
    for (const HostCall call : host.calls) {
      if (call.kind() == HostCallKind::launch && meets(call.stream(), call.task())) return true;
    }
  }
  for (const DeviceGraph& graph : plan.graphs) {
    for (std::uint32_t launch = 0; launch < graph.launch_count(); ++launch) {
      for (std::uint32_t node = 0; node < graph.node_count(); ++node) {
        if (meets(graph.stream(node), graph.task(launch, node))) return true;
      }
    }
  }
  return false;
}

Platform KernelSteps::platform_for(const Platform& platform,
                                   const Plan& plan,
                                   const Plan& expanded) const {
  Platform result = platform;
  if (!by_node(plan)) return result;
  const auto nodes = [](const Plan& of) {
    std::int64_t count = 0;
    for (const DeviceGraph& graph : of.graphs) count += graph.node_count();
    return count;
  };
  const double share = static_cast<double>(nodes(plan)) /
                       static_cast<double>(std::max<std::int64_t>(1, nodes(expanded)));
  const auto scale = [&](Duration& cost) {
    cost = Duration{std::llround(static_cast<double>(cost.count()) * share)};
  };
  for (Host& host : result.hosts) {
    scale(host.costs.graph_load_node);
    scale(host.costs.graph_launch_node);
  }
  return result;
}

Plan KernelSteps::expanded(const Plan& plan) const {
  Plan result = with_launches(plan, [&](HostCall call, std::vector<HostCall>& calls) {
    for (std::uint32_t i = 0; i < step_count(call.task()); ++i) {
      const TaskId step{first_step(call.task()).value() + i};
      calls.push_back(HostCall::launch(call.stream(), step, i == 0 && call.programmatic()));
    }
  });
  for (DeviceGraph& graph : result.graphs) graph = expanded(graph);
  return result;
}

DeviceGraph KernelSteps::expanded(const DeviceGraph& graph) const {
  DeviceGraph result;
  result.name = graph.name;
  result.node_priorities = graph.node_priorities;
  std::vector<std::uint32_t> last;  // by node: that of its last step
  for (std::uint32_t node = 0; node < graph.node_count(); ++node) {
    std::vector<std::uint32_t> needs;
    for (const std::uint32_t need : graph.needs(node)) needs.push_back(last[need]);
    std::uint32_t steps = 1;
    for (std::uint32_t launch = 0; launch < graph.launch_count(); ++launch) {
      const std::uint32_t here = step_count(graph.task(launch, node));
      if (launch > 0 && here != steps) {
        throw InfeasibleError(fmt::format(
            "graph \"{}\": node {} runs tasks of different numbers of kernels\n  launch "
            "such tasks by graphs of their own",
            graph.name,
            node));
      }
      steps = here;
    }
    std::uint32_t made =
        result.add_node(graph.stream(node), std::move(needs), graph.programmatic(node));
    for (std::uint32_t i = 1; i < steps; ++i) made = result.add_node(graph.stream(node), {made});
    last.push_back(made);
  }
  for (std::uint32_t launch = 0; launch < graph.launch_count(); ++launch) {
    std::vector<TaskId> tasks;
    for (const TaskId task : graph.tasks(launch)) {
      for (std::uint32_t i = 0; i < step_count(task); ++i) {
        tasks.emplace_back(first_step(task).value() + i);
      }
    }
    result.add_launch(tasks);
  }
  return result;
}

std::unique_ptr<OnlinePolicy> KernelSteps::expanded(OnlinePolicy& policy) const {
  if (auto* const workers = dynamic_cast<DispatchingPolicy*>(&policy)) {
    return std::make_unique<StepsOfWorkers>(*this, *workers);
  }
  return std::make_unique<Expanding>(*this, policy);
}

Plan KernelSteps::folded(const Plan& plan) const {
  SCHEDLAB_EXPECTS(plan.graphs.empty(), "a plan that was recorded has no device graphs");
  return with_launches(plan, [&](HostCall call, std::vector<HostCall>& calls) {
    if (!is_first(call.task())) return;
    calls.push_back(HostCall::launch(call.stream(), task_of_[call.task()], call.programmatic()));
  });
}

Trace KernelSteps::folded(const Plan& plan, const Trace& trace) const {
  constexpr std::uint32_t none = 0xFFFFFFFFU;
  Trace result;
  result.flows = trace.flows;
  result.messages = trace.messages;
  result.ended = trace.ended;
  std::vector<std::uint32_t> place(first_.size() - 1, none);  // of each task's span
  for (const TaskSpan& span : trace.tasks) {
    std::uint32_t& at = place[task_of_[span.task].value()];
    if (at == none) {
      at = static_cast<std::uint32_t>(result.tasks.size());
      result.tasks.push_back(span);
      result.tasks.back().task = task_of_[span.task];
      continue;
    }
    TaskSpan& whole = result.tasks[at];
    whole.submitted = std::max(whole.submitted, span.submitted);
    whole.started = std::min(whole.started, span.started);
    whole.ended = std::max(whole.ended, span.ended);
  }
  const auto follows = [&](HostCall call) {
    return call.kind() == HostCallKind::launch && !is_first(call.task());
  };
  IdVector<HostId, std::vector<std::uint32_t>> number(plan.hosts.size());  // of each call, folded
  for (const HostId host : plan.hosts.ids()) {
    std::uint32_t next = 0;
    for (const HostCall call : plan.hosts[host].calls) {
      number[host].push_back(follows(call) ? next - 1 : next++);
    }
  }
  IdVector<HostId, std::uint32_t> latest(plan.hosts.size(), none);  // span of the host's last call
  for (const HostSpan& span : trace.hosts) {
    std::uint32_t& at = latest[span.host];
    if (follows(span.what) && at != none) {
      result.hosts[at].ended = span.ended;
      result.hosts[at].blocked += span.blocked;
      continue;
    }
    at = static_cast<std::uint32_t>(result.hosts.size());
    result.hosts.push_back(span);
    HostSpan& made = result.hosts.back();
    made.call = number[span.host][span.call];
    if (span.what.kind() == HostCallKind::launch) {
      made.what = HostCall::launch(
          span.what.stream(), task_of_[span.what.task()], span.what.programmatic());
    }
  }
  return result;
}

IdVector<TaskId, Duration> KernelSteps::folded(const IdVector<TaskId, Duration>& durations,
                                               Duration gap) const {
  IdVector<TaskId, Duration> result(first_.size() - 1, Duration{0});
  for (const TaskId task : result.ids()) {
    for (std::uint32_t i = 0; i < step_count(task); ++i) {
      result[task] += durations[TaskId{first_step(task).value() + i}];
    }
    result[task] += gap * (std::int64_t{step_count(task)} - 1);
  }
  return result;
}

void run_by_kernel(Simulator& simulator,
                   const KernelSteps* steps,
                   const Problem& problem,
                   const Plan& plan,
                   const SimulationOptions& options,
                   Trace& trace) {
  if (steps == nullptr) {
    simulator.run_into(problem, plan, options, trace);
    return;
  }
  const Plan expanded = steps->expanded(plan);
  if (plan.graphs.empty()) {
    trace = steps->folded(expanded, simulator.run(problem, expanded, options));
    return;
  }
  const Platform platform = steps->platform_for(problem.platform, plan, expanded);
  trace = steps->folded(expanded,
                        simulator.run({problem.graph, platform, problem.costs}, expanded, options));
}

void record_by_kernel(Simulator& simulator,
                      const KernelSteps* steps,
                      const Problem& problem,
                      OnlinePolicy& policy,
                      const SimulationOptions& options,
                      Simulator::Recording& recording) {
  if (steps == nullptr) {
    simulator.record_into(problem, policy, options, recording);
    return;
  }
  const std::unique_ptr<OnlinePolicy> expanding = steps->expanded(policy);
  simulator.record_into(problem, *expanding, options, recording);
  recording.trace = steps->folded(recording.plan, recording.trace);
  recording.plan = steps->folded(recording.plan);
}

}  // namespace schedlab
