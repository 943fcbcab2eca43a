// SPDX-License-Identifier: Apache-2.0
#include "policies/option_specs.hpp"
#include "policies/policy_info.hpp"
#include "policies/wavefront.hpp"
#include "sim/plan/placing_policy.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cstdint>

namespace schedlab {
namespace {

struct DiagonalOptions {
  /// 0: one per layer; without layers one per task of the widest level.
  std::uint32_t max_streams = 0;
  bool streams_per_iteration = false;  ///< the plan creates and destroys its streams
  int priority = 0;                    ///< of all streams, as CUDA
};

/// Level by level along the diagonals of the gradient grid: layer l on stream l mod max_streams, a
/// task without a layer on the stream that is free first. An L x T grid of equal nodes takes L + T
/// - 1 node times once there are min(L, T) streams. Cost: O(tasks + edges + events * streams).
/// Ties: lower task id, then lower stream id, first. Source: wavefront of Appleyard, Kocisky,
/// Blunsom, arXiv 1604.01946, 2016; one task per whole node and streams made anew in every
/// iteration as TurboLSTM observes of cuDNN.
class Diagonal final : public PlacingPolicy {
 public:
  explicit Diagonal(DiagonalOptions options = {}) : options_(options) {}
  [[nodiscard]] std::string_view name() const override { return "diagonal"; }
  [[nodiscard]] Granularity granularity() const override { return Granularity::coarse; }
  [[nodiscard]] PlanBuilder place(const Problem& problem) const override;

 private:
  DiagonalOptions options_;
};

PlanBuilder Diagonal::place(const Problem& problem) const {
  const TaskGraph& graph = problem.graph;
  std::uint32_t streams = options_.max_streams;
  if (streams == 0) streams = layer_count(graph);
  if (streams == 0) streams = std::min(widest_level(graph), max_default_streams);
  streams = std::max(streams, 1U);

  PlanBuilder builder{problem};
  for (std::uint32_t i = 0; i < streams; ++i) {
    builder.add_stream({.device = DeviceId{0},
                        .priority = options_.priority,
                        .name = fmt::format("diagonal_{}", i)},
                       options_.streams_per_iteration);
  }
  for (const TaskId task : wavefront_order(graph)) {
    const int layer = graph.tags(task).layer;
    builder.place(task,
                  layer >= 0 ? StreamId{static_cast<std::uint32_t>(layer) % streams}
                             : builder.earliest_free());
  }
  return builder;
}

}  // namespace

PolicyInfo diagonal_info() {
  return {.name = "diagonal",
          .summary = "Whole nodes along the diagonals of the gradient grid, one stream per layer.",
          .source = "Appleyard, Kocisky, Blunsom, arXiv 1604.01946, 2016; TurboLSTM's baseline",
          .options = {max_streams_option(0, "Number of streams; 0 = one per layer."),
                      streams_per_iteration_option(false),
                      priority_option()},
          .make =
              [](const Options& options) {
                return std::make_unique<Diagonal>(
                    DiagonalOptions{.max_streams = count_of(options, "max_streams"),
                                    .streams_per_iteration = options.flag("streams_per_iteration"),
                                    .priority = static_cast<int>(options.integer("priority"))});
              },
          .plans_by_durations = true};
}

}  // namespace schedlab
