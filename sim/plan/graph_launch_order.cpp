// SPDX-License-Identifier: Apache-2.0
#include "sim/plan/graph_launch_order.hpp"

#include <algorithm>
#include <utility>

namespace schedlab {

GraphLaunchOrder::GraphLaunchOrder(Plan& made, std::size_t streams)
    : made_(made), after_(streams), waited_(streams), complete_(streams, 0), latest_(streams, 0) {}

void GraphLaunchOrder::start() {
  for (const StreamId stream : touched_) {
    after_[stream].clear();
    waited_[stream].clear();
  }
  touched_.clear();
}

void GraphLaunchOrder::touch(StreamId stream) {
  if (after_[stream].empty() && waited_[stream].empty()) touched_.push_back(stream);
}

void GraphLaunchOrder::merge(std::uint32_t graph, Graphs& graphs) const {
  const auto same = std::find_if(graphs.begin(), graphs.end(), [&](std::uint32_t other) {
    return into_[other] == into_[graph];
  });
  if (same == graphs.end()) {
    graphs.push_back(graph);
  } else {
    *same = std::max(*same, graph);
  }
}

EventId GraphLaunchOrder::event(std::uint32_t graph) {
  if (!events_[graph].valid()) events_[graph] = EventId{made_.event_count++};
  return events_[graph];
}

void GraphLaunchOrder::add_needs(StreamId stream, const Graphs& graphs) {
  if (graphs.empty()) return;
  touch(stream);
  for (const std::uint32_t graph : graphs) merge(graph, after_[stream]);
}

void GraphLaunchOrder::wait(StreamId stream, StreamId into, std::vector<HostCall>& calls) {
  for (const std::uint32_t graph : after_[stream]) {
    if (into_[graph] == into || complete(graph)) continue;
    Graphs& waited = waited_[into];
    const bool known = std::any_of(waited.begin(), waited.end(), [&](std::uint32_t other) {
      return into_[other] == into_[graph] && other >= graph;
    });
    if (known) continue;
    touch(into);
    merge(graph, waited);
    calls.push_back(HostCall::wait(into, event(graph)));
  }
}

void GraphLaunchOrder::launch(StreamId into) {
  latest_[into] = count();
  into_.push_back(into);
  events_.push_back(EventId::none());
}

void GraphLaunchOrder::contains(StreamId stream, bool nodes) {
  touch(stream);
  if (nodes) after_[stream].clear();  // the graph has waited for all of that
  merge(count() - 1, after_[stream]);
}

void GraphLaunchOrder::synchronize(const Graphs& graphs, std::vector<HostCall>& calls) {
  for (const std::uint32_t graph : graphs) {
    const StreamId into = into_[graph];
    calls.push_back(latest_[into] == graph ? HostCall::synchronize_stream(into)
                                           : HostCall::synchronize_event(event(graph)));
    complete_[into] = std::max(complete_[into], graph + 1);
  }
}

void GraphLaunchOrder::complete_all() {
  for (const StreamId stream : touched_) {
    after_[stream].clear();
    waited_[stream].clear();
    complete_[stream] = count();
  }
  touched_.clear();
}

void GraphLaunchOrder::add_records(std::vector<HostCall>& calls) const {
  std::vector<HostCall> all;
  all.reserve(calls.size());
  for (const HostCall call : calls) {
    all.push_back(call);
    if (call.kind() != HostCallKind::graph_launch || !events_[call.graph()].valid()) continue;
    all.push_back(HostCall::record(call.stream(), events_[call.graph()]));
  }
  calls = std::move(all);
}

}  // namespace schedlab
