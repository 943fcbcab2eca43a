// SPDX-License-Identifier: Apache-2.0
#include "real_exec/training/pipeline_run.hpp"

#include "real_exec/ranks/thread_ranks.hpp"
#include "real_exec/training/rank_costs.hpp"
#include "sim/base/error.hpp"
#include "sim/pipeline/pipeline_work.hpp"
#include "tests/real_exec/training/pipeline_scene.hpp"

#include <doctest/doctest.h>

#include <algorithm>
#include <atomic>
#include <set>
#include <tuple>

using namespace schedlab;
using schedlab::testing::gpt_training;
using schedlab::testing::PlannedTraining;
using schedlab::testing::small_training;

namespace {

/// Gradients of the first round to 1e-5, losses of 20 iterations to 1e-3, both relative.
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

TEST_CASE("every schedule of stages and replicas trains as the whole net does") {
  const std::vector<std::vector<std::int64_t>> cuts{{5}, {2, 3}, {1, 2, 2}, {1, 1, 1, 1, 1}};
  for (const auto& cut : cuts) {
    for (const std::uint32_t replicas : {1U, 2U}) {
      for (const char* const policy :
           {"pipeline_naive", "pipeline_flush", "pipeline_1f1b", "pipeline_zb_h1"}) {
        CAPTURE(cut.size());
        CAPTURE(replicas);
        CAPTURE(policy);
        PipelineTraining training = small_training(cut);
        training.replicas = replicas;
        check_same_as_unsplit({std::move(training), policy});
      }
    }
  }
}

TEST_CASE("pairs of micro-batches, the message of one under way while the other computes") {
  for (const auto& cut : std::vector<std::vector<std::int64_t>>{{2, 3}, {1, 2, 2}}) {
    for (const std::uint32_t replicas : {1U, 2U}) {
      CAPTURE(cut.size());
      CAPTURE(replicas);
      PipelineTraining training = small_training(cut);
      training.replicas = replicas;
      const PlannedTraining planned{std::move(training), "batch_overlap"};
      check_same_as_unsplit(planned);
      // Of the first pair the first message leaves before the second pass begins.
      std::size_t launches = 0;
      for (const HostCall& call : planned.plan.hosts[HostId{0}].calls) {
        if (call.kind() == HostCallKind::isend) break;
        if (call.kind() == HostCallKind::launch) ++launches;
      }
      const TaskId second = [&] {
        for (const TaskId task : planned.graph.tasks()) {
          const Tags tags = planned.graph.tags(task);
          if (planned.graph.rank(task) == 0 && tags.microbatch == 1 &&
              pipeline_work(tags) == PipelineWork::forward) {
            return task;
          }
        }
        return TaskId::none();
      }();
      REQUIRE(second.valid());
      std::size_t before_second = 0;
      for (const HostCall& call : planned.plan.hosts[HostId{0}].calls) {
        if (call.kind() != HostCallKind::launch) continue;
        if (call.task() == second) break;
        ++before_second;
      }
      CHECK(launches <= before_second);
    }
  }
}

TEST_CASE("several virtual_stages on a rank train as the whole net does") {
  for (const std::uint32_t replicas : {1U, 2U}) {
    for (const std::uint32_t virtual_stages :
         {2U, 4U}) {  // 2 ranks, and 1 that is its own neighbour
      for (const char* const policy : {"pipeline_flush", "pipeline_interleaved_1f1b"}) {
        CAPTURE(replicas);
        CAPTURE(virtual_stages);
        CAPTURE(policy);
        PipelineTraining training = small_training({1, 1, 1, 2});
        training.replicas = replicas;
        training.virtual_stages = virtual_stages;
        check_same_as_unsplit({std::move(training), policy});
      }
    }
  }
}

TEST_CASE("an order of passes that a search finds trains as the whole net does") {
  for (const std::uint32_t replicas : {1U, 2U}) {
    for (const std::uint32_t virtual_stages : {1U, 2U}) {
      CAPTURE(replicas);
      CAPTURE(virtual_stages);
      PipelineTraining training = small_training({1, 1, 1, 2});
      training.replicas = replicas;
      training.virtual_stages = virtual_stages;
      check_same_as_unsplit({std::move(training), "search", {{"evaluations", std::int64_t{300}}}});
    }
  }
}

TEST_CASE("blocking transfers change nothing") {
  for (const char* const policy :
       {"pipeline_naive", "pipeline_flush", "pipeline_1f1b", "pipeline_zb_h1"}) {
    CAPTURE(policy);
    PipelineTraining training = small_training({1, 2, 2});
    training.replicas = 2;
    check_same_as_unsplit({std::move(training), policy, {{"transfers", std::string{"blocking"}}}});
  }
  PipelineTraining training = small_training({1, 1, 1, 2});
  training.virtual_stages = 2;
  check_same_as_unsplit(
      {std::move(training), "pipeline_interleaved_1f1b", {{"transfers", std::string{"blocking"}}}});
}

TEST_CASE("one-sided messages are refused by every rank: links have two sides") {
  const PlannedTraining planned{
      small_training({2, 3}), "pipeline_1f1b", {{"transfers", std::string{"one_sided"}}}};
  run_on_threads(planned.ranks(), [&](RankLink& link) {
    CHECK_THROWS_WITH_AS(static_cast<void>(planned.run(link, 1)),
                         doctest::Contains(R"(use "transfers": "overlapped")"),
                         InfeasibleError);
  });
}

TEST_CASE("Adam, recomputation and late sums change nothing") {
  PipelineTraining training = small_training({1, 2, 2});
  training.setting.optimizer = {.kind = Optimizer::adam, .learning_rate = 0.01};
  for (const std::uint32_t replicas : {1U, 2U}) {
    training.replicas = replicas;
    for (const char* const policy :
         {"pipeline_naive", "pipeline_flush", "pipeline_1f1b", "pipeline_zb_h1"}) {
      CAPTURE(replicas);
      CAPTURE(policy);
      for (const bool recompute : {false, true}) {
        training.setting.recompute = recompute;
        check_same_as_unsplit({training, policy, {{"gradient_sums", std::string{"after_passes"}}}});
      }
    }
  }
}

TEST_CASE("passes by layer train as whole ones do, a task for each layer") {
  for (const std::uint32_t replicas : {1U, 2U}) {
    for (const bool recompute : {false, true}) {
      for (const char* const policy :
           {"pipeline_naive", "pipeline_flush", "pipeline_1f1b", "pipeline_zb_h1"}) {
        CAPTURE(replicas);
        CAPTURE(recompute);
        CAPTURE(policy);
        PipelineTraining training = small_training({3, 2});
        training.replicas = replicas;
        training.batch = 16;  // equal micro-batches of 4 or 2
        training.by_layer = true;
        training.setting.recompute = recompute;
        const PlannedTraining planned{std::move(training), policy};
        std::size_t forward = 0;
        for (const TaskId task : planned.graph.tasks()) {
          if (pipeline_work(planned.graph.tags(task)) == PipelineWork::forward) ++forward;
        }
        CHECK(forward == std::size_t{replicas} * 4 * 5);  // micro-batches times layers
        check_same_as_unsplit(planned);
      }
    }
  }
  PipelineTraining chunked = small_training({1, 1, 1, 2});
  chunked.batch = 16;
  chunked.virtual_stages = 4;  // all on one rank: nothing is packed
  chunked.by_layer = true;
  check_same_as_unsplit({std::move(chunked), "pipeline_interleaved_1f1b"});
}

TEST_CASE("compressed messages train too, not quite the same") {
  for (const auto& [compression, least, most] :
       {std::tuple{Compression::bf16, 1e-4, 2e-2}, {Compression::int8, 1e-4, 5e-2}}) {
    for (const char* const policy :
         {"pipeline_naive", "pipeline_flush", "pipeline_1f1b", "pipeline_zb_h1"}) {
      CAPTURE(to_string(compression));
      CAPTURE(policy);
      PipelineTraining training = small_training({1, 2, 2});
      training.replicas = 2;
      training.compression = compression;
      const PlannedTraining planned{std::move(training), policy};
      PipelineRunResult result;
      run_on_threads(planned.ranks(), [&](RankLink& link) {
        PipelineRunResult mine = planned.run(link, 20);
        if (link.rank() == 0) result = std::move(mine);
      });
      // Values are off by at most 1/256, or 1/254 of the largest of their sample, at each of two
      // cuts, and so are gradients on their way back.
      CHECK(result.gradient_difference > least);  // the comparison would notice
      CHECK(result.gradient_difference < most);
      CHECK(result.loss_difference < 2e-2);
      CHECK(result.losses.back() < result.losses.front());
      // 4 micro-batches of each replica travel over two cuts, there and back: 13 samples of 64 and
      // 8 values. And their labels.
      std::int64_t bytes = 0;
      for (const MessageSpec& message : planned.plan.messages) bytes += message.bytes.count();
      const std::int64_t per_sample =
          compression == Compression::int8 ? 4 + 64 + 4 + 16 : 2 * (64 + 16);
      CHECK(bytes == 13 * (2 * per_sample + 4));
    }
  }
}

TEST_CASE("tied layers on several stages, ranks and replicas stay alike") {
  const NetLayerSpec dense{.kind = NetLayerKind::dense, .name = "a", .units = 9, .relu = true};
  NetLayerSpec tied = dense;
  tied.shares = "a";
  for (const std::uint32_t replicas : {1U, 2U}) {
    for (const std::uint32_t virtual_stages : {1U, 2U, 4U}) {
      CAPTURE(replicas);
      CAPTURE(virtual_stages);
      PipelineTraining training = small_training({5});
      training.net.input = {1, 9, 1};
      training.net.layers = {dense, tied, tied, {.kind = NetLayerKind::dense, .units = 3}};
      training.net.layers[1].name = "b";
      training.net.layers[2].name = "c";
      training.stages = layer_ranges({1, 1, 1, 1});
      training.data = synthetic_samples(training.net.input, 3, 60, 0.1, 5);
      training.replicas = replicas;
      training.virtual_stages = virtual_stages;
      training.setting.optimizer = {.kind = Optimizer::adam, .learning_rate = 0.01};
      check_same_as_unsplit({std::move(training), "pipeline_interleaved_1f1b"});
    }
  }
}

TEST_CASE("a recurrent net is trained by a pipeline too") {
  for (const char* const policy :
       {"pipeline_naive", "pipeline_flush", "pipeline_1f1b", "pipeline_zb_h1"}) {
    for (const std::uint32_t replicas : {1U, 2U}) {
      for (const bool recompute : {false, true}) {
        CAPTURE(policy);
        CAPTURE(replicas);
        CAPTURE(recompute);
        PipelineTraining training = small_training({5});
        training.net.layers = {{.kind = NetLayerKind::lstm, .units = 6, .sequences = true},
                               {.kind = NetLayerKind::lstm, .units = 5},
                               {.kind = NetLayerKind::dense, .units = 3}};
        training.stages = layer_ranges({1, 2});
        training.replicas = replicas;
        training.setting.recompute = recompute;
        check_same_as_unsplit({std::move(training), policy});
      }
    }
  }
}

TEST_CASE("a GPT is trained by a pipeline as the whole net is, wherever its branches are cut") {
  // Between blocks one value goes on; within them the state goes past too, also past a whole stage.
  const std::vector<std::vector<std::int64_t>> cuts{
      {11, 11}, {3, 19}, {2, 1, 4, 15}, {7, 1, 1, 13}};
  for (const auto& cut : cuts) {
    for (const char* const policy : {"pipeline_flush", "pipeline_1f1b", "pipeline_zb_h1"}) {
      for (const bool recompute : {false, true}) {
        CAPTURE(cut.size());
        CAPTURE(policy);
        CAPTURE(recompute);
        PipelineTraining training = gpt_training(cut);
        training.setting.recompute = recompute;
        check_same_as_unsplit({std::move(training), policy});
      }
    }
  }
  PipelineTraining training = gpt_training({4, 7, 5, 6});
  training.virtual_stages = 2;
  training.replicas = 2;
  training.by_layer = true;
  training.batch = 16;
  check_same_as_unsplit({std::move(training), "pipeline_interleaved_1f1b"});
}

TEST_CASE("values that several layers read have all their gradients, and their bytes are known") {
  PipelineTraining training = small_training({5});
  training.net.layers = {{.kind = NetLayerKind::dense, .name = "a", .units = 6, .relu = true},
                         {.kind = NetLayerKind::dense, .name = "left", .units = 6},
                         {.kind = NetLayerKind::dense, .name = "right", .units = 6, .reads = "a"},
                         {.kind = NetLayerKind::add, .name = "both", .adds = "left"},
                         {.kind = NetLayerKind::add, .name = "all", .adds = "a"},
                         {.kind = NetLayerKind::add, .name = "twice", .adds = "all"},
                         {.kind = NetLayerKind::dense, .units = 3}};
  for (const auto& cut : std::vector<std::vector<std::int64_t>>{
           {7}, {1, 6}, {2, 5}, {3, 4}, {5, 2}, {1, 1, 1, 1, 1, 1, 1}}) {
    CAPTURE(cut.size());
    training.stages = layer_ranges(cut);
    check_same_as_unsplit({training, "pipeline_1f1b"});
  }
  CHECK(live_values(training.net, 3) == std::vector<std::size_t>{1, 2, 3});
  CHECK(live_elements(training.net, 3) == 18);
  CHECK(live_values(training.net, 5) == std::vector<std::size_t>{5});
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

TEST_CASE("a rank that fails in an iteration ends the run, and is named") {
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
      run_on_threads(2,
                     [&](RankLink& link) {
                       static_cast<void>(run_pipeline(planned.training,
                                                      planned.graph,
                                                      planned.plan,
                                                      link,
                                                      {.iterations = 1, .stop = &stop}));
                     }),
      Interrupted);
}

TEST_CASE("samples of all micro-batches are those of the batch, each once") {
  PipelineTraining training = small_training({5});
  training.replicas = 2;
  std::vector<std::int64_t> seen;
  for (std::uint32_t replica = 0; replica < 2; ++replica) {
    for (std::int64_t m = 0; m < 4; ++m) {
      const SampleRange range = training.samples(3, replica, m);
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
  const PipelineSpec spec = pipeline_spec(training, {.stages = measure_stages(training, 3)});
  REQUIRE(spec.profile.stages.size() == 2);
  CHECK(spec.profile.stages[0].forward.of(4) > Duration{0});
  CHECK(spec.profile.stages[0].parameters == Bytes{4 * (9 * 4 + 4)});
  CHECK(spec.profile.stages[1].parameters == Bytes{4 * (16 * 8 + 8 + 8 * 3 + 3)});
  CHECK(spec.profile.links[0].bytes == Bytes{4 * 16});
}

TEST_CASE("all that an iteration costs its ranks is measured, by the ranks that will run it") {
  PipelineTraining training = small_training({2, 2, 1});
  training.replicas = 2;
  training.batch = 16;
  training.by_layer = true;
  RankCosts costs;
  run_on_threads(6, [&](RankLink& link) {
    RankCosts mine = measure_rank_costs(training, link, 2, Bytes{4096});  // in waves of two ranks
    if (link.rank() == 0) costs = std::move(mine);
  });
  REQUIRE(costs.pipeline.stages.size() == 3);
  CHECK(costs.pipeline.stages[0].forward.size() == 2);          // a convolution and a pool
  CHECK(costs.pipeline.stages[0].backward_weight.size() == 1);  // of the convolution
  CHECK(costs.pipeline.stages[1].backward_weight.size() ==
        1);  // of the dense layer, not of dropout
  for (const StageCosts& stage : costs.pipeline.stages) {
    CHECK(stage.whole.forward.of(2) > Duration{0});
    CHECK(stage.whole.backward_weight.of(2) > Duration{0});
  }
  REQUIRE(costs.pipeline.links.size() == 2);
  CHECK(costs.pipeline.links[0].pack.of(2) > Duration{0});
  CHECK(costs.pipeline.links[0].unpack.of(2) > Duration{0});
  CHECK(costs.latency > Duration{0});
  CHECK(costs.send > Duration{0});
  CHECK(costs.receive > Duration{0});
  CHECK(costs.call > Duration{0});
  // Sums of three stages: 40, 136 and 27 parameters.
  REQUIRE(costs.sums.size() == 3);
  for (const auto& [bytes, time] : costs.sums) CHECK(time > Duration{0});
  CHECK(costs.sums[0].first == Bytes{4 * (9 * 4 + 4)});
}
