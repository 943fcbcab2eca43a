// SPDX-License-Identifier: Apache-2.0
#include "policies/cann_like.hpp"

#include "policies/wavefront.hpp"
#include "sim/engine/simulator.hpp"
#include "tests/support/scenes.hpp"
#include "workloads/lstm.hpp"

#include <doctest/doctest.h>

#include <algorithm>
#include <vector>

namespace schedlab {
namespace {

using testing::Scene;

TaskGraph matmul_lstm(std::int64_t layers, std::int64_t steps) {
  LstmSpec spec{.layers = layers, .steps = steps, .batch = 2, .hidden = 8};
  spec.granularity = Granularity::matmul;
  return lstm(spec);
}

TEST_CASE("2, 4, 8, 16 layers have 1, 2, 3, 6 streams, as published") {
  const std::vector<std::pair<std::uint32_t, std::uint32_t>> expected{
      {1, 1}, {2, 1}, {3, 1}, {4, 2}, {7, 2}, {8, 3}, {15, 3}, {16, 6}, {40, 6}};
  for (const auto& [layers, streams] : expected) {
    CAPTURE(layers);
    const Scene scene{matmul_lstm(layers, 2), Rng{1}};
    CHECK(cann_stream_count(layers) == streams);
    CHECK(CannLike{}.plan(scene.problem()).streams.size() == streams);
    CHECK(CannLike{5}.plan(scene.problem()).streams.size() == 5);
  }
}

TEST_CASE("no two matrix tasks overlap on any number of streams, but other tasks do") {
  const Scene scene{matmul_lstm(8, 6), Rng{9}};
  for (const std::uint32_t streams : {1U, 3U, 8U}) {
    CAPTURE(streams);
    std::vector<TaskSpan> spans =
        simulate(scene.problem(), CannLike{streams}.plan(scene.problem())).tasks;
    std::sort(spans.begin(), spans.end(), [](const TaskSpan& a, const TaskSpan& b) {
      return a.started < b.started;
    });
    Time matmul_end{};
    std::size_t matmuls = 0;
    std::size_t beside = 0;
    for (const TaskSpan& span : spans) {
      if (!is_matmul(scene.graph.operation(span.task))) {
        if (span.started < matmul_end) ++beside;
        continue;
      }
      CHECK(span.started >= matmul_end);
      matmul_end = span.ended;
      ++matmuls;
    }
    CHECK(matmuls == 8 * 6 * 4);  // hidden_1, hidden_2, weight_1, weight_2
    CHECK((beside > 0) == (streams > 1));
  }
}

}  // namespace
}  // namespace schedlab
