// SPDX-License-Identifier: Apache-2.0
#include "policies/cann_like.hpp"

#include "policies/option_specs.hpp"
#include "policies/wavefront.hpp"
#include "sim/plan/plan_builder.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cstddef>
#include <numeric>
#include <vector>

namespace schedlab {

std::uint32_t deepest_stack(const TaskGraph& graph) {
  const std::uint32_t layers = layer_count(graph);
  std::vector<std::uint32_t> stack(layers);  // of a layer: another one of its stack, or itself
  std::iota(stack.begin(), stack.end(), 0U);
  const auto root = [&](std::uint32_t layer) {
    while (stack[layer] != layer) layer = stack[layer] = stack[stack[layer]];
    return layer;
  };
  std::vector<std::uint8_t> used(layers, 0);
  for (const TaskId task : graph.tasks()) {
    const Tags tags = graph.tags(task);
    if (tags.layer < 0) continue;
    used[static_cast<std::size_t>(tags.layer)] = 1;
    for (const TaskId before : graph.predecessors(task)) {
      const Tags other = graph.tags(before);
      if (other.layer < 0 || other.step != tags.step) continue;
      stack[root(static_cast<std::uint32_t>(other.layer))] =
          root(static_cast<std::uint32_t>(tags.layer));
    }
  }
  std::vector<std::uint32_t> count(layers, 0);
  std::uint32_t deepest = 0;
  for (std::uint32_t layer = 0; layer < layers; ++layer) {
    if (used[layer] != 0) deepest = std::max(deepest, ++count[root(layer)]);
  }
  return deepest;
}

std::uint32_t cann_stream_count(std::uint32_t layers) {
  if (layers >= 16) return 6;
  if (layers >= 8) return 3;
  return layers >= 4 ? 2 : 1;
}

Plan CannLike::plan(const Problem& problem) const {
  const TaskGraph& graph = problem.graph;
  const std::uint32_t streams =
      max_streams_ > 0 ? max_streams_ : cann_stream_count(deepest_stack(graph));
  PlanBuilder builder{problem};
  for (std::uint32_t i = 0; i < streams; ++i) {
    builder.add_stream({.device = DeviceId{0}, .priority = 0, .name = fmt::format("stream_{}", i)});
  }
  std::vector<TaskId> last_matmul;  // none or one
  for (const TaskId task : wavefront_order(graph)) {
    const int layer = graph.tags(task).layer;
    const StreamId stream = layer >= 0 ? StreamId{static_cast<std::uint32_t>(layer) % streams}
                                       : builder.earliest_free();
    if (is_matmul(graph.operation(task))) {
      builder.place(task, stream, last_matmul);
      last_matmul.assign(1, task);
    } else {
      builder.place(task, stream);
    }
  }
  return std::move(builder).build("cann_like");
}

PolicyInfo cann_like_info() {
  return {.name = "cann_like",
          .summary = "Several streams, but all matrix tasks one after another.",
          .source = "TurboLSTM's baseline CANN, section 2.3 and table 2",
          .options = {max_streams_option(
              0,
              "Number of streams; 0 = 1, 2, 3, 6 from 1, 4, 8, 16 layers on (of encoder and "
              "decoder those of the deeper one).")},
          .make = [](const Options& options) {
            return std::make_unique<CannLike>(count_of(options, "max_streams"));
          }};
}

}  // namespace schedlab
