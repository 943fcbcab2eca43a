// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "sim/graph/tensor.hpp"
#include "sim/trace/memory_use.hpp"

#include <cstdint>
#include <span>

namespace schedlab {

/// tensor_life(), for those who ask it of every tensor of every run of a sweep.
[[nodiscard]] inline TensorLife inlined_tensor_life(const TensorTable& tensors,
                                                    TensorId tensor,
                                                    std::span<const std::uint32_t> span_of,
                                                    std::span<const std::int64_t> starts,
                                                    std::span<const std::int64_t> ends) {
  constexpr std::uint32_t never = TensorLife::never;
  const auto first_of = [&](std::span<const TaskId> tasks) {
    std::uint32_t first = never;
    for (const TaskId task : tasks) {
      const std::uint32_t i = span_of[task.value()];
      if (i != never && (first == never || starts[i] < starts[first])) first = i;
    }
    return first;
  };
  const auto last_of = [&](std::span<const TaskId> tasks) {
    std::uint32_t last = never;
    for (const TaskId task : tasks) {
      const std::uint32_t i = span_of[task.value()];
      if (i != never && (last == never || ends[i] > ends[last])) last = i;
    }
    return last;
  };
  TensorLife life{.first = first_of(tensors.writers(tensor)),
                  .last = last_of(tensors.readers(tensor))};
  if (life.first == never) life.first = first_of(tensors.readers(tensor));
  if (life.last == never) life.last = last_of(tensors.writers(tensor));
  return life;
}

}  // namespace schedlab
