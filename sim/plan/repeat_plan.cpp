// SPDX-License-Identifier: Apache-2.0
#include "sim/plan/repeat_plan.hpp"

#include "sim/base/error.hpp"

#include <fmt/format.h>

#include <cstddef>
#include <limits>
#include <optional>
#include <vector>

namespace schedlab {
namespace {

/// Makes the calls of one run out of those of the plan that is repeated.
class Repetition {
 public:
  Repetition(const Plan& once, const RepeatOptions& options, Plan& made)
      : once_(once),
        options_(options),
        made_(made),
        created_(once.streams.size(), false),
        destroyed_(once.streams.size(), false) {
    for (const HostProgram& host : once.hosts) {
      for (const HostCall call : host.calls) {
        if (call.kind() == HostCallKind::create_stream) created_[call.stream()] = true;
        if (call.kind() == HostCallKind::destroy_stream) destroyed_[call.stream()] = true;
      }
    }
  }

  void run(std::uint32_t number) {
    number_ = number;
    const std::uint32_t every = options_.reload_every;
    first_of_shape_ = number == 0 || (every != 0 && number % every == 0);
    const std::uint32_t shape = every == 0 ? 0 : number / every;
    first_graph_ = shape * static_cast<std::uint32_t>(once_.graphs.size());
    add_graph_rows();
    for (const HostId host : once_.hosts.ids()) {
      auto& calls = made_.hosts[host].calls;
      for (const HostCall call : once_.hosts[host].calls) add(call, calls);
      if (number + 1 < options_.runs) calls.push_back(HostCall::synchronize_all());
    }
  }

 private:
  [[nodiscard]] TaskId shifted(TaskId task) const {
    return TaskId{task.value() + number_ * options_.tasks};
  }

  /// The tasks of this run's launches, in the graphs of its shape.
  void add_graph_rows() {
    for (std::uint32_t g = 0; g < once_.graphs.size(); ++g) {
      const DeviceGraph& source = once_.graphs[g];
      if (first_of_shape_) {
        DeviceGraph copy;
        copy.name = source.name;
        copy.node_priorities = source.node_priorities;
        for (std::uint32_t node = 0; node < source.node_count(); ++node) {
          const auto needs = source.needs(node);
          copy.add_node(
              source.stream(node), {needs.begin(), needs.end()}, source.programmatic(node));
        }
        made_.graphs.push_back(std::move(copy));
      }
      std::vector<TaskId> row;
      for (std::uint32_t launch = 0; launch < source.launch_count(); ++launch) {
        row.clear();
        for (const TaskId task : source.tasks(launch)) row.push_back(shifted(task));
        made_.graphs[first_graph_ + g].add_launch(row);
      }
    }
  }

  void add(HostCall call, std::vector<HostCall>& calls) const {
    switch (call.kind()) {
      case HostCallKind::launch:
        calls.push_back(HostCall::launch(call.stream(), shifted(call.task()), call.programmatic()));
        return;
      case HostCallKind::create_stream:
        if (number_ == 0 || destroyed_[call.stream()]) calls.push_back(call);
        return;
      case HostCallKind::destroy_stream:
        if (number_ + 1 == options_.runs || created_[call.stream()]) calls.push_back(call);
        return;
      case HostCallKind::graph_load:
        if (number_ == 0) calls.push_back(call);
        return;
      case HostCallKind::graph_launch: {
        const std::uint32_t graph = first_graph_ + call.graph();
        if (first_of_shape_ && number_ != 0) calls.push_back(HostCall::graph_load(graph));
        calls.push_back(HostCall::graph_launch(call.stream(), graph));
        return;
      }
      default:
        calls.push_back(call);
    }
  }

  const Plan& once_;
  const RepeatOptions& options_;
  Plan& made_;
  IdVector<StreamId, bool> created_;  // by a call of the plan
  IdVector<StreamId, bool> destroyed_;
  std::uint32_t number_ = 0;
  bool first_of_shape_ = true;
  std::uint32_t first_graph_ = 0;  // of this run's shape
};

}  // namespace

Plan repeat_plan(const Plan& once, const RepeatOptions& options) {
  if (!once.messages.empty()) {
    throw InfeasibleError(fmt::format(
        "plan \"{}\" sends messages and cannot be run several times\n  leave out \"runs\"",
        once.policy));
  }
  constexpr std::uint64_t max_tasks = std::numeric_limits<std::uint32_t>::max();
  if (std::uint64_t{options.runs} * options.tasks >= max_tasks) {
    throw InfeasibleError(fmt::format(
        "{} runs of {} tasks are more tasks than can be numbered", options.runs, options.tasks));
  }
  Plan made;
  made.policy = once.policy;
  made.streams = once.streams;
  made.partitions = once.partitions;
  made.event_count = once.event_count;
  made.hosts.clear();
  for (const HostProgram& host : once.hosts) made.hosts.push_back({host.name, {}});
  Repetition repetition{once, options, made};
  for (std::uint32_t run = 0; run < options.runs; ++run) repetition.run(run);
  return made;
}

}  // namespace schedlab
