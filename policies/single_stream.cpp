// SPDX-License-Identifier: Apache-2.0
#include "policies/single_stream.hpp"

namespace schedlab {

PlanBuilder SingleStream::place(const Problem& problem) const {
  PlanBuilder builder{problem};
  const StreamId stream =
      builder.add_stream({.device = DeviceId{0}, .priority = 0, .name = "stream"});
  for (const TaskId task : problem.graph.topological_order()) builder.place(task, stream);
  return builder;
}

PolicyInfo single_stream_info() {
  return {.name = "single_stream",
          .summary = "All tasks one after another on one stream, in topological order.",
          .source = "TurboLSTM's baseline Py+CUDA",
          .options = {},
          .make = [](const Options&) { return std::make_unique<SingleStream>(); },
          .plans_by_durations = true};
}

}  // namespace schedlab
