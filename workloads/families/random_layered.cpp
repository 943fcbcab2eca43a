// SPDX-License-Identifier: Apache-2.0
#include "workloads/families/random_layered.hpp"

#include "sim/base/error.hpp"
#include "sim/base/rng.hpp"

#include <fmt/format.h>

#include <limits>
#include <utility>

namespace schedlab {
namespace {

constexpr double max_pairs = 1e9;  // assumed: half a minute, 8 GB of edges at probability 1

void check(const RandomLayeredSpec& spec) {
  SCHEDLAB_EXPECTS(spec.layers >= 1 && spec.layers <= std::numeric_limits<std::int16_t>::max(),
                   fmt::format("random_layered: layers is {}", spec.layers));
  SCHEDLAB_EXPECTS(spec.width >= 1, fmt::format("random_layered: width is {}", spec.width));
  SCHEDLAB_EXPECTS(spec.edge_probability >= 0 && spec.edge_probability <= 1,
                   fmt::format("random_layered: edge_probability is {}", spec.edge_probability));
  SCHEDLAB_EXPECTS(spec.critical_share >= 0 && spec.critical_share <= 1,
                   fmt::format("random_layered: critical_share is {}", spec.critical_share));
  SCHEDLAB_EXPECTS(spec.shortest >= Duration{0} && spec.longest >= spec.shortest,
                   fmt::format("random_layered: durations from {} to {} ps",
                               spec.shortest.count(),
                               spec.longest.count()));
  const double pairs = static_cast<double>(spec.layers) * static_cast<double>(spec.width) *
                       static_cast<double>(spec.width);
  if (pairs > max_pairs) {
    throw InfeasibleError(
        fmt::format(
            "random_layered: {} layers of {} tasks have too many pairs of tasks to draw edges for",
            spec.layers,
            spec.width),
        "pairs",
        fmt::format("{:.3g}", pairs),
        fmt::format("{:.3g}", max_pairs));
  }
}

}  // namespace

TaskGraph random_layered(const RandomLayeredSpec& spec) {
  check(spec);
  Rng random{spec.seed};
  TaskGraphBuilder builder;
  const OperationId urgent = builder.add_operation(
      {.name = "critical", .task_class = TaskClass::critical_matmul, .kernels = {}});
  const OperationId other = builder.add_operation(
      {.name = "other", .task_class = TaskClass::weight_gradient, .kernels = {}});
  const auto width = static_cast<std::uint32_t>(spec.width);
  const auto range = static_cast<std::uint64_t>((spec.longest - spec.shortest).count()) + 1;

  for (std::int64_t layer = 0; layer < spec.layers; ++layer) {
    for (std::uint32_t i = 0; i < width; ++i) {
      const OperationId operation = random.uniform() < spec.critical_share ? urgent : other;
      const TaskId task = builder.add_task(
          operation,
          {.layer = static_cast<std::int16_t>(layer), .step = static_cast<std::int32_t>(i)});
      builder.set_duration(
          task, spec.shortest + Duration{static_cast<std::int64_t>(random.below(range))});
      if (layer == 0) continue;
      const std::uint32_t before = task.value() - i - width;  // first task of the layer before
      bool any = false;
      for (std::uint32_t j = 0; j < width; ++j) {
        if (random.uniform() >= spec.edge_probability) continue;
        builder.add_edge(TaskId{before + j}, task);
        any = true;
      }
      if (!any) {
        builder.add_edge(TaskId{before + static_cast<std::uint32_t>(random.below(width))}, task);
      }
    }
  }
  return std::move(builder).build();
}

}  // namespace schedlab
