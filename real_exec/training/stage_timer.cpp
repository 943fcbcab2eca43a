// SPDX-License-Identifier: Apache-2.0
#include "real_exec/training/stage_timer.hpp"

#include "sim/base/error.hpp"

#include <algorithm>
#include <numeric>

namespace schedlab::detail {

Duration median_of(std::vector<Duration> times) {
  SCHEDLAB_EXPECTS(!times.empty(), "a median of something");
  const auto middle = times.begin() + static_cast<std::ptrdiff_t>((times.size() - 1) / 2);
  std::nth_element(times.begin(), middle, times.end());
  return *middle;
}

PassCost cost_of(const PipelineTraining& training, Duration time) {
  if (training.equal_microbatches()) return {.fixed = time};
  // Parts are as equal as possible and the larger ones come first.
  return {.per_sample = time / training.samples(0, 0, 0).count};
}

StageTimer::StageTimer(const PipelineTraining& training, std::uint32_t stage)
    : training_(training),
      stage_(training.net, training.stages.at(stage), training.setting),
      stream_(training),
      samples_(training.samples(0, 0, 0).count),
      // As 1F1B holds them: their memory has to stay in caches too.
      in_flight_(std::min<std::int64_t>(training.microbatches, training.stage_count() - stage)) {
  const std::size_t layers =
      training.by_layer ? stage_.layers().last - stage_.layers().first : std::size_t{1};
  forward_.resize(layers);
  backward_data_.resize(layers);
  backward_weight_.resize(training.by_layer ? stage_.trained_layers().size() : std::size_t{1});
}

void StageTimer::visit() {
  for (std::int64_t m = 0; m < in_flight_; ++m) forward(m);
  for (std::int64_t m = 0; m < in_flight_; ++m) backward(m);
  update_.push_back(time_of([&] { stage_.update(); }));
}

void StageTimer::forward(std::int64_t m) {
  const SampleRange range{position_, samples_};
  position_ += samples_;
  const auto prepare = [&] {
    stage_.begin(m, range, 1.0 / static_cast<double>(samples_ * in_flight_));
    if (stage_.is_first()) stream_.values(range, stage_.input(m));
    if (stage_.is_last()) stream_.labels(range, stage_.labels(m));
  };
  const Duration prepared = time_of(prepare);
  if (!stage_.is_first()) {
    // Half of the values zero, as behind a ReLU, and none foreseen.
    for (float& value : stage_.input(m)) {
      value = std::max(0.0F, static_cast<float>(2 * rng_.uniform() - 1));
    }
  }
  for (std::size_t i = 0; i < forward_.size(); ++i) {
    forward_[i].push_back(
        time_of([&] { training_.by_layer ? stage_.forward_layer(m, i) : stage_.forward(m); }));
  }
  forward_.front().back() += prepared;
}

void StageTimer::backward(std::int64_t m) {
  if (!stage_.is_last()) {
    // Without a direction: updates must leave the values as lively as a training does.
    for (float& value : stage_.output_gradient(m)) {
      value = static_cast<float>(1e-3 * (2 * rng_.uniform() - 1));
    }
  }
  if (training_.setting.recompute) stage_.recompute(m);
  for (std::size_t i = 0; i < backward_data_.size(); ++i) {
    backward_data_[i].push_back(time_of([&] {
      training_.by_layer ? stage_.backward_data_layer(m, backward_data_.size() - 1 - i)
                         : stage_.backward_data(m);
    }));
  }
  const auto& trained = stage_.trained_layers();
  if (training_.by_layer && trained.empty()) return stage_.backward_weight(m);
  for (std::size_t i = 0; i < backward_weight_.size(); ++i) {
    backward_weight_[i].push_back(time_of([&] {
      training_.by_layer ? stage_.backward_weight_layer(m, trained[trained.size() - 1 - i])
                         : stage_.backward_weight(m);
    }));
  }
}

std::vector<Duration> StageTimer::medians(const std::vector<Tries>& parts) {
  std::vector<Duration> result;
  for (const Tries& tries : parts) {
    const auto first = tries.begin() + static_cast<std::ptrdiff_t>(tries.size() / 4);
    result.push_back(median_of({first, tries.end()}));
  }
  return result;
}

Duration StageTimer::sum_of(const std::vector<Duration>& parts) {
  return std::accumulate(parts.begin(), parts.end(), Duration{0});
}

StageCosts StageTimer::costs() const {
  StageCosts costs;
  costs.forward = medians(forward_);
  costs.backward_data = medians(backward_data_);
  costs.backward_weight = medians(backward_weight_);
  costs.whole.forward = cost_of(training_, sum_of(costs.forward));
  costs.whole.backward_data = cost_of(training_, sum_of(costs.backward_data));
  costs.whole.backward_weight = cost_of(training_, sum_of(costs.backward_weight));
  costs.whole.update = medians({update_}).front();
  return costs;
}

}  // namespace schedlab::detail
