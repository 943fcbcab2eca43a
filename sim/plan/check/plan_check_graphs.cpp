// SPDX-License-Identifier: Apache-2.0
// Walk, continued: device graphs.
#include "sim/plan/check/plan_check_paths.hpp"
#include "sim/plan/check/plan_check_walk.hpp"

#include <fmt/format.h>

namespace schedlab::checker {

void Walk::load_graph(HostId host, std::uint32_t call, HostCall c) {
  GraphUse& use = graphs_[c.graph()];
  use.load_host = host;
  use.load_call = call;
}

void Walk::expect_loaded(HostId host, std::uint32_t call, HostCall c) {
  const GraphUse& use = graphs_[c.graph()];
  if (!index_.loaded_by_plan(c.graph())) return;
  if (use.load_host.valid() && clocks_.made_before(host, use.load_host, use.load_call)) return;
  unordered_ = true;
  findings_.add(FindingKind::graph_not_loaded, host, call, [&] {
    return fmt::format("{} (graph_launch) launches {}, which is {}",
                       call_name(plan(), host, call),
                       plan().graph_name(c.graph()),
                       use.load_host.valid()
                           ? fmt::format("loaded by {}, and no message orders the two",
                                         call_name(plan(), use.load_host, use.load_call))
                           : std::string{"not loaded before"});
  });
}

void Walk::launch_graph(HostId host, std::uint32_t call, HostCall c) {
  expect_alive(host, call, c);
  expect_loaded(host, call, c);
  const std::uint32_t lane = clocks_.enter(host, c.stream());
  GraphUse& use = graphs_[c.graph()];
  if (use.completed != never) {  // its launch before
    clocks_.wait(lane, use.completed);
    clocks_.release(use.completed);
    use.completed = never;
  }
  const DeviceGraph& graph = plan().graphs[c.graph()];
  const std::uint32_t row = use.launches++;
  const auto tasks = graph.tasks(row);
  if (node_of_.empty()) node_of_.resize(index_.graph().task_count());
  GraphPaths paths{graph};
  for (std::uint32_t node = 0; node < graph.node_count(); ++node) {
    paths.advance();
    const TaskId task = tasks[node];
    const auto ordered = [&](TaskId before) {
      const Node& other = node_of_[before];
      const bool here = other.call == index_.number(host, call);
      if (here) return other.node < node && paths.reaches(other.node);
      return number_[before] != 0 && clocks_.knows(lane, lane_[before], number_[before]);
    };
    check_predecessors(host, call, task, ordered);
    check_accumulations(host, call, task, ordered);
    node_of_[task] = {index_.number(host, call), node};
    launch_order_.push_back(task);
  }
  const std::uint32_t number = clocks_.advance(lane);
  last_launch_[lane] = number;
  for (const TaskId task : tasks) {
    number_[task] = number;
    lane_[task] = lane;
  }
  if (use.launches < graph.launch_count()) use.completed = clocks_.save(lane);
}

}  // namespace schedlab::checker
