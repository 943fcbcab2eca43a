// SPDX-License-Identifier: Apache-2.0
#include "sim/trace/measured_durations.hpp"

namespace schedlab {

IdVector<TaskId, Duration> measured_durations(const TaskGraph& graph, const Trace& trace) {
  IdVector<TaskId, Duration> durations(graph.task_count(), Duration{0});
  for (const TaskSpan& span : trace.tasks) durations[span.task] = span.duration();
  return durations;
}

}  // namespace schedlab
