// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "sim/trace/trace.hpp"

#include <filesystem>
#include <string_view>

namespace schedlab {

/// The measured run of a validation, whose trace.json shows two runs side by side.
inline constexpr std::string_view measured_trace_name = "measured_trace.json";

/// The trace in the folder of a run or of a validation (the measured one), or a trace.json itself,
/// also gzipped.
/// Throws InputError; for the folder of a sweep it says how to get a trace from there.
[[nodiscard]] TraceDocument load_trace(const std::filesystem::path& path);

}  // namespace schedlab
