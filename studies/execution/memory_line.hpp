// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "real_exec/executor/plan_executor.hpp"
#include "sim/trace/metrics.hpp"

#include <string>

namespace schedlab {

/// A line for the terminal: what the tensors of a run held by their life times, against what was
/// allocated for them.
[[nodiscard]] std::string memory_line(const AllocatedMemory& allocated, const Metrics& metrics);

}  // namespace schedlab
