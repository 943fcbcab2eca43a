// SPDX-License-Identifier: Apache-2.0
// ZeRO: what replicas keep, what they move, and when.
#include "sim/base/error.hpp"
#include "tests/policies/gpt_pipeline_support.hpp"

#include <doctest/doctest.h>

#include <map>
#include <utility>

namespace schedlab {
namespace {

using namespace literals;
using namespace std::chrono_literals;
using testing::equal_pipeline;
using testing::GptRun;
using testing::PipelineRun;

/// One stage of 1000 bytes of parameters and 2000 of optimizer state, four replicas.
PipelineSpec sharded_stage(std::uint32_t zero, std::int64_t microbatches) {
  PipelineSpec spec = equal_pipeline(1, 4 * microbatches);
  spec.microbatches = microbatches;
  spec.replicas = 4;
  spec.zero = zero;
  spec.profile.stages[0].parameters = 1000_B;
  spec.profile.stages[0].optimizer_state = 2000_B;
  spec.profile.stages[0].update = 400us;
  return spec;
}

/// Number and bytes of the collectives of an operation.
using Moved = std::map<CollectiveOp, std::pair<std::int64_t, std::int64_t>>;
Moved moved(const TaskGraph& graph) {
  Moved result;
  for (const CollectiveId id : graph.collectives().ids()) {
    auto& [count, bytes] = result[graph.collectives().spec(id).op];
    ++count;
    bytes += graph.collectives().spec(id).bytes.count();
  }
  return result;
}

GptRun gpt_run(std::int64_t zero, std::int64_t prefetch = 1) {
  return GptRun{{{"stages", std::int64_t{1}},
                 {"microbatches", std::int64_t{2}},
                 {"replicas", std::int64_t{4}},
                 {"tied", false},
                 {"passes", std::string{"layers"}},
                 {"hidden", std::int64_t{2048}},
                 {"heads", std::int64_t{16}},
                 {"zero", zero}},
                "pipeline_1f1b",
                {{"prefetch", prefetch}}};
}

}  // namespace

TEST_CASE("each stage of ZeRO divides what it says: memory of a replica") {
  const auto peak = [](std::uint32_t zero) {
    return PipelineRun{sharded_stage(zero, 1), "pipeline_1f1b", {{"prefetch", std::int64_t{0}}}}
        .peaks()
        .front();
  };
  CHECK(peak(0) == 4000_B);  // parameters, gradients, optimizer state
  CHECK(peak(1) == 2500_B);  // 1000 + 1000 + 2000 / 4
  // 1000 + (1000 + 2000) / 4, and the gradients of the micro-batch until they are divided.
  CHECK(peak(2) == 2750_B);
  // (1000 + 1000 + 2000) / 4, and the same gradients, or the parameters that are gathered.
  CHECK(peak(3) == 2000_B);
}

TEST_CASE("bytes that replicas move: stages 1 and 2 once each way, stage 3 a half more") {
  using Op = CollectiveOp;
  for (const std::int64_t m : {1, 3}) {
    const auto of = [m](std::uint32_t zero) {
      return moved(PipelineRun{sharded_stage(zero, m), "pipeline_1f1b"}.graph);
    };
    CHECK(of(0) == Moved{{Op::all_reduce, {1, 1000}}});
    CHECK(of(1) == Moved{{Op::all_gather, {1, 1000}}, {Op::reduce_scatter, {1, 1000}}});
    CHECK(of(2) == Moved{{Op::all_gather, {1, 1000}}, {Op::reduce_scatter, {m, 1000 * m}}});
    CHECK(of(3) == Moved{{Op::all_gather, {2 * m, 2000 * m}}, {Op::reduce_scatter, {m, 1000 * m}}});
  }
}

TEST_CASE("a replica updates its part only") {
  const auto makespan = [](std::uint32_t zero) {
    return PipelineRun{sharded_stage(zero, 1), "pipeline_1f1b"}.trace.makespan();
  };
  CHECK(makespan(0) == 3us + 400us);
  for (const std::uint32_t zero : {1U, 2U, 3U}) CHECK(makespan(zero) == 3us + 100us);
  PipelineSpec alone = sharded_stage(3, 4);
  alone.replicas = 1;
  CHECK(moved(pipeline_graph(alone)).empty());
}

TEST_CASE("fully sharded layers are gathered one by one, ahead of those in use") {
  const GptRun plain = gpt_run(0);
  const GptRun without = gpt_run(3, 0);
  const GptRun ahead = gpt_run(3, 1);
  const GptRun far = gpt_run(3, 100);
  // Each of 2 micro-batches gathers all layers twice, but positions and embedding, which have no
  // data gradient, once.
  GptSpec spec;
  spec.blocks = 4;
  spec.hidden = 2048;
  spec.heads = 16;
  spec.window = 64;
  spec.stride = 0;
  spec.expressivity = 1;
  spec.vocabulary = 512;
  spec.tied = false;
  const std::int64_t all = parameter_bytes(gpt_layer_graph(spec)).count();
  const std::int64_t first = std::int64_t{4} * (512 + 64) * 2048;
  CHECK(moved(ahead.graph)[CollectiveOp::all_gather].second == 2 * (2 * all - first));
  CHECK(ahead.trace.makespan() < without.trace.makespan());
  CHECK(far.trace.makespan() <= ahead.trace.makespan());
  const auto peak = [](const GptRun& run) {
    return memory_use(run.problem(), run.trace).front().peak;
  };
  CHECK(peak(without) < peak(ahead));
  CHECK(peak(ahead) < peak(far));
  CHECK(peak(far) < peak(plain));
}

TEST_CASE("a pipeline with ZeRO and tensor parallelism is sound under each schedule") {
  for (const std::string& policy : testing::pipeline_policy_names()) {
    for (const std::int64_t zero : {1, 2, 3}) {
      CAPTURE(policy);
      CAPTURE(zero);
      const GptRun run{{{"stages", std::int64_t{2}},
                        {"microbatches", std::int64_t{3}},
                        {"replicas", std::int64_t{2}},
                        {"tensor_parallel", std::int64_t{2}},
                        {"tied", false},
                        {"recompute", zero == 3},
                        {"zero", zero}},
                       policy};
      CHECK(run.trace.tasks.size() == run.graph.task_count());
    }
  }
}

TEST_CASE("ZeRO beside what it does not divide is refused") {
  PipelineSpec spec = sharded_stage(2, 2);
  spec.profile.stages.resize(2, spec.profile.stages.front());
  spec.profile.tied.push_back({"words", 10_B, {0, 1}});
  CHECK_THROWS_AS(static_cast<void>(pipeline_graph(spec)), InfeasibleError);
  spec.profile.tied.clear();
  spec.placement = StagePlacement::bidirectional;
  CHECK_THROWS_AS(static_cast<void>(pipeline_graph(spec)), InfeasibleError);
}

}  // namespace schedlab
