// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "sim/trace/chrome_json.hpp"
#include "sim/trace/trace.hpp"

#include <string>

namespace schedlab {

/// Writes two runs of one graph into one file for Perfetto and chrome://tracing: a process each,
/// named by their origin, with host threads and streams as tracks, both starting at time 0. Every
/// task of the second carries how much later it started and how much longer it took than the same
/// task of the first. For viewers only: read_chrome_json() refuses it.
///
/// Errors   ContractViolation if a trace names a task, stream or host without a label.
/// Cost     about 200 ns a task and host call.
void write_merged_chrome_json(const TraceDocument& simulated,
                              const TraceDocument& measured,
                              const TextSink& sink);
[[nodiscard]] std::string merged_chrome_json(const TraceDocument& simulated,
                                             const TraceDocument& measured);

}  // namespace schedlab
