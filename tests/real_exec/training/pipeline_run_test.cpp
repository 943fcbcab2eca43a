// SPDX-License-Identifier: Apache-2.0
#include "real_exec/training/pipeline_run.hpp"

#include "real_exec/ranks/thread_ranks.hpp"
#include "sim/base/error.hpp"
#include "sim/pipeline/pipeline_work.hpp"
#include "tests/real_exec/training/pipeline_scene.hpp"

#include <doctest/doctest.h>

#include <algorithm>
#include <atomic>
#include <set>

using namespace schedlab;
using schedlab::testing::PlannedTraining;
using schedlab::testing::small_training;

namespace {

/// Gradients of the first round to 1e-5, losses of 20 rounds to 1e-3, both relative.
void check_same_as_unsplit(const PlannedTraining& planned) {
  PipelineRunResult result;
  run_on_threads(planned.ranks(), [&](RankLink& link) {
    PipelineRunResult mine = planned.run(link, 20);
    if (link.rank() == 0) result = std::move(mine);
  });
  REQUIRE(result.losses.size() == 20);
  CHECK(result.gradient_difference < 1e-5);
  CHECK(result.loss_difference < 1e-3);
  CHECK(result.losses.back() < result.losses.front());  // it learns something
  CHECK(result.trace.tasks.size() == planned.graph.task_count());
}

}  // namespace

TEST_CASE("every schedule of stages and groups trains as the whole net does") {
  const std::vector<std::vector<std::int64_t>> cuts{{5}, {2, 3}, {1, 2, 2}, {1, 1, 1, 1, 1}};
  for (const auto& cut : cuts) {
    for (const std::uint32_t groups : {1U, 2U}) {
      for (const char* const policy :
           {"pipeline_naive", "pipeline_flush", "pipeline_1f1b", "pipeline_zb_h1"}) {
        CAPTURE(cut.size());
        CAPTURE(groups);
        CAPTURE(policy);
        PipelineTraining training = small_training(cut);
        training.groups = groups;
        check_same_as_unsplit({std::move(training), policy});
      }
    }
  }
}

TEST_CASE("several chunks on a rank train as the whole net does") {
  for (const std::uint32_t groups : {1U, 2U}) {
    for (const std::uint32_t chunks : {2U, 4U}) {  // 2 ranks, and 1 that is its own neighbour
      for (const char* const policy : {"pipeline_flush", "pipeline_interleaved_1f1b"}) {
        CAPTURE(groups);
        CAPTURE(chunks);
        CAPTURE(policy);
        PipelineTraining training = small_training({1, 1, 1, 2});
        training.groups = groups;
        training.chunks = chunks;
        check_same_as_unsplit({std::move(training), policy});
      }
    }
  }
}

TEST_CASE("blocking transfers change nothing where they can be") {
  // Of 1F1B and ZB-H1 ranks would send to each other at once, which the plan checker refuses.
  for (const char* const policy : {"pipeline_naive", "pipeline_flush"}) {
    CAPTURE(policy);
    check_same_as_unsplit(
        {small_training({1, 2, 2}), policy, {{"transfers", std::string{"blocking"}}}});
  }
}

TEST_CASE("Adam, recomputation and late sums change nothing") {
  PipelineTraining training = small_training({1, 2, 2});
  training.groups = 2;
  training.setting.optimizer = {.kind = Optimizer::adam, .learning_rate = 0.01};
  for (const char* const policy : {"pipeline_flush", "pipeline_1f1b", "pipeline_zb_h1"}) {
    CAPTURE(policy);
    for (const bool recompute : {false, true}) {
      training.setting.recompute = recompute;
      check_same_as_unsplit({training, policy, {{"gradient_sums", std::string{"after_passes"}}}});
    }
  }
}

TEST_CASE("tied layers on several stages, ranks and groups stay alike") {
  const NetLayerSpec dense{.kind = NetLayerKind::dense, .name = "a", .units = 9, .relu = true};
  NetLayerSpec tied = dense;
  tied.shares = "a";
  for (const std::uint32_t groups : {1U, 2U}) {
    for (const std::uint32_t chunks : {1U, 2U, 4U}) {
      CAPTURE(groups);
      CAPTURE(chunks);
      PipelineTraining training = small_training({5});
      training.net.input = {1, 9, 1};
      training.net.layers = {dense, tied, tied, {.kind = NetLayerKind::dense, .units = 3}};
      training.net.layers[1].name = "b";
      training.net.layers[2].name = "c";
      training.stages = layer_ranges({1, 1, 1, 1});
      training.data = synthetic_samples(training.net.input, 3, 60, 0.1, 5);
      training.groups = groups;
      training.chunks = chunks;
      training.setting.optimizer = {.kind = Optimizer::adam, .learning_rate = 0.01};
      check_same_as_unsplit({std::move(training), "pipeline_interleaved_1f1b"});
    }
  }
}

TEST_CASE("a recurrent net is trained by a pipeline too") {
  PipelineTraining training = small_training({5});
  training.net.layers = {{.kind = NetLayerKind::lstm, .units = 6, .sequences = true},
                         {.kind = NetLayerKind::lstm, .units = 5},
                         {.kind = NetLayerKind::dense, .units = 3}};
  training.stages = layer_ranges({1, 2});
  check_same_as_unsplit({std::move(training), "pipeline_1f1b"});
}

TEST_CASE("the trace of a run holds what its plan says") {
  const PlannedTraining planned(small_training({2, 3}), "pipeline_1f1b");
  PipelineRunResult result;
  run_on_threads(2, [&](RankLink& link) {
    PipelineRunResult mine = planned.run(link, 3);
    if (link.rank() == 0) result = std::move(mine);
  });
  const Trace& trace = result.trace;
  CHECK(trace.messages.size() == planned.plan.messages.size());
  CHECK(trace.hosts.size() == planned.plan.call_count());
  std::set<TaskId> seen;
  for (const TaskSpan& span : trace.tasks) {
    CHECK(seen.insert(span.task).second);
    CHECK(span.started <= span.ended);
    CHECK(span.ended <= trace.ended);
    CHECK(span.host == HostId{planned.graph.rank(span.task)});
    for (const TaskId before : planned.graph.predecessors(span.task)) {
      const auto other = std::find_if(
          trace.tasks.begin(), trace.tasks.end(), [&](const auto& s) { return s.task == before; });
      REQUIRE(other != trace.tasks.end());
      CHECK(other->ended <= span.ended);  // exact: both ranks read one clock here
    }
  }
  CHECK(result.makespans.size() == 3);
  // 1F1B holds at most as many micro-batches as stages are left: 2 on the first, 1 on the last.
  // Of the first: 36 floats in, 4 x 4 x 4 out of the convolution, 2 x 2 x 4 out of the pool and as
  // many places, and the gradients of both outputs; at most 4 samples in a micro-batch.
  CHECK(result.peak_kept_bytes[0] <= 2 * 4 * (36 + 64 + 16 + 16 + 64 + 16) * 4);
}

TEST_CASE("a rank that fails in a round ends the run, and is named") {
  const PlannedTraining planned(small_training({2, 3}), "pipeline_1f1b");
  std::string message;
  try {
    run_on_threads(2, [&](RankLink& link) {
      if (link.rank() == 1) throw DeviceError("lost");
      static_cast<void>(planned.run(link, 3));
    });
  } catch (const std::exception& error) {
    message = error.what();
  }
  CHECK(message == "lost");
}

TEST_CASE("a run on the wrong number of ranks says what it needs") {
  const PlannedTraining planned(small_training({2, 3}), "pipeline_1f1b");
  std::string message;
  try {
    run_on_threads(3, [&](RankLink& link) { static_cast<void>(planned.run(link, 1)); });
  } catch (const std::exception& error) {
    message = error.what();
  }
  CHECK(message.find("needs 2 ranks") != std::string::npos);
}

TEST_CASE("a request to stop ends all ranks") {
  const PlannedTraining planned(small_training({2, 3}), "pipeline_1f1b");
  const StopFlag stop{true};
  CHECK_THROWS_AS(
      run_on_threads(
          2,
          [&](RankLink& link) {
            static_cast<void>(run_pipeline(
                planned.training, planned.graph, planned.plan, link, {.rounds = 1, .stop = &stop}));
          }),
      Interrupted);
}

TEST_CASE("samples of all micro-batches are those of the batch, each once") {
  PipelineTraining training = small_training({5});
  training.groups = 2;
  std::vector<std::int64_t> seen;
  for (std::uint32_t group = 0; group < 2; ++group) {
    for (std::int64_t m = 0; m < 4; ++m) {
      const SampleRange range = training.samples(3, group, m);
      for (std::int64_t i = 0; i < range.count; ++i) seen.push_back(range.first + i);
    }
  }
  // 13 samples are 7 and 6; 7 are 2, 2, 2, 1.
  REQUIRE(seen.size() == 13);
  for (std::int64_t i = 0; i < 13; ++i) CHECK(seen[static_cast<std::size_t>(i)] == 3 * 13 + i);
  CHECK(training.samples(0, 0, 3).count == 1);
}

TEST_CASE("measured stages have costs and exact bytes") {
  const PipelineTraining training = small_training({2, 3});
  const PipelineSpec spec = pipeline_spec(training, measure_stages(training, 1));
  REQUIRE(spec.profile.stages.size() == 2);
  CHECK(spec.profile.stages[0].forward.of(4) > Duration{0});
  CHECK(spec.profile.stages[0].parameters == Bytes{4 * (9 * 4 + 4)});
  CHECK(spec.profile.stages[1].parameters == Bytes{4 * (16 * 8 + 8 + 8 * 3 + 3)});
  CHECK(spec.profile.links[0].bytes == Bytes{4 * 16});
}
