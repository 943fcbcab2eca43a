// SPDX-License-Identifier: Apache-2.0
#include "sim/plan/graph_capture.hpp"

#include "sim/base/error.hpp"
#include "sim/plan/graph_launch_order.hpp"
#include "sim/plan/launch_clocks.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

namespace schedlab {
namespace {

/// A node with its place among the launches of its stream: what a clock must show to imply it.
struct Place {
  std::uint32_t node = 0;
  StreamId lane;  ///< of LaunchClocks
  std::uint32_t position = 0;
};
/// What comes before everything that follows in a stream.
using Front = std::vector<Place>;

/// Captures the calls of one host after another.
class Capture {
 public:
  Capture(const Plan& eager, const CaptureOptions& options, Plan& made)
      : eager_(eager),
        options_(options),
        made_(made),
        lanes_(eager.streams.size()),
        events_(eager.event_count),
        waits_left_(eager.event_count, 0),
        launches_(made, eager.streams.size()) {
    for (const HostProgram& host : eager.hosts) {
      for (const HostCall call : host.calls) {
        if (call.kind() == HostCallKind::wait) ++waits_left_[call.event()];
      }
    }
  }

  void run(HostId host) {
    calls_ = &made_.hosts[host].calls;
    launch_stream_ = StreamId::none();
    launches_.start();
    for (const HostCall call : eager_.hosts[host].calls) add(call);
    finish();
    launches_.add_records(*calls_);
  }

  /// Turns graphs of a task that stays on the host into its launch; after all hosts have run.
  void launch_alone() {
    if (alone_.empty()) return;
    alone_.resize(made_.graphs.size(), 0);
    std::vector<std::uint32_t> number(alone_.size(), none);
    std::vector<DeviceGraph> graphs;
    for (std::size_t i = 0; i < alone_.size(); ++i) {
      if (alone_[i] != 0) continue;
      number[i] = static_cast<std::uint32_t>(graphs.size());
      graphs.push_back(made_.graphs[i]);
    }
    for (HostProgram& host : made_.hosts) {
      for (HostCall& call : host.calls) {
        if (call.kind() == HostCallKind::graph_load) {
          call = HostCall::graph_load(number[call.graph()]);
        } else if (call.kind() == HostCallKind::graph_launch) {
          const std::uint32_t graph = call.graph();
          call = alone_[graph] != 0
                     ? HostCall::launch(call.stream(), made_.graphs[graph].task(0, 0))
                     : HostCall::graph_launch(call.stream(), number[graph]);
        }
      }
    }
    made_.graphs = std::move(graphs);
  }

 private:
  struct Event {
    Front front;
    LaunchClocks::Snapshot snapshot = 0;
    std::uint32_t graph = none;      // in which it was recorded last
    GraphLaunchOrder::Graphs after;  // what it stands for once that graph has been launched
  };
  static constexpr std::uint32_t none = 0xFFFFFFFFU;

  void add(HostCall call) {
    switch (call.kind()) {
      case HostCallKind::launch:
        return launch(call);
      case HostCallKind::record:
        return record(call);
      case HostCallKind::wait:
        return wait(call);
      case HostCallKind::query:
      case HostCallKind::sleep:
      case HostCallKind::create_stream:
      case HostCallKind::destroy_stream:
        return;
      case HostCallKind::synchronize:
        finish();
        return synchronize(call);
      case HostCallKind::send:
      case HostCallKind::receive:
      case HostCallKind::isend:
      case HostCallKind::irecv:
      case HostCallKind::wait_message:
        finish();
        calls_->push_back(call);
        return;
      case HostCallKind::graph_load:
      case HostCallKind::graph_launch:
        throw InfeasibleError(fmt::format(
            "plan \"{}\" launches graphs already and cannot be captured", eager_.policy));
    }
  }

  /// The stream's number among those this capture has seen.
  StreamId lane(StreamId stream) {
    if (!lanes_[stream].valid()) {
      lanes_[stream] = order_.add_stream();
      seen_.push_back(stream);
      fronts_.emplace_back();
      launched_.push_back(0);
    }
    return lanes_[stream];
  }

  [[nodiscard]] bool stays_on_host(TaskId task) const {
    return options_.on_host.contains(task) && options_.on_host[task] != 0;
  }

  void launch(HostCall call) {
    const bool alone = stays_on_host(call.task());
    const bool full = options_.max_nodes != 0 && tasks_.size() >= options_.max_nodes;
    if (alone || full) finish();
    const StreamId lane = this->lane(call.stream());
    Front& front = fronts_[lane.value()];
    if (tasks_.empty()) {
      launch_stream_ = call.stream();
      graph_ = DeviceGraph{};
      graph_.node_priorities = options_.node_priorities;
    }
    std::vector<std::uint32_t> needs;
    for (const Place& place : front) needs.push_back(place.node);
    const bool programmatic =
        call.programmatic() && needs.size() == 1 && graph_.stream(needs[0]) == call.stream();
    const std::uint32_t node = graph_.add_node(call.stream(), std::move(needs), programmatic);
    tasks_.push_back(call.task());
    launched_[lane.value()] = 1;
    front = {{node, lane, order_.advance(lane)}};
    if (!alone) return;
    alone_.resize(made_.graphs.size() + 1, 0);
    alone_.back() = 1;
    finish();
  }

  void record(HostCall call) {
    const StreamId lane = this->lane(call.stream());
    Event& event = events_[call.event()];
    if (event.graph == graph_number_) order_.release(event.snapshot);
    event.graph = none;
    const bool in_graph = !fronts_[lane.value()].empty();
    event.after =
        in_graph ? GraphLaunchOrder::Graphs{next_graph()} : launches_.after(call.stream());
    if (waits_left_[call.event()] == 0) return;
    event.front = fronts_[lane.value()];
    event.snapshot = order_.snapshot(lane);
    event.graph = graph_number_;
  }

  /// What an event of an earlier graph stands for is complete before the graph starts.
  void wait(HostCall call) {
    Event& event = events_[call.event()];
    --waits_left_[call.event()];
    const bool in_graph = event.graph == graph_number_ && !event.front.empty();
    if (!in_graph) launches_.add_needs(call.stream(), event.after);
    if (event.graph != graph_number_) return;
    const StreamId lane = this->lane(call.stream());
    Front& front = fronts_[lane.value()];
    // What the event implies goes, but for what it names itself: that is known and not added again.
    const auto implied = [&](const Place& place) {
      return order_.covered(event.snapshot, place.lane) >= place.position &&
             std::none_of(event.front.begin(), event.front.end(), [&](const Place& own) {
               return own.node == place.node;
             });
    };
    // A need too many changes nothing; to look for it among very many would take long.
    if (front.size() <= LaunchClocks::entries_max) std::erase_if(front, implied);
    for (const Place& place : event.front) {
      if (order_.known(lane, place.lane) < place.position) front.push_back(place);
    }
    order_.join(lane, event.snapshot);
    if (waits_left_[call.event()] != 0) return;
    order_.release(event.snapshot);
    event.graph = none;
  }

  /// Of the graph under construction.
  [[nodiscard]] std::uint32_t next_graph() const {
    return static_cast<std::uint32_t>(made_.graphs.size());
  }

  /// Ends the graph under construction, if any, and launches it.
  void finish() {
    if (!tasks_.empty()) {
      graph_.add_launch(tasks_);
      const std::uint32_t number = next_graph();
      const bool alone = number < alone_.size() && alone_[number] != 0;
      if (options_.load && !alone) calls_->push_back(HostCall::graph_load(number));
      for (std::size_t lane = 0; lane < seen_.size(); ++lane) {
        if (launched_[lane] == 0) continue;
        launches_.wait(seen_[lane], launch_stream_, *calls_);
      }
      calls_->push_back(HostCall::graph_launch(launch_stream_, number));
      launches_.launch(launch_stream_);
      for (std::size_t lane = 0; lane < seen_.size(); ++lane) {
        if (!fronts_[lane].empty()) launches_.contains(seen_[lane], launched_[lane] != 0);
      }
      made_.graphs.push_back(std::move(graph_));
      tasks_.clear();
    }
    ++graph_number_;
    fronts_.clear();
    launched_.clear();
    for (const StreamId stream : seen_) lanes_[stream] = StreamId::none();
    seen_.clear();
    order_ = LaunchClocks{};
  }

  void synchronize(HostCall call) {
    const bool of_stream = call.stream().valid();
    if (!of_stream && call.argument() == HostCall::none) {
      calls_->push_back(call);
      launches_.complete_all();
      return;
    }
    const auto graphs = of_stream ? launches_.after(call.stream()) : events_[call.event()].after;
    launches_.synchronize(graphs, *calls_);
    if (graphs.empty() && of_stream) calls_->push_back(call);  // returns at once, for what it costs
  }

  const Plan& eager_;
  const CaptureOptions& options_;
  Plan& made_;
  std::vector<HostCall>* calls_ = nullptr;  // of the host
  IdVector<StreamId, StreamId>
      lanes_;                   // stream -> number in order_; none(): not seen in this graph
  std::vector<StreamId> seen_;  // in this graph
  IdVector<EventId, Event> events_;
  IdVector<EventId, std::uint32_t> waits_left_;
  LaunchClocks order_;
  std::vector<Front> fronts_;           // by lane
  std::vector<std::uint8_t> launched_;  // by lane: it has a node in this graph
  DeviceGraph graph_;
  std::vector<TaskId> tasks_;
  std::uint32_t graph_number_ = 0;
  StreamId launch_stream_;           // of the latest graph
  std::vector<std::uint8_t> alone_;  // by graph: of a task that stays on the host
  GraphLaunchOrder launches_;
};

void expect_no_legacy_stream(const Plan& plan) {
  for (const HostProgram& host : plan.hosts) {
    for (const HostCall call : host.calls) {
      const bool queued = call.kind() == HostCallKind::launch ||
                          call.kind() == HostCallKind::record || call.kind() == HostCallKind::wait;
      if (!queued || plan.streams[call.stream()].sync != StreamSync::legacy_default) continue;
      throw InfeasibleError(fmt::format(
          "{} of plan \"{}\" cannot be captured into a graph: it is a legacy default stream\n  "
          "launch eagerly, or use streams of one's own",
          plan.stream_name(call.stream()),
          plan.policy));
    }
  }
}

/// Who records each event; an event that two hosts use cannot be captured.
void expect_private_events(const Plan& plan) {
  IdVector<EventId, HostId> user(plan.event_count);
  for (const HostId host : plan.hosts.ids()) {
    for (const HostCall call : plan.hosts[host].calls) {
      if (call.kind() != HostCallKind::record && call.kind() != HostCallKind::wait) continue;
      if (!user[call.event()].valid()) user[call.event()] = host;
      if (user[call.event()] == host) continue;
      throw InfeasibleError(fmt::format(
          "event {} of plan \"{}\" is used by hosts {} and {}: a graph is captured from "
          "the calls of one host\n  order the hosts by messages, or launch eagerly",
          call.event().value(),
          plan.policy,
          user[call.event()].value(),
          host.value()));
    }
  }
}

}  // namespace

Plan capture_graphs(const Plan& eager, const CaptureOptions& options) {
  if (!eager.graphs.empty()) {
    throw InfeasibleError(fmt::format(
        "plan \"{}\" has graphs already and cannot be captured\n  leave out \"launch\": "
        "the plan launches its graphs as it is",
        eager.policy));
  }
  expect_no_legacy_stream(eager);
  if (eager.hosts.size() > 1) expect_private_events(eager);
  Plan made;
  made.policy = eager.policy;
  made.streams = eager.streams;
  made.partitions = eager.partitions;
  made.messages = eager.messages;
  made.hosts.clear();
  for (const HostProgram& host : eager.hosts) made.hosts.push_back({host.name, {}});
  Capture capture{eager, options, made};
  for (const HostId host : eager.hosts.ids()) capture.run(host);
  capture.launch_alone();
  return made;
}

}  // namespace schedlab
