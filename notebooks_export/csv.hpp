// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "sim/sweep/table.hpp"
#include "sim/trace/memory_use.hpp"
#include "sim/trace/trace.hpp"

#include <cstddef>
#include <string>
#include <vector>

namespace schedlab {

/// A table as RFC 4180 has it, but with line feeds only: a header line, fields with commas or
/// quotes in quotes. Missing cells are empty, and an empty text is "" in quotes. A line break in a
/// text becomes "; ", so that a line is a row, and a text that a spreadsheet would calculate (one
/// that begins with = + - @, a tab or a carriage return and is no number) gets a ' before it.
[[nodiscard]] std::string table_csv(const Table& table);

/// time_us, time_ps, utilization, running, critical: one line per change, each valid until the
/// next. A trace with more than `max_rows` changes gives the means over that many equal slices
/// instead.
[[nodiscard]] std::string utilization_csv(const TraceDocument& document,
                                          std::size_t max_rows = 20000);

/// device, time_us, time_ps, bytes: one line per change of what the tensors hold on a device, each
/// valid until the next; at most about `max_rows` a device, else the most of each of that many
/// slices.
[[nodiscard]] std::string memory_csv(const std::vector<DeviceMemory>& memory,
                                     Time end,
                                     std::size_t max_rows = 20000);

/// One line per task of the trace, in launch order: names, stream, device, exact times.
[[nodiscard]] std::string trace_csv(const TraceDocument& document);

}  // namespace schedlab
