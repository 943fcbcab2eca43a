// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "sim/engine/device_side.hpp"

#include <fmt/format.h>

#include <utility>

/// \file
/// Members of DeviceSide: graphs that a host launches with one call.
///
/// A launch is one item of its stream. When its turn comes, the nodes without needs become ready;
/// a node whose needs have all completed becomes ready graph_node_gap later (programmatic_gap where
/// that need, its only one, is a programmatic edge). A ready node gets a
/// stream and a connection of its own until it has completed, so that the rest of the engine, and
/// every sharing model, sees a kernel like any other: no hardware connection is shared, and only
/// the needs put nodes in order. When the last node has completed, so has the launch.
namespace schedlab::engine {

template <class Sharing>
void DeviceSide<Sharing>::enqueue_graph(
    const Plan& plan, HostCall call, Time submitted, Time arrival, HostId host) {
  const DeviceGraph& graph = plan.graphs[call.graph()];
  plan_ = &plan;
  if (scratch_.streams.size() < plan.streams.size()) scratch_.streams.resize(plan.streams.size());
  GraphState& state = scratch_.graphs[call.graph()];
  if (state.successor_offset.empty()) {
    GraphSuccessors successors{graph};
    state.successor_offset = std::move(successors.offset);
    state.successors = std::move(successors.nodes);
  }
  const auto row = static_cast<std::uint32_t>(state.launches.size());
  SCHEDLAB_EXPECTS(row < graph.launch_count(),
                   fmt::format("{} is launched {} times and has tasks for {} launches",
                               plan.graph_name(call.graph()),
                               row + 1,
                               graph.launch_count()));
  Stream& s = stream(call.stream());
  ++s.pending_tasks;
  const std::uint32_t launch = append(s, call, arrival, nil);
  items_[launch].link = launch + 1;
  state.launches.push_back(launch);
  for (std::uint32_t node = 0; node < graph.node_count(); ++node) {
    const TaskId task = graph.task(row, node);
    SCHEDLAB_EXPECTS(task.value() < problem_.costs.task_count(),
                     fmt::format("launch of task {}", task.value()));
    items_.push_back({.call = HostCall::launch(StreamId::none(), task),
                      .next = nil,
                      .link = static_cast<std::uint32_t>(trace_.tasks.size()),
                      .time = {}});
    trace_.tasks.push_back({.task = task,
                            .stream = graph.stream(node),
                            .host = host,
                            .device = plan.streams[graph.stream(node)].device,
                            .submitted = submitted,
                            .started = {},
                            .ended = {}});
  }
}

/// False: it has to wait, for the stream or for its graph's launches before.
template <class Sharing>
bool DeviceSide<Sharing>::begin_graph(std::uint32_t connection, const Item& item) {
  Connection& c = scratch_.connections[connection];
  Stream& s = stream(item.call.stream());
  if (s.free_from > now_) {
    wake_at(connection, s.free_from);
    return false;
  }
  const std::uint32_t id = item.call.graph();
  GraphState& state = scratch_.graphs[id];
  if (state.nodes_left != 0 || state.launches[state.begun] != c.head) {
    if (!c.waiting) {
      c.waiting = true;
      c.next_waiter = state.waiter;
      state.waiter = connection;
    }
    return false;
  }
  const DeviceGraph& graph = plan_->graphs[id];
  ++state.begun;
  s.running_span = graph_mark;
  state.stream = item.call.stream();
  state.first_item = item.link;
  state.nodes_left = graph.node_count();
  state.missing.resize(graph.node_count());
  for (std::uint32_t node = 0; node < graph.node_count(); ++node) {
    state.missing[node] = static_cast<std::uint32_t>(graph.needs(node).size());
  }
  pop(c);
  for (std::uint32_t node = 0; node < graph.node_count(); ++node) {
    if (state.missing[node] == 0) release_node(id, node, now_);
  }
  return true;
}

/// The node starts at `ready` at the earliest.
template <class Sharing>
void DeviceSide<Sharing>::release_node(std::uint32_t graph, std::uint32_t node, Time ready) {
  const std::uint32_t item = scratch_.graphs[graph].first_item + node;
  const std::uint32_t slot = take_slot(graph, node);
  items_[item].call = HostCall::launch(StreamId{slot}, items_[item].call.task());
  items_[item].time = ready;
  const std::uint32_t connection = scratch_.streams[slot].connection;
  Connection& c = scratch_.connections[connection];
  c.head = item;
  c.tail = item;
  touch(connection);
}

/// A stream for one node, with its device and level.
template <class Sharing>
std::uint32_t DeviceSide<Sharing>::take_slot(std::uint32_t graph, std::uint32_t node) {
  const auto first = static_cast<std::uint32_t>(plan_->streams.size());
  std::uint32_t slot = nil;
  if (scratch_.free_slots.empty()) {
    slot = first + static_cast<std::uint32_t>(scratch_.slots.size());
    SCHEDLAB_EXPECTS(slot < HostCall::max_streams, "too many nodes of graphs are ready at once");
    scratch_.slots.emplace_back();
    scratch_.streams.resize(slot + 1);
    scratch_.streams[slot].graph_node = true;
    scratch_.streams[slot].connection = static_cast<std::uint32_t>(scratch_.connections.size());
    scratch_.connections.emplace_back();
  } else {
    slot = scratch_.free_slots.back();
    scratch_.free_slots.pop_back();
  }
  scratch_.slots[slot - first] = {graph, node};
  const DeviceGraph& source = plan_->graphs[graph];
  const StreamSpec& own = plan_->streams[source.stream(node)];
  const StreamSpec& launched = plan_->streams[scratch_.graphs[graph].stream];
  Stream& s = scratch_.streams[slot];
  s.device = own.device;
  s.partition = own.partition;
  s.level = problem_.platform.device(own.device)
                .level_of(source.node_priorities ? own.priority : launched.priority);
  return slot;
}

template <class Sharing>
void DeviceSide<Sharing>::complete_node(StreamId slot) {
  const GraphSlot done = scratch_.slots[slot.value() - plan_->streams.size()];
  scratch_.free_slots.push_back(slot.value());
  GraphState& state = scratch_.graphs[done.graph];
  const DeviceGraph& graph = plan_->graphs[done.graph];
  const std::uint32_t end = state.successor_offset[done.node + 1];
  for (std::uint32_t i = state.successor_offset[done.node]; i < end; ++i) {
    const std::uint32_t next = state.successors[i];
    if (--state.missing[next] != 0) continue;
    const DeviceId device = plan_->streams[graph.stream(next)].device;
    release_node(
        done.graph, next, now_ + gap_before(graph, next, problem_.platform.device(device)));
  }
  if (--state.nodes_left == 0) complete_graph(done.graph);
}

template <class Sharing>
void DeviceSide<Sharing>::complete_graph(std::uint32_t graph) {
  GraphState& state = scratch_.graphs[graph];
  for (std::uint32_t waiter = state.waiter; waiter != nil;) {
    Connection& waiting = scratch_.connections[waiter];
    waiting.waiting = false;
    touch(waiter);
    waiter = waiting.next_waiter;
  }
  state.waiter = nil;
  Stream& s = stream(state.stream);
  s.running_span = nil;
  s.free_from = now_ + s.gap;
  --s.pending_tasks;
  release(s.full_waiter);
  retire(s);
  touch(s.connection);
}

}  // namespace schedlab::engine
