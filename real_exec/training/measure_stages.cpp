// SPDX-License-Identifier: Apache-2.0
#include "real_exec/gemm.hpp"
#include "real_exec/training/pipeline_training.hpp"

#include <algorithm>
#include <chrono>

namespace schedlab {
namespace {

/// Times of one visit of a micro-batch.
struct StageTimes {
  Duration forward = Duration::max();
  Duration backward_data = Duration::max();
  Duration backward_weight = Duration::max();
  Duration update = Duration::max();
};

template <class Pass>
void keep_least(Duration& least, const Pass& pass) {
  const auto started = std::chrono::steady_clock::now();
  pass();
  const auto took = std::chrono::steady_clock::now() - started;
  least = std::min(least, std::chrono::duration_cast<Duration>(took));
}

/// The least of each is what the pass takes when nothing else disturbs it.
StageTimes time_stage(const PipelineTraining& training,
                      TrainingStage& stage,
                      std::int64_t samples,
                      std::uint32_t repetitions) {
  SampleStream stream(training);
  StageTimes least;
  for (std::uint32_t i = 0; i <= repetitions; ++i) {
    StageTimes once = i == 0 ? StageTimes{} : least;  // the first makes memory known
    const SampleRange range{static_cast<std::int64_t>(i) * samples, samples};
    stage.begin(0, range, 1.0 / static_cast<double>(samples));
    if (stage.is_first()) {
      stream.values(range, stage.input(0));
    } else {
      // Half of the values zero, as behind a ReLU.
      auto input = stage.input(0);
      for (std::size_t k = 0; k < input.size(); ++k) input[k] = k % 2 == 0 ? 0.5F : 0.0F;
    }
    if (stage.is_last()) stream.labels(range, stage.labels(0));
    keep_least(once.forward, [&] { stage.forward(0); });
    if (!stage.is_last()) {
      auto gradient = stage.output_gradient(0);
      std::fill(gradient.begin(), gradient.end(), 1e-3F);
    }
    if (training.setting.recompute) stage.recompute(0);
    keep_least(once.backward_data, [&] { stage.backward_data(0); });
    keep_least(once.backward_weight, [&] { stage.backward_weight(0); });
    keep_least(once.update, [&] { stage.update(); });
    if (i > 0) least = once;
  }
  return least;
}

}  // namespace

std::vector<StageProfile> measure_stages(const PipelineTraining& training,
                                         std::uint32_t repetitions) {
  prepare_worker_thread();
  // Parts are as equal as possible and the larger ones come first.
  const std::int64_t samples = training.samples(0, 0, 0).count;
  const bool equal = training.batch % (training.groups * training.microbatches) == 0;
  const auto cost = [&](Duration time) -> PassCost {
    if (equal) return {.fixed = time};
    return {.per_sample = time / samples};
  };
  std::vector<StageProfile> profiles;
  for (const NetLayerRange& range : training.stages) {
    TrainingStage stage(training.net, range, training.setting);
    const StageTimes times = time_stage(training, stage, samples, repetitions);
    profiles.push_back({.forward = cost(times.forward),
                        .backward_data = cost(times.backward_data),
                        .backward_weight = cost(times.backward_weight),
                        .update = times.update});
  }
  return profiles;
}

}  // namespace schedlab
