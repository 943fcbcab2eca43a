// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "sim/base/rng.hpp"
#include "sim/graph/task_graph.hpp"

#include <cstddef>
#include <cstdint>
#include <string>
#include <utility>
#include <vector>

namespace schedlab::test {

/// A number below `bound`.
inline std::uint32_t pick(Rng& rng, std::size_t bound) {
  return static_cast<std::uint32_t>(rng.below(bound));
}

/// Tasks t0, t1, ...; edges go to higher numbers, each with probability 1/4; tensors of 100 bytes,
/// into each of which a third of the tasks adds.
inline TaskGraph random_tasks(Rng& rng, std::uint32_t tasks, std::size_t tensors = 0) {
  TaskGraphBuilder builder;
  const OperationId operation = builder.add_operation({.name = "t"});
  std::vector<TensorId> sums;
  for (std::size_t i = 0; i < tensors; ++i) {
    sums.push_back(builder.add_tensor({.bytes = Bytes{100}, .accumulate = true}));
  }
  for (std::uint32_t i = 0; i < tasks; ++i) {
    const TaskId task = builder.add_task(operation, {}, "t" + std::to_string(i));
    for (std::uint32_t before = 0; before < i; ++before) {
      if (rng.below(4) == 0) builder.add_edge(TaskId{before}, task);
    }
    for (const TensorId sum : sums) {
      if (rng.below(3) == 0) builder.writes(task, sum);
    }
  }
  return std::move(builder).build();
}

}  // namespace schedlab::test
