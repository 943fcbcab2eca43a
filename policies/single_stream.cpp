// SPDX-License-Identifier: Apache-2.0
#include "policies/policy_info.hpp"
#include "sim/plan/placing_policy.hpp"

namespace schedlab {
namespace {

/// Everything on one stream, in the graph's topological order: what a framework's default stream
/// does (system S1's "Py+CUDA"). No events, no overlap; the baseline that every other policy must
/// beat. Cost: O(tasks + edges). Ties: lower task id first, so plans are reproducible.
class SingleStream final : public PlacingPolicy {
 public:
  [[nodiscard]] std::string_view name() const override { return "single_stream"; }
  [[nodiscard]] Granularity granularity() const override { return Granularity::coarse; }
  [[nodiscard]] PlanBuilder place(const Problem& problem) const override;
  [[nodiscard]] bool places_by_graph() const override { return true; }
};

PlanBuilder SingleStream::place(const Problem& problem) const {
  PlanBuilder builder{problem};
  const StreamId stream =
      builder.add_stream({.device = DeviceId{0}, .priority = 0, .name = "stream"});
  for (const TaskId task : problem.graph.topological_order()) builder.place(task, stream);
  return builder;
}

}  // namespace

PolicyInfo single_stream_info() {
  return {.name = "single_stream",
          .summary = "All tasks one after another on one stream, in topological order.",
          .source = "TurboLSTM's baseline Py+CUDA",
          .options = {},
          .make = [](const Options&) { return std::make_unique<SingleStream>(); },
          .plans_by_durations = true};
}

}  // namespace schedlab
