// SPDX-License-Identifier: Apache-2.0
#include "workloads/traces/replay_parts.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

namespace schedlab::replaying {
namespace {

/// Writes the calls of one rank's host.
class ProgramWriter {
 public:
  ProgramWriter(RankParts& parts, HostProgram& program, ReplayModel& model)
      : parts_(parts),
        program_(program),
        model_(model),
        events_(parts.order.items.size()),
        recorded_(parts.order.items.size(), false) {
    for (const StreamDependency& dependency : parts.order.dependencies)
      recorded_[dependency.from] = true;
    for (std::size_t step = 0; step < parts.order.host.size(); ++step) {
      if (parts.order.host[step].item.valid() && parts.host.waits(step)) {
        recorded_[parts.order.host[step].item] = true;
      }
    }
    for (std::uint32_t graph = 0; graph < parts.graphs.size(); ++graph) {
      for (const StreamItemId launch : parts.graphs[graph].launches) graph_of_[launch] = graph;
    }
  }

  /// The host does something else for so long. Rounded down to nanoseconds, the rest carried on.
  void work(Duration duration) {
    constexpr std::int64_t longest = 4'000'000'000;  // a call's argument has 32 bits
    rest_ += duration;
    std::int64_t left = rest_.count() / 1000;
    rest_ -= std::chrono::nanoseconds{left};
    clock_ += std::chrono::nanoseconds{left};
    while (left > 0) {
      const std::int64_t now = std::min(left, longest);
      program_.calls.push_back(HostCall::sleep_ns(static_cast<std::uint32_t>(now)));
      left -= now;
    }
  }
  /// Likewise until then, if nothing held the host so far.
  void work_until(Time when) {
    const Time reached = clock_ + rest_;
    if (when > reached) work(when - reached);
  }

  /// The last call that was written; programs of the model are not empty then.
  [[nodiscard]] std::uint32_t last_call() const {
    return static_cast<std::uint32_t>(program_.calls.size() - 1);
  }

  /// The place of its launch in the program.
  std::uint32_t launch(StreamItemId item) {
    const StreamId stream = parts_.plan_stream(parts_.order.items[item].stream);
    for (const StreamDependency& dependency : parts_.order.dependencies_to(item)) {
      if (events_[dependency.from].valid())
        program_.calls.push_back(HostCall::wait(stream, events_[dependency.from]));
    }
    if (const TaskId pause = parts_.pause_before[item]; pause.valid()) {
      program_.calls.push_back(HostCall::launch(stream, pause));
    }
    if (parts_.whole_graph(item)) {
      launch_graph(item, stream);
    } else {
      for (const std::uint32_t row : parts_.order.rows_of(item)) {
        if (parts_.task_of[row].valid()) {
          program_.calls.push_back(HostCall::launch(stream, parts_.task_of[row]));
        }
      }
    }
    const std::uint32_t place = last_call();
    if (recorded_[item]) {
      events_[item] = EventId{model_.plan.event_count++};
      program_.calls.push_back(HostCall::record(stream, events_[item]));
    }
    return place;
  }

  /// False: the run does not have what it waits for.
  bool synchronize(const HostStep& step) {
    if (step.kind == HostStepKind::wait_outside) return false;
    if (step.kind == HostStepKind::synchronize_device) {
      program_.calls.push_back(HostCall::synchronize_all());
      return true;
    }
    if (!events_[step.item].valid()) return false;
    program_.calls.push_back(HostCall::synchronize_event(events_[step.item]));
    return true;
  }

  /// The host waits for a pause.
  void pause(StreamId stream, TaskId task) {
    const StreamId on = parts_.plan_stream(stream);
    const EventId event{model_.plan.event_count++};
    program_.calls.push_back(HostCall::launch(on, task));
    program_.calls.push_back(HostCall::record(on, event));
    program_.calls.push_back(HostCall::synchronize_event(event));
  }

 private:
  void launch_graph(StreamItemId item, StreamId stream) {
    const auto [made, added] = device_graphs_.try_emplace(graph_of_.at(item));
    const ImportedGraph& shape = parts_.graphs[made->first];
    if (added) {
      made->second = static_cast<std::uint32_t>(model_.plan.graphs.size());
      DeviceGraph& graph = model_.plan.graphs.emplace_back();
      add_nodes(item, shape, graph);
    }
    std::vector<TaskId> tasks;
    for (std::uint32_t node = 0; node < shape.node_count(); ++node) {
      const auto pause = parts_.pause_before_node.find({item, node});
      if (pause != parts_.pause_before_node.end()) tasks.push_back(pause->second);
      tasks.push_back(parts_.task_of[parts_.order.rows_of(item)[node]]);
    }
    model_.plan.graphs[made->second].add_launch(tasks);
    program_.calls.push_back(HostCall::graph_launch(stream, made->second));
  }

  /// Nodes that pause have a node for that in front of them.
  void add_nodes(StreamItemId item, const ImportedGraph& shape, DeviceGraph& graph) const {
    std::vector<std::uint32_t> place;  // of the trace's nodes
    for (std::uint32_t node = 0; node < shape.node_count(); ++node) {
      std::vector<std::uint32_t> needs;
      for (const std::uint32_t need : shape.needs[node]) needs.push_back(place[need]);
      const StreamId stream = node_stream(item, node);
      if (parts_.pause_before_node.contains({item, node})) {
        needs = {graph.add_node(stream, std::move(needs))};
      }
      place.push_back(graph.add_node(stream, std::move(needs)));
    }
  }

  [[nodiscard]] StreamId node_stream(StreamItemId item, std::uint32_t node) const {
    const DeviceRow& row = parts_.trace.device_rows[parts_.order.rows_of(item)[node]];
    for (const StreamId id : parts_.order.streams.ids()) {
      const ImportedStream& stream = parts_.order.streams[id];
      if (stream.device == row.device && stream.stream == row.stream) return parts_.plan_stream(id);
    }
    return parts_.plan_stream(parts_.order.items[item].stream);
  }

  RankParts& parts_;
  HostProgram& program_;
  ReplayModel& model_;
  IdVector<StreamItemId, EventId> events_;
  IdVector<StreamItemId, bool> recorded_;  // somebody waits for it
  std::map<StreamItemId, std::uint32_t> graph_of_;
  std::map<std::uint32_t, std::uint32_t> device_graphs_;  // of the trace -> of the plan
  Time clock_{};
  Duration rest_{0};
};

/// When each item must leave the host so that it arrives when it did, and no sooner than what it
/// waits for; and its place among those of the same time.
struct Departure {
  Time when{};
  std::uint32_t level = 0;
};

void not_before(Departure& item, const Departure& before) {
  item.when = std::max(item.when, before.when);
  item.level = std::max(item.level, before.level + 1);
}

class PlanMaker {
 public:
  PlanMaker(std::vector<RankParts>& ranks, ReplayMode mode, ReplayModel& model)
      : ranks_(ranks), mode_(mode), model_(model) {}

  void run() {
    model_.plan.policy = "as_recorded";
    for (const ReplayModel::Origin& origin : model_.origins) {
      model_.given.push_back(origin.pause != 0 ||
                             ranks_[origin.rank].trace.device_rows[origin.row].assumed);
    }
    model_.plan.hosts = IdVector<HostId, HostProgram>(ranks_.size());
    for (std::uint32_t rank = 0; rank < ranks_.size(); ++rank) {
      HostProgram& program = model_.plan.hosts[HostId{rank}];
      program.name = ranks_.size() > 1 ? fmt::format("rank {}", rank) : "host";
      if (mode_ == ReplayMode::copied_launches) {
        copy_launches(ranks_[rank], program);
      } else {
        follow_host(ranks_[rank], program);
      }
    }
  }

 private:
  /// Of a graph only the first node is given: what follows is for the run to say.
  void set_given(const RankParts& parts, StreamItemId item) {
    for (const std::uint32_t row : parts.order.rows_of(item)) {
      if (!parts.task_of[row].valid()) continue;
      model_.given[parts.task_of[row]] = true;
      if (parts.whole_graph(item)) return;
    }
  }

  [[nodiscard]] Departure departure(const RankParts& parts, StreamItemId id, bool first) {
    const StreamItem& item = parts.order.items[id];
    Time arrival = item.started;
    const bool pauses = parts.pause_before[id].valid();
    if (pauses || first || !item.launched()) set_given(parts, id);
    if (pauses || !(first || !item.launched())) {
      arrival = parts.launches.reference(id) + parts.launches.of(id);
    }
    return {.when = parts.run_time(arrival) - parts.delays.launch_latency, .level = 0};
  }

  void copy_launches(RankParts& parts, HostProgram& program) {
    IdVector<StreamItemId, Departure> departures(parts.order.items.size());
    IdVector<StreamItemId, StreamItemId> before(parts.order.items.size());
    for (const auto& queue : parts.order.queues) {
      for (std::size_t i = 0; i < queue.size(); ++i) {
        departures[queue[i]] = departure(parts, queue[i], i == 0);
        if (i != 0) before[queue[i]] = queue[i - 1];
      }
    }
    for (bool changed = true; changed;) {  // once, but for dependencies against the order of starts
      changed = false;
      for (const StreamItemId id : parts.order.items.ids()) {
        Departure now = departures[id];
        if (before[id].valid()) not_before(now, departures[before[id]]);
        for (const StreamDependency& dependency : parts.order.dependencies_to(id))
          not_before(now, departures[dependency.from]);
        changed = changed || now.when != departures[id].when || now.level != departures[id].level;
        departures[id] = now;
      }
    }
    std::vector<StreamItemId> sorted;
    for (const StreamItemId id : parts.order.items.ids()) sorted.push_back(id);
    std::stable_sort(sorted.begin(), sorted.end(), [&](StreamItemId a, StreamItemId b) {
      return std::pair{departures[a].when, departures[a].level} <
             std::pair{departures[b].when, departures[b].level};
    });
    ProgramWriter writer(parts, program, model_);
    for (const StreamItemId id : sorted) {
      writer.work_until(departures[id].when);
      const std::uint32_t place = writer.launch(id);
      if (!parts.order.items[id].launched()) continue;
      const CallRow& call = parts.trace.calls[parts.order.items[id].call];
      add_measured(parts, place, call.started, call.ended, false);
    }
  }

  void follow_host(RankParts& parts, HostProgram& program) {
    ProgramWriter writer(parts, program, model_);
    for (const StreamItemId item : parts.order.items.ids()) {
      if (parts.use[item] != Use::backlog && parts.use[item] != Use::earlier) continue;
      set_given(parts, item);
      writer.launch(item);
    }
    auto unlaunched = given_before(parts);
    const bool learned = splits(mode_);
    if (learned) parts.host.learn(parts.from);
    bool begun = false;
    for (std::size_t i = 0; i < parts.order.host.size(); ++i) {
      const HostStep& step = parts.order.host[i];
      const CallRow& call = parts.trace.calls[step.call];
      if (learned && call.started < parts.from) continue;
      const Duration behind = work_behind(parts, i, learned);
      const Duration own = learned ? parts.host.expected(i) : parts.host.recorded(i);
      if (!std::exchange(begun, true)) {
        const Time until = parts.host.waits(i) ? call.started : call.ended;
        writer.work_until(parts.run_time(until) - behind);
      } else {
        writer.work(std::max(Duration{0}, own - behind));
      }
      if (step.kind == HostStepKind::launch) {
        for (const StreamItemId item : unlaunched[step.item]) writer.launch(item);
        if (parts.pause_before[step.item].valid() && !learned) set_given(parts, step.item);
      }
      make_step(parts, i, writer);
      writer.work(behind);
    }
    for (const StreamItemId item : unlaunched[StreamItemId::none()]) writer.launch(item);
  }

  /// The part of a launch call that comes after the launch: of a graph that begins before its call
  /// returns.
  static Duration work_behind(const RankParts& parts, std::size_t index, bool learned) {
    const HostStep& step = parts.order.host[index];
    if (step.kind != HostStepKind::launch || !parts.order.items[step.item].early) {
      return Duration{0};
    }
    const CallRow& call = parts.trace.calls[step.call];
    const Duration whole = learned ? parts.delays.graph_call : call.ended - call.started;
    const Duration before = parts.launches.of(step.item) - parts.delays.launch_latency;
    return std::max(Duration{0}, whole - std::max(Duration{0}, before));
  }

  /// By launched item the ones before it in its stream whose launch is not in the trace: they are
  /// put into the stream just before it. none(): those behind the last launched one.
  std::map<StreamItemId, std::vector<StreamItemId>> given_before(const RankParts& parts) {
    std::map<StreamItemId, std::vector<StreamItemId>> result;
    for (const auto& queue : parts.order.queues) {
      std::vector<StreamItemId> waiting;
      for (const StreamItemId item : queue) {
        if (parts.use[item] == Use::given) {
          set_given(parts, item);
          waiting.push_back(item);
        } else if (parts.use[item] == Use::launched && !waiting.empty()) {
          result[item] = std::exchange(waiting, {});
        }
      }
      auto& last = result[StreamItemId::none()];
      last.insert(last.end(), waiting.begin(), waiting.end());
    }
    return result;
  }

  void make_step(RankParts& parts, std::size_t index, ProgramWriter& writer) {
    const HostStep& step = parts.order.host[index];
    if (step.kind == HostStepKind::launch) {
      if (parts.order.items[step.item].holds_host) {
        writer.work(
            std::max(Duration{0}, parts.launches.of(step.item) - parts.delays.launch_latency));
      }
      const std::uint32_t place = writer.launch(step.item);
      const bool waits = parts.host.waits(index);
      const CallRow& call = parts.trace.calls[step.call];
      add_measured(parts, place, call.started, waits ? call.started : call.ended, false);
      if (!waits) return;
    }
    HostStep wait = step;
    if (wait.kind == HostStepKind::launch) wait.kind = HostStepKind::synchronize_item;
    const CallRow& call = parts.trace.calls[step.call];
    const auto pause = parts.pause_after.find(index);
    const bool pauses = pause != parts.pause_after.end();
    Time over = call.ended;
    if (pauses) over -= parts.delays.wake_up + parts.pauses.after(index);
    if (writer.synchronize(wait)) {
      add_measured(parts, writer.last_call(), call.started, over, true);
    } else {
      over = call.started;
    }
    if (!pauses) return;
    writer.pause(pause->second.first, pause->second.second);
    add_measured(parts, writer.last_call(), over, call.ended, true);
  }

  /// What the trace has of a call of the program.
  void add_measured(const RankParts& parts, std::uint32_t place, Time start, Time end, bool waits) {
    const HostId host{static_cast<std::uint32_t>(&parts - ranks_.data())};
    const Time started = std::max(Time{}, parts.run_time(start));
    const Time ended = std::max(started, parts.run_time(end));
    model_.measured.hosts.push_back({.host = host,
                                     .call = place,
                                     .what = model_.plan.hosts[host].calls[place],
                                     .started = started,
                                     .ended = ended,
                                     .blocked = waits ? ended - started : Duration{0}});
    model_.measured.ended = std::max(model_.measured.ended, ended);
  }

  std::vector<RankParts>& ranks_;
  ReplayMode mode_;
  ReplayModel& model_;
};

}  // namespace

bool RankParts::whole_graph(StreamItemId item) const {
  return order.items[item].graph && use[item] != Use::left_out &&
         (use[item] != Use::backlog || order.items[item].started >= from);
}

void make_plan(std::vector<RankParts>& ranks, ReplayMode mode, ReplayModel& model) {
  PlanMaker(ranks, mode, model).run();
}

}  // namespace schedlab::replaying
