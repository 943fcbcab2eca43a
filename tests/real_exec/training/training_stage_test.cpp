// SPDX-License-Identifier: Apache-2.0
#include "real_exec/training/training_stage.hpp"

#include "real_exec/training/labelled_samples.hpp"
#include "sim/base/error.hpp"

#include <doctest/doctest.h>

#include <algorithm>
#include <cmath>
#include <string>

using namespace schedlab;

namespace {

NetSpec small_net() {
  return {.input = {6, 6, 1},
          .layers = {{.kind = NetLayerKind::conv2d, .units = 4, .kernel = 3, .relu = true},
                     {.kind = NetLayerKind::max_pool, .window = 2},
                     {.kind = NetLayerKind::dropout, .rate = 0.25},
                     {.kind = NetLayerKind::dense, .units = 8, .relu = true},
                     {.kind = NetLayerKind::dense, .units = 3}}};
}

/// One pass of `samples` cut into parts through stages that end at `cuts`; weight gradients of all
/// micro-batches after all data gradients if `late`.
std::vector<float> gradients_of(const std::vector<std::size_t>& cuts,
                                const std::vector<std::int64_t>& parts,
                                const TrainingSetting& setting,
                                bool late,
                                double* loss = nullptr) {
  const NetSpec net = small_net();
  const LabelledSamples data = synthetic_samples(net.input, 3, 7, 0.1, 11);
  std::vector<std::unique_ptr<TrainingStage>> stages;
  std::size_t first = 0;
  for (const std::size_t cut : cuts) {
    stages.push_back(std::make_unique<TrainingStage>(net, NetLayerRange{first, cut}, setting));
    first = cut;
  }
  std::int64_t at = 0;
  for (std::size_t m = 0; m < parts.size(); ++m) {
    const auto microbatch = static_cast<std::int64_t>(m);
    for (std::size_t s = 0; s < stages.size(); ++s) {
      stages[s]->begin(microbatch, {at, parts[m]}, 1.0 / 7);
      const auto input = stages[s]->input(microbatch);
      if (s == 0) {
        std::copy_n(data.values.begin() + at * 36, input.size(), input.begin());
      } else {
        std::copy_n(stages[s - 1]->output(microbatch).begin(), input.size(), input.begin());
      }
      const auto labels = stages[s]->labels(microbatch);
      std::copy_n(data.labels.begin() + at, labels.size(), labels.begin());
      stages[s]->forward(microbatch);
    }
    at += parts[m];
  }
  if (loss != nullptr) *loss = stages.back()->loss().loss / 7;
  for (std::size_t m = 0; m < parts.size(); ++m) {
    const auto microbatch = static_cast<std::int64_t>(m);
    for (std::size_t s = stages.size(); s-- > 0;) {
      if (s + 1 < stages.size()) {
        const auto from = stages[s + 1]->input_gradient(microbatch);
        std::copy(from.begin(), from.end(), stages[s]->output_gradient(microbatch).begin());
      }
      stages[s]->backward_data(microbatch);
    }
    // The gradient of a stage's input must outlive the next stage's weight gradients.
    if (late) continue;
    for (auto& stage : stages) stage->backward_weight(microbatch);
  }
  for (std::size_t m = 0; late && m < parts.size(); ++m) {
    for (auto& stage : stages) stage->backward_weight(static_cast<std::int64_t>(m));
  }
  std::vector<float> all;
  for (auto& stage : stages) {
    CHECK(stage->kept_bytes() == 0);
    CHECK(stage->peak_kept_bytes() > 0);
    all.insert(all.end(), stage->gradients().begin(), stage->gradients().end());
  }
  return all;
}

double relative(const std::vector<float>& a, const std::vector<float>& b) {
  REQUIRE(a.size() == b.size());
  double apart = 0;
  double size = 0;
  for (std::size_t i = 0; i < a.size(); ++i) {
    apart += std::pow(static_cast<double>(a[i]) - b[i], 2);
    size += std::pow(static_cast<double>(b[i]), 2);
  }
  return std::sqrt(apart / size);
}

}  // namespace

TEST_CASE("any cut into stages and micro-batches gives the gradients of the whole net") {
  const TrainingSetting setting{.seed = 3};
  double loss = 0;
  const auto whole = gradients_of({5}, {7}, setting, false, &loss);
  CHECK(std::abs(loss - std::log(3.0)) < 0.5);  // three classes, nothing learned yet
  for (const bool late : {false, true}) {
    for (const bool recompute : {false, true}) {
      CAPTURE(late);
      CAPTURE(recompute);
      const TrainingSetting same{.seed = 3, .recompute = recompute};
      CHECK(relative(gradients_of({1, 3, 5}, {3, 2, 2}, same, late), whole) < 1e-6);
      CHECK(relative(gradients_of({2, 5}, {7}, same, late), whole) < 1e-6);
    }
  }
  const auto other = gradients_of({5}, {7}, {.seed = 4}, false);
  CHECK(relative(other, whole) > 0.1);  // the comparison would notice
}

TEST_CASE("recomputing keeps less of the micro-batches that wait") {
  const NetSpec net = small_net();
  std::int64_t kept[2] = {0, 0};
  for (const bool recompute : {false, true}) {
    TrainingStage stage(net, {0, 4}, {.recompute = recompute});
    for (std::int64_t m = 0; m < 4; ++m) {
      stage.begin(m, {m * 2, 2}, 1.0);
      stage.forward(m);
    }
    kept[recompute ? 1 : 0] = stage.kept_bytes();
  }
  // 36 values in and 8 out of 6 x 6, against 4 x 4 x 4, twice 2 x 2 x 4 and the pool's places.
  CHECK(kept[1] == 4 * 2 * (36 + 8) * 4);
  CHECK(kept[0] == 4 * 2 * (36 + 8 + 64 + 16 + 16 + 16) * 4);
}

TEST_CASE("tied layers of one stage share parameters and add their gradients") {
  NetSpec net{.input = {1, 1, 4},
              .layers = {{.kind = NetLayerKind::dense, .name = "a", .units = 4},
                         {.kind = NetLayerKind::dense, .name = "b", .units = 4, .shares = "a"}}};
  TrainingStage stage(net, {0, 2}, {});
  CHECK(stage.parameters().size() == 4 * 4 + 4);
  REQUIRE(stage.blocks().size() == 1);
  CHECK(stage.blocks()[0].owner == 0);
  // Split over two stages both have the same values.
  TrainingStage second(net, {1, 2}, {});
  CHECK(std::equal(
      stage.parameters().begin(), stage.parameters().end(), second.parameters().begin()));
}

TEST_CASE("optimizers step as their definitions say") {
  std::vector<float> w{1.0F};
  const std::vector<float> g{0.5F};
  ParameterOptimizer sgd({.kind = Optimizer::sgd, .learning_rate = 0.1}, 1);
  sgd.update(w, g);
  CHECK(w[0] == doctest::Approx(1.0 - 0.1 * 0.5));
  // adam, first step: mean and variance are unbiased to g and g^2, so it steps by the rate.
  w = {1.0F};
  ParameterOptimizer adam({.kind = Optimizer::adam, .learning_rate = 0.1}, 1);
  adam.update(w, g);
  CHECK(w[0] == doctest::Approx(0.9).epsilon(1e-6));
  // Second step with g = 0: mean 0.9 * 0.05 / (1 - 0.81), variance 0.999 * 0.00025 / (1 -
  // 0.998001).
  adam.update(w, std::vector<float>{0.0F});
  const double mean = 0.9 * 0.05 / 0.19;
  const double variance = 0.999 * 0.00025 / 0.001999;
  CHECK(w[0] == doctest::Approx(0.9 - 0.1 * mean / std::sqrt(variance)).epsilon(1e-5));
}

TEST_CASE("a net learns synthetic pictures") {
  const NetSpec net = small_net();
  const TrainingData data = split_for_testing(synthetic_samples(net.input, 3, 150, 0.1, 5), 1);
  CHECK(data.train.size() == 120);
  CHECK(data.test.size() == 30);
  TrainingStage stage(net, {0, 5}, {.optimizer = {.kind = Optimizer::adam, .learning_rate = 0.01}});
  SampleOrder order(data.train.size(), 7);
  for (std::int64_t position = 0; position < 20 * 120; position += 20) {
    stage.begin(0, {position, 20}, 1.0 / 20);
    for (std::int64_t i = 0; i < 20; ++i) {
      const std::int64_t sample = order.at(position + i);
      const auto values = data.train.sample(sample);
      std::copy(values.begin(), values.end(), stage.input(0).begin() + i * 36);
      stage.labels(0)[static_cast<std::size_t>(i)] =
          data.train.labels[static_cast<std::size_t>(sample)];
    }
    stage.forward(0);
    stage.backward_data(0);
    stage.backward_weight(0);
    stage.update();
  }
  CHECK(accuracy(net, stage.parameters(), data.test.values, data.test.labels) >= 0.9);
}

TEST_CASE("every epoch goes through all samples, in an order of its own") {
  SampleOrder order(50, 3);
  std::vector<std::int64_t> first;
  std::vector<std::int64_t> second;
  for (std::int64_t i = 0; i < 50; ++i) first.push_back(order.at(i));
  for (std::int64_t i = 50; i < 100; ++i) second.push_back(order.at(i));
  CHECK(first != second);
  CHECK(SampleOrder(50, 3).at(70) == second[20]);  // no state but a cache
  std::sort(first.begin(), first.end());
  std::sort(second.begin(), second.end());
  CHECK(first == second);
  CHECK(first.front() == 0);
  CHECK(first.back() == 49);
}

TEST_CASE("a file of samples is read, and what is wrong in it is named") {
  const SampleShape shape{1, 2, 1};
  const LabelledSamples good =
      read_labelled_csv("label,a,b\n1, 0.5,2\r\n0,1e-1,-3\n", "d.csv", shape);
  CHECK(good.classes == 2);
  CHECK(good.labels == std::vector<std::int32_t>{1, 0});
  CHECK(good.values == std::vector<float>{0.5F, 2.0F, 0.1F, -3.0F});
  const auto message = [&](const char* text) -> std::string {
    try {
      static_cast<void>(read_labelled_csv(text, "d.csv", shape));
    } catch (const InputError& error) {
      return error.what();
    }
    return "no error";
  };
  CHECK(message("label,a,b\n1,2\n").starts_with("d.csv: line 2: found 2 fields, expected 3"));
  CHECK(message("label,a,b\n1,2,3\n1,x,3\n").starts_with("d.csv: line 3: found \"x\""));
  CHECK(message("label,a,b\n-1,2,3\n").starts_with("d.csv: line 2: found class -1"));
  CHECK(message("label,a,b\n1,nan,3\n").starts_with("d.csv: line 2: found \"nan\""));
  CHECK(message("label,a,b\n").starts_with("d.csv: found no samples"));
}
