// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "sim/plan/policy.hpp"
#include "sim/trace/trace.hpp"

#include <string>

namespace schedlab {

/// What a roofline is drawn of, as a table: one line per operation and kind of device on which its
/// tasks ran, in the order of the graph.
///
/// Columns  operation, kind, device, tasks, flops_per_task, bytes_per_task (read and written),
///          alone_us (what the cost table says of one task alone), mean_us (of its tasks in the
///          trace), bound, peak_tflop_per_s and bandwidth_gb_per_s (nominal, of the units and the
///          data type of its largest kernel). Empty: not known.
/// Cost     O(tasks + operations).
[[nodiscard]] std::string operations_csv(const Problem& problem, const Trace& trace);

}  // namespace schedlab
