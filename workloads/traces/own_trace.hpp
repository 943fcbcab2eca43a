// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "sim/trace/trace.hpp"
#include "workloads/traces/imported_trace.hpp"

#include <string>

namespace schedlab {

/// One of our own traces, simulated or measured, as if a profiler had written it: tasks are device
/// rows, host calls are calls, resolved waits are synchronisations. A call's correlation is one
/// more than its place in Trace::hosts; tasks of a device graph have that of the graph's launch.
[[nodiscard]] ImportedTrace imported_from(const TraceDocument& document, const std::string& file);

}  // namespace schedlab
