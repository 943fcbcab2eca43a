// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "profiler/span_buffer.hpp"
#include "sim/base/units.hpp"
#include "sim/plan/plan.hpp"
#include "sim/trace/trace.hpp"

#include <stdexcept>
#include <vector>

namespace schedlab {

/// What ran, and when; of any executor.
struct Execution {
  Plan plan;                      ///< what was run; of a policy: what it decided
  Trace trace;                    ///< of a run that failed or was stopped: what happened before
  std::vector<BlockSpan> blocks;  ///< of executors that see blocks
  /// Time that recording took from the workers together; within all durations of the trace.
  Duration recording_overhead{0};
};

/// A task failed, or memory ran out, while a plan was executed. what() names the task.
class ExecutionError : public std::runtime_error {
 public:
  using std::runtime_error::runtime_error;
};

}  // namespace schedlab
