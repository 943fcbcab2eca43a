// SPDX-License-Identifier: Apache-2.0
#include "tests/policies/pipeline_support.hpp"

#include <doctest/doctest.h>

#include <algorithm>

namespace schedlab {

using namespace literals;
using testing::equal_pipeline;
using testing::PipelineRun;

TEST_CASE("1F1B keeps the activations of as many micro-batches as stages follow, flush of all") {
  for (const std::int64_t microbatches : {2, 4, 9}) {
    PipelineSpec spec = equal_pipeline(4, microbatches);
    for (StageProfile& stage : spec.profile.stages) stage.kept_activations = 100_B;
    const std::vector<Bytes> flush = PipelineRun{spec, "pipeline_flush"}.peaks();
    const std::vector<Bytes> plain = PipelineRun{spec, "pipeline_1f1b"}.peaks();
    const std::vector<Bytes> naive = PipelineRun{spec, "pipeline_naive"}.peaks();
    for (std::int64_t stage = 0; stage < 4; ++stage) {
      CAPTURE(stage);
      const auto s = static_cast<std::size_t>(stage);
      CHECK(flush[s].count() == 100 * microbatches);
      CHECK(plain[s].count() == 100 * std::min(microbatches, 4 - stage));
      CHECK(naive[s] == 100_B);
    }
  }
}

TEST_CASE("ZB-H1 keeps no more on any rank than the first rank of 1F1B") {
  PipelineSpec spec = equal_pipeline(4, 9);
  for (StageProfile& stage : spec.profile.stages) stage.kept_activations = 100_B;
  for (const Bytes peak : PipelineRun{spec, "pipeline_zb_h1"}.peaks()) CHECK(peak <= 400_B);
}

TEST_CASE("gradients of outputs are held until the weight pass has used them") {
  // One stage, one micro-batch: kept activations and gradients at once.
  PipelineSpec spec = equal_pipeline(1, 1);
  spec.profile.stages[0].kept_activations = 100_B;
  spec.profile.stages[0].kept_gradients = 30_B;
  CHECK(PipelineRun{spec, "pipeline_zb_h1"}.peaks().front() == 130_B);
}

TEST_CASE("parameters and optimizer state are there all the time, gradients besides") {
  PipelineSpec spec = equal_pipeline(2, 3);
  for (StageProfile& stage : spec.profile.stages) {
    stage.parameters = 1000_B;
    stage.optimizer_state = 2000_B;
  }
  for (const Bytes peak : PipelineRun{spec, "pipeline_1f1b"}.peaks()) CHECK(peak == 4000_B);
}

TEST_CASE("recomputation keeps the input of a stage and does forward again") {
  PipelineSpec spec = equal_pipeline(3, 8);
  spec.profile.links = chain_links(3, 10_B);
  for (StageProfile& stage : spec.profile.stages) stage.kept_activations = 100_B;
  const PipelineRun kept{spec, "pipeline_flush"};
  spec.recompute = true;
  const PipelineRun again{spec, "pipeline_flush"};
  // The last stage begins after 2 us and takes 3 us for each of 8 micro-batches, or 4; the last
  // gradient goes back through 2 stages, 2 us each, which did forward again while they waited.
  CHECK(kept.trace.makespan() == Duration{(2 + 8 * 3 + 2 * 2) * 1'000'000});
  CHECK(again.trace.makespan() == Duration{(2 + 8 * 4 + 2 * 2) * 1'000'000});
  // Last stage: 8 inputs of 10 bytes and the 100 of the micro-batch that is worked on. Without:
  // 8 x 100, and the gradient of 10 bytes that the stage before reads.
  CHECK(again.peaks().back() == 180_B);
  CHECK(kept.peaks().back() == 810_B);
}

}  // namespace schedlab
