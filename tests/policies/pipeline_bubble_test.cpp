// SPDX-License-Identifier: Apache-2.0
#include "tests/policies/pipeline_support.hpp"

#include <doctest/doctest.h>

#include <algorithm>

namespace schedlab {
namespace {

using namespace std::chrono_literals;
using testing::equal_pipeline;
using testing::PipelineRun;

struct PassTimes {
  Duration forward;
  Duration data;
  Duration weight;
};

PipelineSpec with_times(std::uint32_t stages, std::int64_t microbatches, const PassTimes& times) {
  PipelineSpec spec = equal_pipeline(stages, microbatches);
  for (StageProfile& stage : spec.profile.stages) {
    stage.forward.fixed = times.forward;
    stage.backward_data.fixed = times.data;
    stage.backward_weight.fixed = times.weight;
  }
  return spec;
}

/// Idle time of each rank: the makespan less the work of a rank.
Duration bubble(const PipelineRun& run, std::int64_t microbatches, Duration work) {
  return run.trace.makespan() - microbatches * work;
}

}  // namespace

TEST_CASE("the bubble of flush and 1F1B is (S-1) forward and backward passes") {
  // Each of M micro-batches keeps a rank busy for f + b, so the share is (S-1) / (M+S-1).
  const PassTimes t{3us, 4us, 2us};
  for (const std::uint32_t stages : {1U, 2U, 4U, 7U}) {
    for (const std::int64_t microbatches : {1, 2, 4, 9}) {
      for (const char* policy : {"pipeline_flush", "pipeline_1f1b"}) {
        CAPTURE(stages);
        CAPTURE(microbatches);
        CAPTURE(policy);
        const PipelineRun run{with_times(stages, microbatches, t), policy};
        CHECK(run.trace.makespan() == (microbatches + stages - 1) * 9us);
      }
    }
  }
}

TEST_CASE("the naive schedule lets one rank work at a time") {
  // Each micro-batch passes 5 stages forward and back: 5 x 9 us.
  CHECK(PipelineRun{with_times(5, 3, {3us, 4us, 2us}), "pipeline_naive"}.trace.makespan() ==
        3 * 5 * 9us);
}

TEST_CASE("the bubble of ZB-H1 is (S-1)(forward + data gradient - weight gradient)") {
  for (const PassTimes& t : {PassTimes{1us, 1us, 1us}, PassTimes{3us, 4us, 2us}}) {
    for (const std::uint32_t stages : {1U, 2U, 4U, 8U}) {
      for (const std::uint32_t more : {0U, 1U, 5U, 12U}) {
        CAPTURE(stages);
        CAPTURE(more);
        const std::int64_t m = stages + more;
        const PipelineRun run{with_times(stages, m, t), "pipeline_zb_h1"};
        CHECK(bubble(run, m, t.forward + t.data + t.weight) ==
              (stages - 1) * (t.forward + t.data - t.weight));
      }
    }
  }
}

TEST_CASE("where all passes are equal ZB-H1 has a third of the bubble of 1F1B") {
  const PassTimes t{1us, 1us, 1us};
  const PipelineRun zb{with_times(4, 8, t), "pipeline_zb_h1"};
  const PipelineRun plain{with_times(4, 8, t), "pipeline_1f1b"};
  CHECK(3 * bubble(zb, 8, 3us) == bubble(plain, 8, 3us));  // 3 us and 9 us
}

TEST_CASE("interleaving divides the bubble of 1F1B by the number of virtual_stages") {
  // 4 ranks; a virtual stage is a c-th of a rank's 36 us, so the bubble is 3 x 36 us / c.
  for (const std::uint32_t virtual_stages : {1U, 2U, 3U, 4U}) {
    for (const std::int64_t microbatches : {4, 5, 8, 11}) {
      CAPTURE(virtual_stages);
      CAPTURE(microbatches);
      const Duration chunk = 36us / static_cast<std::int64_t>(virtual_stages);
      PipelineSpec spec =
          with_times(4 * virtual_stages, microbatches, {chunk / 3, chunk / 3, chunk / 3});
      spec.virtual_stages = virtual_stages;
      const PipelineRun run{spec, "pipeline_interleaved_1f1b"};
      CHECK(bubble(run, microbatches, 36us) == 3 * chunk);
    }
  }
}

TEST_CASE("every schedule is sound and does each pass once, also with fewer micro-batches") {
  for (const std::string& policy : testing::pipeline_policy_names()) {
    for (const std::uint32_t stages : {1U, 2U, 5U, 6U}) {
      for (const std::int64_t microbatches : {1, 2, 3, 7}) {
        CAPTURE(policy);
        CAPTURE(stages);
        CAPTURE(microbatches);
        PipelineSpec spec = with_times(stages, microbatches, {3us, 4us, 2us});
        if (policy == "pipeline_interleaved_1f1b" && stages == 6) spec.virtual_stages = 3;
        const PipelineRun run{spec, policy};
        CHECK(run.trace.tasks.size() == stages * (3 * static_cast<std::size_t>(microbatches) + 1));
        CHECK(run.trace.makespan() >= (microbatches * 9us) * spec.virtual_stages);
      }
    }
  }
}

TEST_CASE("the slowest stage sets the pace") {
  // Stage 1 takes twice the time: 2 us forward, 4 us backward. First and last micro-batch pass
  // stages 0 and 2 besides (1 + 1 forward, 2 + 2 backward): 5 x 6 + 6.
  PipelineSpec spec = with_times(3, 5, {1us, 1us, 1us});
  spec.profile.stages[1] = {.name = "slow",
                            .forward = {.fixed = 2us},
                            .backward_data = {.fixed = 2us},
                            .backward_weight = {.fixed = 2us}};
  CHECK(PipelineRun{spec, "pipeline_flush"}.trace.makespan() == 36us);
}

}  // namespace schedlab
