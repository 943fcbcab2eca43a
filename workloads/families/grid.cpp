// SPDX-License-Identifier: Apache-2.0
#include "workloads/families/grid.hpp"

#include "sim/base/error.hpp"

#include <fmt/format.h>

#include <limits>
#include <utility>

namespace schedlab {
namespace {

constexpr std::int64_t max_tasks = 100'000'000;  // assumed: 5 GB

}  // namespace

TaskGraph grid(std::int64_t layers, std::int64_t steps, Duration duration) {
  SCHEDLAB_EXPECTS(layers >= 1 && layers <= std::numeric_limits<std::int16_t>::max(),
                   fmt::format("grid: layers is {}", layers));
  SCHEDLAB_EXPECTS(steps >= 1, fmt::format("grid: steps is {}", steps));
  SCHEDLAB_EXPECTS(duration >= Duration{0}, fmt::format("grid: duration {}", duration.count()));
  if (steps > max_tasks / layers) {
    throw InfeasibleError(
        fmt::format("grid: {} layers x {} steps are too many tasks", layers, steps),
        "tasks",
        fmt::format("{} x {}", layers, steps),
        fmt::format("{}", max_tasks));
  }

  TaskGraphBuilder builder;
  const auto count = static_cast<std::size_t>(layers * steps);
  builder.reserve(count, 2 * count);
  const OperationId node = builder.add_operation({.name = "node",
                                                  .kind = TaskKind::fixed,
                                                  .task_class = TaskClass::critical_matmul,
                                                  .kernels = {},
                                                  .fixed_duration = duration});
  for (std::int64_t step = steps - 1; step >= 0; --step) {
    for (std::int64_t layer = layers - 1; layer >= 0; --layer) {
      const TaskId task = builder.add_task(
          node,
          {.layer = static_cast<std::int16_t>(layer), .step = static_cast<std::int32_t>(step)});
      if (layer + 1 < layers) builder.add_edge(TaskId{task.value() - 1}, task);
      if (step + 1 < steps) {
        builder.add_edge(TaskId{task.value() - static_cast<std::uint32_t>(layers)}, task);
      }
    }
  }
  return std::move(builder).build();
}

}  // namespace schedlab
