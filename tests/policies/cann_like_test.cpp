// SPDX-License-Identifier: Apache-2.0

#include "policies/wavefront.hpp"
#include "sim/engine/simulator.hpp"
#include "sim/graph/matmul.hpp"
#include "sim/plan/plan_check.hpp"
#include "tests/support/plan_by.hpp"
#include "tests/support/scenes.hpp"
#include "workloads/models/recurrent/lstm.hpp"
#include "workloads/models/recurrent/models.hpp"
#include "workloads/models/recurrent/separate_gates.hpp"

#include <doctest/doctest.h>

#include <algorithm>
#include <string_view>
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
    CHECK(testing::plan_by("cann_like", scene.problem()).streams.size() == streams);
    CHECK(testing::plan_by("cann_like", scene.problem(), {{"max_streams", 5}}).streams.size() == 5);
  }
}

TEST_CASE(
    "GNMT of 2, 4, 8, 16 layers has the published streams: encoder and decoder do not add up") {
  const std::vector<std::pair<std::int64_t, std::size_t>> published{
      {2, 1}, {4, 2}, {8, 3}, {16, 6}};  // TurboLSTM, table 2
  for (const auto& [layers, streams] : published) {
    for (const std::int64_t attention_steps : {0, 1}) {
      CAPTURE(layers);
      CAPTURE(attention_steps);
      GnmtSpec spec;
      spec.layers = layers;
      spec.hidden = 4;
      spec.batch = 2;
      spec.source_steps = 3;
      spec.target_steps = 2;
      spec.vocabulary = 9;
      spec.attention_steps = attention_steps;
      const Scene scene{gnmt(spec), Rng{1}};
      // The encoder's lowest layer has two directions.
      CHECK(deepest_stack(scene.graph) == layers + 1);
      CHECK(testing::plan_by("cann_like", scene.problem()).streams.size() == streams);
    }
  }
}

TEST_CASE("a graph without layers is no stack, and an LSTM is one at any number of steps") {
  CHECK(deepest_stack(TaskGraph{}) == 0);
  for (const std::int64_t steps : {1, 2, 5}) {
    LstmSpec spec{.layers = 6, .steps = steps, .batch = 2, .hidden = 8};
    for (const RecurrentPass pass :
         {RecurrentPass::forward, RecurrentPass::backward, RecurrentPass::training}) {
      spec.pass = pass;
      CHECK(deepest_stack(lstm(spec)) == 6);
    }
  }
}

TEST_CASE("no two matrix tasks overlap on any number of streams, but other tasks do") {
  const Scene scene{matmul_lstm(8, 6), Rng{9}};
  for (const std::uint32_t streams : {1U, 3U, 8U}) {
    CAPTURE(streams);
    std::vector<TaskSpan> spans =
        simulate(scene.problem(),
                 testing::plan_by("cann_like", scene.problem(), {{"max_streams", streams}}))
            .tasks;
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

TEST_CASE("products of single gates follow each other, whatever the accumulation") {
  LstmSpec spec{.layers = 4, .steps = 3, .batch = 2, .hidden = 8};
  spec.granularity = Granularity::matmul;
  spec.separate_gates = true;
  for (const Accumulation accumulation :
       {Accumulation::ordered, Accumulation::partial, Accumulation::batched}) {
    spec.accumulation = accumulation;
    const Scene scene{recurrent_by_gate(spec), Rng{3}};
    for (const char* policy : {"cann_like", "critical_first_matmul", "heft"}) {
      CAPTURE(policy);
      const Plan plan = testing::plan_by(policy, scene.problem());
      CHECK(check(scene.graph, scene.platform, plan).empty());
      if (policy != std::string_view{"cann_like"}) continue;
      Time end{};
      for (const TaskSpan& span : simulate(scene.problem(), plan).tasks) {
        if (!is_matmul(scene.graph.operation(span.task))) continue;
        CHECK(span.started >= end);
        end = span.ended;
      }
    }
  }
}

}  // namespace
}  // namespace schedlab
