// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "sim/base/enum_names.hpp"
#include "sim/graph/task_graph.hpp"
#include "sim/machine/platform.hpp"
#include "sim/plan/plan.hpp"

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace schedlab {

enum class FindingKind : std::uint8_t {
  malformed,  ///< a call refers to something that does not exist; task launched twice
  task_not_launched,
  missing_dependency,    ///< nothing in the plan orders a consumer after its producer
  event_never_recorded,  ///< waited for, never recorded
  event_waited_before_record,
  unordered_accumulation,  ///< two tasks may add into one tensor at once
  deadlock,                ///< `message` prints the cycle
  out_of_memory,           ///< `message` says who holds what
  stream_not_alive,        ///< used before its creation or after its destruction
  graph_not_loaded,        ///< launched before the call that loads it
};
template <>
struct EnumNames<FindingKind> {
  static constexpr auto names = name_list("malformed",
                                          "task_not_launched",
                                          "missing_dependency",
                                          "event_never_recorded",
                                          "event_waited_before_record",
                                          "unordered_accumulation",
                                          "deadlock",
                                          "out_of_memory",
                                          "stream_not_alive",
                                          "graph_not_loaded");
};

struct Finding {
  FindingKind kind = FindingKind::malformed;
  HostId host;             ///< none(): the plan as a whole, sorted last
  std::uint32_t call = 0;  ///< index in the host's program
  std::string message;     ///< a full sentence that names tasks, streams and events

  friend bool operator==(const Finding&, const Finding&) = default;
};

struct CheckOptions {
  std::size_t max_findings = 100;  ///< the check goes on, but reports no more than this
  bool check_memory = true;  ///< against Device::memory_capacity, for tasks run in launch order
};

/// Verifies that every possible execution of `plan` respects `graph`. Shares no code with policies
/// or the simulator. Never throws for a bad plan: everything wrong is a finding, in host order.
///
/// What orders two tasks: the same stream, an event recorded after the one and waited for before
/// the other, a synchronize before the launch, and messages between hosts: a receive knows what its
/// sender knew when it sent, and a send above the eager threshold what its receiver knew. A
/// collective orders the tasks of each rank behind that rank's own part and no others. The legacy
/// default stream of a device and its blocking streams order what one host puts into them, and what
/// several hosts do as far as messages order the calls; deadlocks of collectives that this order
/// causes are left to the simulator. Within one
/// launch of a device graph only what nodes need orders; a graph's launch is one operation of its
/// stream, behind the graph's launch before. Recorded answers of queries and sleeps order nothing.
/// With more findings than fit, every kind that occurs keeps at least its first.
///
/// Cost    O((calls + edges) * streams of a host); memory O(tasks + streams of a host, squared and
///         summed over hosts, + events in use * streams of a host). A plan of several hosts in
///         which something looks unordered is looked at again with all that hosts can learn of each
///         other by way of third ones: then `streams` is those of all hosts.
[[nodiscard]] std::vector<Finding> check(const TaskGraph& graph,
                                         const Platform& platform,
                                         const Plan& plan,
                                         const CheckOptions& options = {});

}  // namespace schedlab
