// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "sim/trace/memory_use.hpp"
#include "sim/trace/trace.hpp"

#include <functional>
#include <span>
#include <string>
#include <string_view>

namespace schedlab {

/// Receives the text of a file piece by piece.
using TextSink = std::function<void(std::string_view)>;

/// Writes a trace in the Trace Event Format that Perfetto and chrome://tracing open: streams as
/// tracks (a process per device), host calls as tracks of their own, an arrow per resolved wait,
/// counters of utilization, running tasks and, if given, of the bytes that tensors hold. Times are
/// microseconds for the viewers and exact picoseconds in `args`; read_chrome_json() restores the
/// document from the latter.
///
/// Errors   ContractViolation if the trace names a task, stream, device or host without a label.
/// Cost     about 100 ns a task, and as much for each host call and wait.
void write_chrome_json(const TraceDocument& document,
                       const TextSink& sink,
                       std::span<const DeviceMemory> memory = {});
[[nodiscard]] std::string chrome_json(const TraceDocument& document,
                                      std::span<const DeviceMemory> memory = {});

/// Reads a file that write_chrome_json() wrote, exactly: the result equals what was written.
/// Counters, arrows and viewers' times are ignored.
///
/// Errors   InputError for anything else, with `file` and the JSON pointer: not JSON, a trace of
/// another
///          program, another version, an unknown word, an id or a time out of range.
[[nodiscard]] TraceDocument read_chrome_json(std::string_view text, const std::string& file);

}  // namespace schedlab
