// SPDX-License-Identifier: Apache-2.0
// Clocks, continued: which lanes and hosts each host will be asked about.
#include "sim/plan/check/plan_check_clocks.hpp"

#include <algorithm>
#include <utility>
#include <vector>

namespace schedlab::checker {

namespace {

/// Events with every host that names them, if these are several.
std::vector<std::pair<EventId, HostId>> shared_events(const PlanIndex& index) {
  // Of most events all calls are made by one host.
  IdVector<EventId, HostId> only(index.plan().event_count);
  std::vector<std::pair<EventId, HostId>> shared;
  for (const HostId host : index.plan().hosts.ids()) {
    const auto& calls = index.plan().hosts[host].calls;
    for (std::size_t i = 0; i < calls.size(); ++i) {
      const HostCall call = calls[i];
      const bool names = call.kind() == HostCallKind::record || call.kind() == HostCallKind::wait ||
                         (call.kind() == HostCallKind::synchronize && !call.stream().valid() &&
                          call.argument() != HostCall::none);
      if (!names || index.skip(host, i) || !only.contains(call.event())) continue;
      HostId& first = only[call.event()];
      if (!first.valid()) first = host;
      if (first != host) {
        shared.emplace_back(call.event(), host);
        shared.emplace_back(call.event(), first);
      }
    }
  }
  std::sort(shared.begin(), shared.end());
  shared.erase(std::unique(shared.begin(), shared.end()), shared.end());
  return shared;
}

}  // namespace

void Clocks::find_relevant() {
  relevant_.resize(hosts_);
  relevant_calls_.resize(hosts_);
  relevant_tasks();
  relevant_streams();
  relevant_events();
  for (auto* lists : {&relevant_, &relevant_calls_}) {
    for (auto& list : *lists) {
      std::sort(list.begin(), list.end());
      list.erase(std::unique(list.begin(), list.end()), list.end());
      list.shrink_to_fit();
    }
  }
}

void Clocks::relevant_tasks() {
  const TaskGraph& graph = index_.graph();
  IdVector<TaskId, std::uint32_t> lane_of(graph.task_count(), never);
  for (const HostId host : index_.plan().hosts.ids()) {
    const auto& calls = index_.plan().hosts[host].calls;
    for (std::size_t i = 0; i < calls.size(); ++i) {
      if (calls[i].kind() != HostCallKind::launch || index_.skip(host, i)) continue;
      lane_of[calls[i].task()] = index_.lane_of(host, calls[i].stream());
    }
  }
  const auto depends = [&](TaskId task, TaskId before) {
    const std::uint32_t lane = lane_of[task];
    const std::uint32_t other = lane_of[before];
    if (lane == never || other == never || host_of(lane) == host_of(other)) return;
    relevant_[host_of(lane).value()].push_back(position_[other]);
  };
  for (const TaskId task : graph.tasks()) {
    for (const TaskId before : graph.predecessors(task)) depends(task, before);
  }
  const TensorTable& tensors = graph.tensors();
  for (const TensorId tensor : tensors.ids()) {
    if (!tensors.accumulate(tensor)) continue;
    const auto writers = tensors.writers(tensor);
    const bool one_host = std::all_of(writers.begin(), writers.end(), [&](TaskId task) {
      return lane_of[task] != never && lane_of[writers.front()] != never &&
             host_of(lane_of[task]) == host_of(lane_of[writers.front()]);
    });
    if (one_host) continue;
    for (const TaskId a : writers) {
      for (const TaskId b : writers) depends(a, b);
    }
  }
}

void Clocks::relevant_streams() {
  for (const StreamId stream : index_.plan().streams.ids()) {
    const std::uint32_t begin = index_.first_lane(stream);
    const std::uint32_t end = index_.last_lane(stream);
    for (std::uint32_t lane = begin; lane < end; ++lane) {
      relevant_lanes(lane, stream);
      for (const StreamId with : index_.in_order_with(stream)) relevant_lanes(lane, with);
    }
  }
}

void Clocks::relevant_lanes(std::uint32_t lane, StreamId others) {
  for (std::uint32_t other = index_.first_lane(others); other < index_.last_lane(others); ++other) {
    if (host_of(lane) == host_of(other)) continue;
    relevant_[host_of(lane).value()].push_back(position_[other]);
    relevant_calls_[host_of(lane).value()].push_back(host_of(other).value());
  }
}

void Clocks::relevant_events() {
  const std::vector<std::pair<EventId, HostId>> shared = shared_events(index_);
  for (std::size_t begin = 0; begin < shared.size();) {
    std::size_t end = begin;
    while (end < shared.size() && shared[end].first == shared[begin].first) ++end;
    for (std::size_t a = begin; a < end; ++a) {
      for (std::size_t b = begin; b < end; ++b) {
        if (a != b) {
          relevant_calls_[shared[a].second.value()].push_back(shared[b].second.value());
        }
      }
    }
    begin = end;
  }
}

}  // namespace schedlab::checker
