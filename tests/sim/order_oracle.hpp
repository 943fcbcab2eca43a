// SPDX-License-Identifier: Apache-2.0
// What a plan orders, by brute force: every call and every completion is a node, every reason for
// an order an edge, and "before" is reachability. Cubic and simple, where the checker is fast and
// clever.
#pragma once

#include "sim/graph/task_graph.hpp"
#include "sim/plan/plan.hpp"

#include <set>
#include <utility>
#include <vector>

namespace schedlab::test {

class OrderOracle {
 public:
  /// The plan must be well formed, record each event at most once if it has several hosts, and be
  /// free of deadlocks.
  explicit OrderOracle(const Plan& plan) : plan_(plan) {
    for (const HostId host : plan.hosts.ids()) {
      first_.push_back(size_);
      size_ += plan.hosts[host].calls.size() + 1;  // the last node of a host is its end
    }
    edges_.resize(2 * size_);
    add_host_order();
    close(size_);
    add_device_order();
    close(2 * size_);
  }

  /// The edges of the graph that the plan leaves unordered, as (consumer, producer).
  [[nodiscard]] std::set<std::pair<TaskId, TaskId>> unordered_edges(const TaskGraph& graph) const {
    std::vector<std::size_t> completion(graph.task_count());
    for_each_call([&](std::size_t node, HostCall c) {
      if (c.kind() == HostCallKind::launch) completion[c.task().value()] = size_ + node;
    });
    std::set<std::pair<TaskId, TaskId>> missing;
    for (const TaskId before : graph.tasks()) {
      for (const TaskId after : graph.successors(before)) {
        if (!reaches_[completion[before.value()]][completion[after.value()]]) {
          missing.insert({after, before});
        }
      }
    }
    return missing;
  }

 private:
  template <class Visit>
  void for_each_call(Visit visit) const {
    for (const HostId host : plan_.hosts.ids()) {
      const auto& calls = plan_.hosts[host].calls;
      for (std::size_t i = 0; i < calls.size(); ++i) visit(first_[host.value()] + i, calls[i]);
    }
  }

  void add_host_order() {
    std::vector<std::size_t> sends(plan_.messages.size());
    std::vector<std::size_t> receives(plan_.messages.size());
    for_each_call([&](std::size_t node, HostCall c) {
      edges_[node].push_back(node + 1);
      if (c.kind() == HostCallKind::send) sends[c.message()] = node;
      if (c.kind() == HostCallKind::receive) receives[c.message()] = node;
    });
    for (std::size_t i = 0; i < sends.size(); ++i) {
      if (plan_.messages[i].one_sided == OneSided::get) continue;  // read without asking anybody
      edges_[sends[i]].push_back(receives[i] + 1);
      edges_[receives[i]].push_back(sends[i] + 1);
    }
  }

  void add_device_order() {
    for_each_call([&](std::size_t node, HostCall c) {
      const bool on_device = c.kind() == HostCallKind::launch || c.kind() == HostCallKind::record ||
                             c.kind() == HostCallKind::wait;
      if (on_device) {
        edges_[node].push_back(size_ + node);
        for_each_call([&](std::size_t earlier, HostCall e) {  // first in, first out
          const bool queued = e.kind() == HostCallKind::launch ||
                              e.kind() == HostCallKind::record || e.kind() == HostCallKind::wait;
          if (queued && in_order(e.stream(), c.stream()) && reaches_[earlier][node]) {
            edges_[size_ + earlier].push_back(size_ + node);
          }
        });
      }
      if (c.kind() == HostCallKind::wait) after_record(c.event(), node, size_ + node);
      if (c.kind() == HostCallKind::synchronize) add_synchronize(node, c);
    });
  }

  /// One stream, or the legacy default stream of a device and a blocking one.
  [[nodiscard]] bool in_order(StreamId a, StreamId b) const {
    const auto is = [this](StreamId s, StreamSync sync) { return plan_.streams[s].sync == sync; };
    const bool legacy = (is(a, StreamSync::legacy_default) && is(b, StreamSync::blocking)) ||
                        (is(b, StreamSync::legacy_default) && is(a, StreamSync::blocking));
    return a == b || (legacy && plan_.streams[a].device == plan_.streams[b].device);
  }

  void add_synchronize(std::size_t node, HostCall c) {
    if (!c.stream().valid() && c.argument() != HostCall::none) {
      after_record(c.event(), node, node + 1);
      return;
    }
    for_each_call([&](std::size_t earlier, HostCall e) {
      const bool queued = e.kind() == HostCallKind::launch || e.kind() == HostCallKind::wait;
      const bool meant = !c.stream().valid() || e.stream() == c.stream();
      if (queued && meant && reaches_[earlier][node]) edges_[size_ + earlier].push_back(node + 1);
    });
  }

  /// The last record of the event that is surely made before call `node` is before `target`.
  void after_record(EventId event, std::size_t node, std::size_t target) {
    std::size_t last = 2 * size_;
    for_each_call([&](std::size_t earlier, HostCall e) {
      if (e.kind() == HostCallKind::record && e.event() == event && reaches_[earlier][node]) {
        last = earlier;  // calls of one host are visited in order
      }
    });
    if (last != 2 * size_) edges_[size_ + last].push_back(target);
  }

  void close(std::size_t nodes) {
    reaches_.assign(nodes, std::vector<bool>(nodes, false));
    std::vector<std::size_t> open;
    for (std::size_t from = 0; from < nodes; ++from) {
      open.push_back(from);
      while (!open.empty()) {
        const std::size_t node = open.back();
        open.pop_back();
        for (const std::size_t next : edges_[node]) {
          if (next >= nodes || reaches_[from][next]) continue;
          reaches_[from][next] = true;
          open.push_back(next);
        }
      }
    }
  }

  const Plan& plan_;
  std::size_t size_ = 0;  // call nodes; the completion of call n is node size_ + n
  std::vector<std::size_t> first_;
  std::vector<std::vector<std::size_t>> edges_;
  std::vector<std::vector<bool>> reaches_;
};

}  // namespace schedlab::test
