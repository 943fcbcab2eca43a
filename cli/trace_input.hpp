// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "sim/trace/trace.hpp"

#include <filesystem>

namespace schedlab {

/// The trace in the folder of a run, or a trace.json itself.
/// Throws InputError; for the folder of a sweep it says how to get a trace from there.
[[nodiscard]] TraceDocument load_trace(const std::filesystem::path& path);

}  // namespace schedlab
