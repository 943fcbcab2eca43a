// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "sim/base/enum_names.hpp"
#include "workloads/traces/reconstruct.hpp"

#include <array>
#include <cstdint>
#include <string_view>
#include <vector>

namespace schedlab {

/// What lies between two instants of a trace.
enum class OperatorEdgeKind : std::uint8_t {
  host,           ///< time within an outermost operator or call of a thread; as long as it took
  next_operator,  ///< from the end of one outermost operator to the next: 0, whatever lies between
  launch,         ///< from the begin of a call to what it launched, in a stream that was idle
  queue,          ///< from the end of an activity to the next, which had been launched by then
  event,          ///< from the end of an activity to one that waits for its event: 0
  kernel,         ///< a kernel, copy or memset
  collective,     ///< a kernel of a collective
  synchronization,  ///< from the end of an activity to the return of the call that waits for it: 0
};
inline constexpr std::size_t operator_edge_kind_count = 8;
template <>
struct EnumNames<OperatorEdgeKind> {
  static constexpr auto names = name_list("host",
                                          "next_operator",
                                          "launch",
                                          "queue",
                                          "event",
                                          "kernel",
                                          "collective",
                                          "synchronization");
};

/// Begin or end of an operator, a call or an activity.
struct OperatorNode {
  enum class Of : std::uint8_t { host_operator, call, activity };
  Of of = Of::activity;
  std::uint32_t row = 0;  ///< in ImportedTrace::operators, calls or device_rows
  bool end = false;
  Time when{};
};

/// The heaviest chain of edges between begins and ends.
struct OperatorPath {
  struct Step {
    OperatorNode node;
    OperatorEdgeKind edge = OperatorEdgeKind::host;  ///< from the step before; of the first: host
    Duration weight{0};                              ///< likewise; 0
  };
  std::vector<Step> steps;
  std::uint32_t events = 0;  ///< different operators, calls and activities of the steps
  std::array<std::uint32_t, operator_edge_kind_count> edges{};
  std::array<Duration, operator_edge_kind_count> weights{};
  Duration length{0};  ///< sum of all weights

  [[nodiscard]] std::uint32_t edge_count() const {
    return steps.empty() ? 0U : static_cast<std::uint32_t>(steps.size() - 1);
  }
};

/// The critical path through operators, calls and activities, of what the host began in
/// [from, to]; of several equally heavy ones that which ends first. Operators and calls that took
/// no time are left out. A call that waits weighs nothing: what it waits for does.
///
/// Source  the definition is that of Holistic Trace Analysis (facebookresearch), whose published
///         counts it reproduces, and in addition has edges for events and collectives.
/// Errors  InputError if the edges have a cycle.
/// Cost    O(rows log rows).
[[nodiscard]] OperatorPath operator_path(const ImportedTrace& trace,
                                         const ReconstructedTrace& order,
                                         Time from = Time::min(),
                                         Time to = Time::max());

}  // namespace schedlab
