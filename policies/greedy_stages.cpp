// SPDX-License-Identifier: Apache-2.0
#include "policies/option_specs.hpp"
#include "policies/policy_info.hpp"
#include "sim/graph/levels.hpp"
#include "sim/plan/accumulations.hpp"
#include "sim/plan/plan_builder.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cstdint>
#include <iterator>
#include <map>
#include <span>
#include <utility>
#include <vector>

namespace schedlab {
namespace {

/// How one stage waits for the one before.
enum class StageBarrier : std::uint8_t {
  host,    ///< the host synchronizes with the device, then launches the next stage
  events,  ///< the streams of a stage wait for those of the one before; the host goes on
};

struct GreedyStagesOptions {
  StageBarrier barrier = StageBarrier::host;
  std::uint32_t max_streams = 0;  ///< 0 = as many as the widest stage, at most max_default_streams
};

/// All ready tasks form a stage; they run side by side, each on a stream of its own; after a
/// barrier come the tasks that are ready then. Task i of a stage runs on stream i mod max_streams;
/// tasks that add into one tensor share a stream, in the order of their ids.
///
/// No barrier between two stages of one task each (of one stream): they follow each other in
/// stream 0.
///
/// A layered graph of S stages with equal tasks of d takes S (d + barrier) once there are as many
/// streams and units as tasks in a stage.
///
/// Cost: O(tasks + edges), with events also O(stages * streams^2). Ties: lower task id first.
/// Source: the greedy schedule of Ding, Zhu, Jia, Pekhimenko, Han, IOS: Inter-Operator Scheduler
/// for CNN Acceleration, MLSys 2021 (arXiv 2011.01302), whose runtime synchronizes the device
/// between stages unless both have one group.
class GreedyStages final : public Policy {
 public:
  explicit GreedyStages(GreedyStagesOptions options = {}) : options_(options) {}
  [[nodiscard]] std::string_view name() const override { return "greedy_stages"; }
  [[nodiscard]] Plan plan(const Problem& problem) const override;

 private:
  GreedyStagesOptions options_;
};

/// A task of a stage and the stream it runs on.
using Placed = std::pair<TaskId, StreamId>;
using Stage = std::vector<Placed>;

/// The groups of one stage: tasks that add into one tensor belong together, all others are alone.
class Groups {
 public:
  explicit Groups(std::size_t tasks) : parent_(tasks) {
    for (std::size_t i = 0; i < tasks; ++i) parent_[i] = i;
  }
  [[nodiscard]] std::size_t first_of(std::size_t i) {
    while (parent_[i] != i) i = parent_[i] = parent_[parent_[i]];
    return i;
  }
  void join(std::size_t a, std::size_t b) {
    const auto [low, high] = std::minmax({first_of(a), first_of(b)});
    parent_[high] = low;
  }

 private:
  std::vector<std::size_t> parent_;
};

Stage place(const std::vector<TaskId>& tasks,
            const Accumulations& accumulations,
            std::uint32_t max_streams) {
  Groups groups{tasks.size()};
  if (!accumulations.empty()) {
    std::map<TensorId, std::size_t> first_writer;
    for (std::size_t i = 0; i < tasks.size(); ++i) {
      for (const TensorId tensor : accumulations.of(tasks[i])) {
        groups.join(first_writer.try_emplace(tensor, i).first->second, i);
      }
    }
  }
  Stage stage;
  std::vector<std::uint32_t> stream_of(tasks.size(), 0);
  std::uint32_t next = 0;
  for (std::size_t i = 0; i < tasks.size(); ++i) {
    const std::size_t first = groups.first_of(i);
    if (first == i) stream_of[i] = next++ % max_streams;
    stage.emplace_back(tasks[i], StreamId{stream_of[first]});
  }
  return stage;
}

/// All stages, and the number of streams that they use.
std::pair<std::vector<Stage>, std::uint32_t> stages_of(const TaskGraph& graph,
                                                       std::uint32_t max_streams) {
  const IdVector<TaskId, std::uint32_t> level = levels(graph);
  std::vector<std::vector<TaskId>> ready;
  for (const TaskId task : graph.tasks()) {
    if (level[task] >= ready.size()) ready.resize(level[task] + 1);
    ready[level[task]].push_back(task);
  }
  const Accumulations accumulations{graph};
  std::vector<Stage> stages;
  std::uint32_t streams = 1;
  for (const std::vector<TaskId>& tasks : ready) {
    stages.push_back(place(tasks, accumulations, max_streams));
    for (const Placed& placed : stages.back()) {
      streams = std::max(streams, placed.second.value() + 1);
    }
  }
  return {std::move(stages), streams};
}

StreamSpec stage_stream(std::uint32_t index) {
  return {.device = DeviceId{0}, .priority = 0, .name = fmt::format("stage_{}", index)};
}

bool only_first_stream(const Stage& stage) {
  return std::all_of(
      stage.begin(), stage.end(), [](const Placed& p) { return p.second == StreamId{0}; });
}

/// The host waits for the device between stages: no event is needed.
Plan with_host_barriers(const std::vector<Stage>& stages, std::uint32_t streams) {
  Plan plan;
  plan.policy = "greedy_stages";
  for (std::uint32_t i = 0; i < streams; ++i) plan.streams.push_back(stage_stream(i));
  std::vector<HostCall>& calls = plan.hosts[HostId{0}].calls;
  bool in_order = true;  // all work since the last barrier is in stream 0
  for (std::size_t s = 0; s < stages.size(); ++s) {
    const bool one_stream = only_first_stream(stages[s]);
    if (s > 0 && !(in_order && one_stream)) {
      calls.push_back(HostCall::synchronize_all());
      in_order = true;
    }
    in_order = in_order && one_stream;
    for (const auto& [task, stream] : stages[s]) calls.push_back(HostCall::launch(stream, task));
  }
  return plan;
}

/// The first task on each stream waits for the last of every stream of the stage before; the
/// builder leaves out what is implied.
Plan with_event_barriers(const Problem& problem,
                         const std::vector<Stage>& stages,
                         std::uint32_t streams) {
  PlanBuilder builder{problem};
  for (std::uint32_t i = 0; i < streams; ++i) builder.add_stream(stage_stream(i));
  std::vector<TaskId> before;
  for (const Stage& stage : stages) {
    std::vector<TaskId> last(streams, TaskId::none());
    for (const auto& [task, stream] : stage) {
      const bool first = !last[stream.value()].valid();
      builder.place(
          task, stream, first ? std::span<const TaskId>{before} : std::span<const TaskId>{});
      last[stream.value()] = task;
    }
    before.clear();
    std::copy_if(last.begin(), last.end(), std::back_inserter(before), [](TaskId task) {
      return task.valid();
    });
  }
  return std::move(builder).build("greedy_stages");
}

Plan GreedyStages::plan(const Problem& problem) const {
  const std::uint32_t most = options_.max_streams > 0 ? options_.max_streams : max_default_streams;
  const auto [stages, streams] = stages_of(problem.graph, most);
  return options_.barrier == StageBarrier::host ? with_host_barriers(stages, streams)
                                                : with_event_barriers(problem, stages, streams);
}

}  // namespace

PolicyInfo greedy_stages_info() {
  return {
      .name = "greedy_stages",
      .summary = "All ready tasks side by side as one stage, a barrier, then the next stage.",
      .source = "the greedy schedule of Ding et al., IOS, MLSys 2021, arXiv 2011.01302",
      .options = {{.name = "barrier",
                   .default_value = std::string{"host"},
                   .doc = "Between stages: the host synchronizes with the device, or streams wait "
                          "for events.",
                   .allowed = {"host", "events"}},
                  max_streams_option(
                      0, "Number of streams; 0 = as many as the widest stage, at most 32.")},
      .make =
          [](const Options& options) {
            return std::make_unique<GreedyStages>(GreedyStagesOptions{
                .barrier =
                    options.text("barrier") == "events" ? StageBarrier::events : StageBarrier::host,
                .max_streams = count_of(options, "max_streams")});
          },
      .plans_by_durations = true};
}

}  // namespace schedlab
