// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "sim/plan/policy.hpp"
#include "sim/trace/trace.hpp"

#include <string>

namespace schedlab {

/// Share of a device's compute units that a task of `operation` holds there while it runs alone, in
/// [0, 1]: its share of its unit class, times that class's part of the units of all limited
/// classes; on unlimited units the estimate's share; 0 for copies and host work, which hold no
/// compute units. Classes that run nothing but collectives (management cores) do not count.
[[nodiscard]] double unit_share(const Problem& problem, OperationId operation, DeviceId device);

/// The same for one task as it ran. Where units are shared block by block (shares_units) a
/// task that co-runs with others lasts longer on fewer units, so its share is what it needs alone,
/// spread over the time it took; else it is unit_share().
[[nodiscard]] double unit_share(const Problem& problem, const TaskSpan& span);

/// A trace with the names it needs to stand alone. Every task of the graph gets a label, whether or
/// not it is in the trace.
///
/// Errors   ContractViolation if the trace names a task, stream, device or host the problem and the
/// plan
///          do not have.
/// Cost     O(tasks), two strings a task.
[[nodiscard]] TraceDocument make_document(const Problem& problem,
                                          const Plan& plan,
                                          Trace trace,
                                          std::string title,
                                          std::string origin = "simulated");

/// What a track of the stream is called: its name, and the units it is bound to.
[[nodiscard]] std::string track_name(const TraceDocument& document, StreamId stream);

}  // namespace schedlab
