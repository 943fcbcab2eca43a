// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "sim/base/ids.hpp"
#include "sim/plan/plan.hpp"

#include <cstdint>

namespace schedlab {

struct CaptureOptions {
  bool load = false;  ///< the host loads each graph just before its launch; else it exists
  bool node_priorities = true;  ///< nodes keep the priorities of the streams they come from
  std::uint32_t max_nodes = 0;  ///< of a graph: the next launch begins another one; 0: no limit
  /// By task: 1 stays a launch of the host, between graphs; shorter than the tasks: the rest is 0.
  IdVector<TaskId, std::uint8_t> on_host{};
};

/// The same schedule with graphs in place of single calls, as CUDA's stream capture makes it: every
/// run of launches, records and waits of a host becomes one graph, in which each task needs the
/// task before it in its stream and what the events stand for that its stream has waited for. A
/// need that others imply is left out where stream order and events show it; graphs keep the tasks'
/// order, and nodes their streams' devices and priorities. Each graph is launched into the stream
/// of its first task, behind events of the host's earlier graphs in other streams that hold what
/// its tasks need, by stream order or by events.
///
/// Queries, sleeps and the creation and destruction of streams are dropped. A synchronize or a
/// message ends a capture (CUDA refuses it within one) and stays between two graphs; a synchronize
/// with a stream or an event becomes one with the graphs that hold the work. A graph with
/// `max_nodes` nodes ends too, and the host launches it while it goes on: the device begins sooner,
/// but what depends on a node waits for the node's whole graph.
///
/// A task that stays on the host ends a capture as well: it waits for the graphs that hold what it
/// needs, and later graphs for it.
///
/// On an ideal machine each task of a plan without synchronizes starts when it does in the eager
/// plan; with them it may start later, because all of a graph comes before what follows its launch.
///
/// Throws InfeasibleError for a plan that has graphs already, for one that uses a legacy default
/// stream (CUDA cannot capture it), and for an event of one host that another waits for, which no
/// capture of one host's calls can see.
/// Cost O(calls + needs), times the streams that one comes after: up to LaunchClocks::entries_max;
/// where it comes after more of them, needs can stay that others imply.
[[nodiscard]] Plan capture_graphs(const Plan& eager, const CaptureOptions& options = {});

}  // namespace schedlab
