// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "real_exec/training/pipeline_training.hpp"
#include "sim/base/rng.hpp"
#include "sim/base/units.hpp"

#include <chrono>
#include <cstdint>
#include <vector>

namespace schedlab::detail {

/// What `work` takes.
template <class Work>
[[nodiscard]] Duration time_of(const Work& work) {
  const auto started = std::chrono::steady_clock::now();
  work();
  return std::chrono::duration_cast<Duration>(std::chrono::steady_clock::now() - started);
}

/// The middle one, of the lower two if their number is even; not empty.
[[nodiscard]] Duration median_of(std::vector<Duration> times);

/// A time of a micro-batch as a cost: the same for all if they are equal, else in proportion.
[[nodiscard]] PassCost cost_of(const PipelineTraining& training, Duration time);

/// Times the passes of one stage on micro-batches as large as the training's largest.
class StageTimer {
 public:
  /// `training` must outlive this.
  StageTimer(const PipelineTraining& training, std::uint32_t stage);

  /// Some micro-batches forward and back, and an update.
  void visit();
  /// Medians of all visits but the first quarter, which makes memory known.
  [[nodiscard]] StageCosts costs() const;

 private:
  using Tries = std::vector<Duration>;

  void forward(std::int64_t m);
  void backward(std::int64_t m);
  [[nodiscard]] static std::vector<Duration> medians(const std::vector<Tries>& parts);
  [[nodiscard]] static Duration sum_of(const std::vector<Duration>& parts);

  const PipelineTraining& training_;
  TrainingStage stage_;
  SampleStream stream_;
  Rng rng_{1};
  std::int64_t samples_;
  std::int64_t in_flight_;
  std::int64_t position_ = 0;
  // By layer in the order of the visit, or one part: the whole pass.
  std::vector<Tries> forward_;
  std::vector<Tries> backward_data_;
  std::vector<Tries> backward_weight_;
  Tries update_;
};

}  // namespace schedlab::detail
