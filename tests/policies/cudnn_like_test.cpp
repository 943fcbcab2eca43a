// SPDX-License-Identifier: Apache-2.0

#include "sim/engine/simulator.hpp"
#include "sim/plan/plan_check.hpp"
#include "sim/trace/summary.hpp"
#include "tests/support/plan_by.hpp"
#include "tests/support/scenes.hpp"
#include "workloads/models/recurrent/lstm.hpp"
#include "workloads/models/recurrent/models.hpp"

#include <doctest/doctest.h>

#include <algorithm>
#include <map>
#include <set>
#include <string>
#include <utility>

namespace schedlab {
namespace {

using namespace std::chrono_literals;
using testing::Scene;

TaskGraph data_and_weight(std::int64_t layers, std::int64_t steps, LstmPass pass) {
  LstmSpec spec{.layers = layers, .steps = steps, .batch = 2, .hidden = 8};
  spec.granularity = Granularity::data_and_weight;
  spec.pass = pass;
  return lstm(spec);
}

/// Nodes as single tasks, a stream for each layer in flight.
Plan node_plan(const Scene& scene, std::map<std::string, OptionValue> options) {
  options.emplace("separate_kernels", false);
  return testing::plan_by("cudnn_like", scene.problem(), std::move(options));
}

bool is_weight(const TaskGraph& graph, TaskId task) {
  return graph.operation(task).task_class == TaskClass::weight_gradient;
}

TEST_CASE("k layers in flight take (L / k) T + k - 1 node times") {
  for (const std::uint32_t k : {1U, 2U, 3U, 6U}) {
    CAPTURE(k);
    const Scene scene{testing::gradient_grid(6, 9), 10us};
    const Plan plan = node_plan(scene, {{"layers_in_flight", k}});
    CHECK(plan.streams.size() == k);
    CHECK(simulate(scene.problem(), plan).makespan() == (6 / k * 9 + k - 1) * 10us);
  }
  const Scene scene{testing::gradient_grid(6, 9), 10us};
  const Plan plan = node_plan(scene, {{"layers_in_flight", 0}});
  CHECK(simulate(scene.problem(), plan).makespan() == (6 + 9 - 1) * 10us);
}

TEST_CASE("never more layers in flight than allowed, in both directions of a training step") {
  const Scene scene{data_and_weight(5, 6, LstmPass::training), Rng{4}};
  for (const std::uint32_t k : {1U, 2U, 3U}) {
    CAPTURE(k);
    const Plan plan = node_plan(scene, {{"layers_in_flight", k}});
    // A layer is in flight from the start of its first node to the end of its last, per sweep.
    std::map<std::pair<bool, int>, std::pair<Time, Time>> flights;
    for (const TaskSpan& span : simulate(scene.problem(), plan).tasks) {
      const std::string& name = scene.graph.operation(span.task).name;
      if (name != "node_forward" && name != "data_node") continue;
      const auto [flight, is_new] = flights.try_emplace(
          {name == "data_node", scene.graph.tags(span.task).layer}, span.started, span.ended);
      flight->second.first = std::min(flight->second.first, span.started);
      flight->second.second = std::max(flight->second.second, span.ended);
    }
    CHECK(flights.size() == 10);
    for (const auto& [key, flight] : flights) {
      const auto at_once = std::count_if(flights.begin(), flights.end(), [&](const auto& other) {
        return other.second.first <= flight.first && flight.first < other.second.second;
      });
      CHECK(at_once <= k);
    }
  }
}

TEST_CASE("weight gradients start after all data gradients have ended") {
  const Scene scene{data_and_weight(4, 5, LstmPass::backward), Rng{4}};
  for (const std::uint32_t weight_streams : {0U, 1U}) {
    CAPTURE(weight_streams);
    const Plan plan =
        node_plan(scene, {{"weight_streams", weight_streams}, {"layers_in_flight", 2}});
    CHECK(check(scene.graph, scene.platform, plan).empty());
    Time data_end{};
    Time weights_start = Time::max();
    std::set<StreamId> streams;
    for (const TaskSpan& span : simulate(scene.problem(), plan).tasks) {
      if (is_weight(scene.graph, span.task)) {
        weights_start = std::min(weights_start, span.started);
        streams.insert(span.stream);
      } else {
        data_end = std::max(data_end, span.ended);
      }
    }
    CHECK(weights_start >= data_end);
    CHECK(streams.size() == (weight_streams == 0 ? 2 : 1));
  }
}

TEST_CASE(
    "separate kernels of a layer follow each other on its stream, weights after all of them") {
  LstmSpec spec;
  spec.layers = 4;
  spec.steps = 5;
  spec.batch = 2;
  spec.hidden = 4;
  spec.granularity = make_policy("cudnn_like")->granularity();
  const Scene scene{lstm(spec), Rng{4}};
  for (const std::uint32_t k : {1U, 2U, 0U}) {
    CAPTURE(k);
    const Plan plan = testing::plan_by(
        "cudnn_like", scene.problem(), {{"layers_in_flight", k}, {"streams_per_layer", 1}});
    CHECK(check(scene.graph, scene.platform, plan).empty());
    const std::uint32_t streams = k == 0 ? 4 : k;
    Time data_end{};
    Time weights_start = Time::max();
    std::size_t weights = 0;
    for (const TaskSpan& span : simulate(scene.problem(), plan).tasks) {
      if (is_weight(scene.graph, span.task)) {
        ++weights;
        weights_start = std::min(weights_start, span.started);
        continue;
      }
      data_end = std::max(data_end, span.ended);
      const auto layer = static_cast<std::uint32_t>(scene.graph.tags(span.task).layer);
      CHECK(span.stream == StreamId{layer % streams});
    }
    CHECK(weights == 2 * 4);
    CHECK(weights_start >= data_end);
  }
}

TEST_CASE("two streams per layer: the products for the layer below leave the recurrent stream") {
  LstmSpec spec{.layers = 1, .steps = 5, .batch = 2, .hidden = 4};
  spec.granularity = make_policy("cudnn_like")->granularity();
  const Scene one{lstm(spec), 10us};
  const auto data_time = [&](const Scene& scene, std::int64_t streams_per_layer) {
    const Plan plan =
        testing::plan_by("cudnn_like", scene.problem(), {{"streams_per_layer", streams_per_layer}});
    CHECK(check(scene.graph, scene.platform, plan).empty());
    Time end{};
    for (const TaskSpan& span : simulate(scene.problem(), plan).tasks) {
      if (!is_weight(scene.graph, span.task)) end = std::max(end, span.ended);
    }
    return end - Time{};
  };
  // On one stream cell, hidden_1 and hidden_2 of each step; on two hidden_2 runs beside hidden_1.
  CHECK(data_time(one, 1) == 5 * 30us);
  CHECK(data_time(one, 2) == 5 * 20us);

  spec.layers = 3;
  spec.steps = 4;
  for (const std::int64_t input_steps : {1, 2, 0}) {
    CAPTURE(input_steps);
    spec.input_steps = input_steps;
    const Scene scene{lstm(spec), 10us};
    const Plan plan = testing::plan_by("cudnn_like", scene.problem(), {{"layers_in_flight", 2}});
    CHECK(check(scene.graph, scene.platform, plan).empty());
    REQUIRE(plan.streams.size() == 4);
    for (const TaskSpan& span : simulate(scene.problem(), plan).tasks) {
      if (is_weight(scene.graph, span.task)) continue;
      const auto layer = static_cast<std::uint32_t>(scene.graph.tags(span.task).layer);
      const bool input = scene.graph.operation(span.task).name == "hidden_2";
      CHECK(span.stream == StreamId{layer % 2 + (input ? 2 : 0)});
    }
    // The recurrent streams are at the next higher priority (-1), those of the inputs at 0.
    CHECK(plan.streams[StreamId{0}].priority == -1);
    CHECK(plan.streams[StreamId{2}].priority == 0);
  }
}

TEST_CASE("by_call has each layer's weight gradients before the data gradients of the next") {
  LstmSpec spec{.layers = 3, .steps = 5, .batch = 2, .hidden = 8};
  spec.granularity = Granularity::kernel_and_weight;
  const Scene scene{lstm(spec), 10us};
  const auto plan_of = [&](const char* when, std::uint32_t in_flight) {
    return testing::plan_by("cudnn_like",
                            scene.problem(),
                            {{"layers_in_flight", in_flight},
                             {"streams_per_layer", 1U},
                             {"weight_gradients", std::string{when}}});
  };
  const Plan plan = plan_of("by_call", 1);
  CHECK(check(scene.graph, scene.platform, plan).empty());
  struct Times {
    Time start = Time::max();
    Time end{};
  };
  std::map<std::pair<int, bool>, Times> times;
  for (const TaskSpan& span : simulate(scene.problem(), plan).tasks) {
    Times& at = times[{scene.graph.tags(span.task).layer, is_weight(scene.graph, span.task)}];
    at.start = std::min(at.start, span.started);
    at.end = std::max(at.end, span.ended);
  }
  for (int layer = 2; layer >= 0; --layer) {
    CAPTURE(layer);
    CHECK(times[{layer, true}].start >= times[{layer, false}].end);
    if (layer > 0) CHECK(times[{layer - 1, false}].start >= times[{layer, true}].end);
  }
  // The same work in a row, 3 x (5 x 3 + 2) tasks, and one call for all layers is one phase each.
  CHECK(simulate(scene.problem(), plan).makespan() == 3 * 17 * 10us);
  CHECK(simulate(scene.problem(), plan_of("after_all", 1)).makespan() == 3 * 17 * 10us);
  CHECK(plan_of("by_call", 0) == plan_of("after_all", 0));
}

TEST_CASE("by_call plans whole models whose layers are modules of their own, in less memory") {
  GnmtSpec spec;
  spec.hidden = 16;
  spec.batch = 4;
  spec.source_steps = 6;
  spec.target_steps = 6;
  spec.vocabulary = 32;
  spec.model.cut.granularity = Granularity::kernel_and_weight;
  const Scene scene{gnmt(spec), 10us};
  std::map<std::string, Summary> found;
  for (const char* when : {"after_all", "by_call"}) {
    CAPTURE(when);
    const Plan plan =
        testing::plan_by("cudnn_like",
                         scene.problem(),
                         {{"layers_in_flight", 1U}, {"weight_gradients", std::string{when}}});
    CHECK(check(scene.graph, scene.platform, plan).empty());
    const Trace trace = simulate(scene.problem(), plan);
    found[when] = Summarizer{}.summarize(scene.problem(), plan, trace, {});
  }
  CHECK(found["by_call"].peak_memory < found["after_all"].peak_memory);
}

TEST_CASE("one weight task per matrix and layer follows the join, and streams are made anew") {
  const Scene scene{data_and_weight(4, 5, LstmPass::backward), 10us};
  const Plan plan = node_plan(scene, {{"layers_in_flight", 2}});
  CHECK(plan.count(HostCallKind::create_stream) == 2);
  CHECK(plan.count(HostCallKind::destroy_stream) == 2);
  const auto& calls = plan.hosts[HostId{0}].calls;
  // 20 data nodes, then 2 x 4 weight tasks, then the two destroys.
  CHECK(std::count_if(calls.end() - 10, calls.end() - 2, [&](HostCall call) {
          return call.kind() == HostCallKind::launch && is_weight(scene.graph, call.task());
        }) == 8);
}

}  // namespace
}  // namespace schedlab
