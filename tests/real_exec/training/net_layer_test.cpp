// SPDX-License-Identifier: Apache-2.0
#include "real_exec/training/net_layer.hpp"

#include "sim/base/error.hpp"
#include "sim/base/rng.hpp"
#include "tests/real_exec/training/reference_layers.hpp"

#include <doctest/doctest.h>

#include <cmath>
#include <numeric>

using namespace schedlab;
using schedlab::testing::ReferenceLayer;

namespace {

constexpr std::uint64_t key = 99;

std::vector<float> random_values(std::int64_t count, std::uint64_t seed) {
  Rng rng(seed);
  std::vector<float> values(static_cast<std::size_t>(count));
  for (float& value : values) value = static_cast<float>(2 * rng.uniform() - 1);
  return values;
}

std::vector<double> doubles(const std::vector<float>& values) {
  return {values.begin(), values.end()};
}

/// A layer with input, parameters and what is asked of its output: the loss is sum(weight * y).
struct Scene {
  std::unique_ptr<NetLayer> layer;
  SampleRange samples;
  std::vector<float> x;
  std::vector<float> w;
  std::vector<float> weight;

  Scene(const NetLayerSpec& spec, const SampleShape& input, SampleRange range) : samples(range) {
    const NetSpec net{.input = input, .layers = {spec}};
    layer = make_net_layer(spec, input, output_shapes(net)[0], key);
    x = random_values(range.count * input.elements(), 1);
    w = random_values(layer->parameters(), 2);
    for (float& value : w) value *= 0.5F;
    weight = random_values(range.count * layer->output().elements(), 3);
  }

  [[nodiscard]] double loss(const std::vector<double>& inputs,
                            const std::vector<double>& parameters) const {
    const auto y = ReferenceLayer(*layer, key).forward(inputs, parameters, samples);
    double sum = 0;
    for (std::size_t i = 0; i < y.size(); ++i) sum += y[i] * static_cast<double>(weight[i]);
    return sum;
  }
};

/// (loss(v + e) - loss(v - e)) / 2e for every v: exact to about 1e-9 of the loss.
template <class Loss>
std::vector<double> slopes(std::vector<double> values, const Loss& loss) {
  constexpr double e = 1e-6;
  std::vector<double> result;
  for (double& value : values) {
    const double old = value;
    value = old + e;
    const double above = loss(values);
    value = old - e;
    const double below = loss(values);
    value = old;
    result.push_back((above - below) / (2 * e));
  }
  return result;
}

/// Largest difference over the largest value: fp32 keeps 6e-8 of a value, sums of some hundred
/// terms lose two digits of that.
double difference(const std::vector<float>& found, const std::vector<double>& expected) {
  REQUIRE(found.size() == expected.size());
  double largest = 1e-300;
  double apart = 0;
  for (std::size_t i = 0; i < found.size(); ++i) {
    largest = std::max(largest, std::abs(expected[i]));
    apart = std::max(apart, std::abs(static_cast<double>(found[i]) - expected[i]));
  }
  return apart / largest;
}

void check_against_reference(Scene& scene) {
  std::vector<float> y(scene.weight.size());
  std::vector<float> dy = scene.weight;
  std::vector<float> dx(scene.x.size(), 7.0F);  // must be overwritten
  std::vector<float> gradient(scene.w.size(), 0.0F);
  NetLayerMemory memory;
  const NetLayerArrays arrays{
      .x = scene.x.data(), .y = y.data(), .dy = dy.data(), .dx = dx.data(), .memory = &memory};
  scene.layer->forward(arrays, scene.w, scene.samples, true);
  scene.layer->backward_data(arrays, scene.w, scene.samples);
  scene.layer->backward_weight(arrays, gradient, scene.samples);

  const auto x = doubles(scene.x);
  const auto w = doubles(scene.w);
  CHECK(difference(y, ReferenceLayer(*scene.layer, key).forward(x, w, scene.samples)) < 1e-5);
  const auto by_x = [&](const std::vector<double>& values) { return scene.loss(values, w); };
  const auto by_w = [&](const std::vector<double>& values) { return scene.loss(x, values); };
  CHECK(difference(dx, slopes(x, by_x)) < 1e-5);
  if (!w.empty()) CHECK(difference(gradient, slopes(w, by_w)) < 1e-5);

  const std::vector<float> once = gradient;
  scene.layer->backward_weight(arrays, gradient, scene.samples);
  for (std::size_t i = 0; i < once.size(); ++i) {
    CHECK(gradient[i] == doctest::Approx(2 * once[i]).epsilon(1e-5));  // added, not replaced
  }
}

}  // namespace

TEST_CASE("a dense layer and its gradients agree with the definition") {
  for (const bool relu : {false, true}) {
    CAPTURE(relu);
    Scene scene({.kind = NetLayerKind::dense, .units = 5, .relu = relu}, {2, 3, 1}, {0, 4});
    check_against_reference(scene);
  }
}

TEST_CASE("a convolution and its gradients agree with the definition") {
  for (const bool relu : {false, true}) {
    CAPTURE(relu);
    Scene scene(
        {.kind = NetLayerKind::conv2d, .units = 3, .kernel = 3, .relu = relu}, {5, 6, 2}, {0, 3});
    check_against_reference(scene);
  }
}

TEST_CASE("a convolution that is worked out in blocks of samples gives the same") {
  // 12 x 12 places with 3 x 3 x 24 values each are 31,104 floats a sample: 4 samples a block.
  const NetLayerSpec spec{.kind = NetLayerKind::conv2d, .units = 2, .kernel = 3};
  Scene all(spec, {14, 14, 24}, {0, 9});
  std::vector<float> y(all.weight.size());
  all.layer->forward({.x = all.x.data(), .y = y.data()}, all.w, all.samples, true);
  for (std::int64_t s = 0; s < 9; ++s) {
    std::vector<float> one(static_cast<std::size_t>(all.layer->output().elements()));
    all.layer->forward({.x = all.x.data() + s * all.layer->input().elements(), .y = one.data()},
                       all.w,
                       {s, 1},
                       true);
    for (std::size_t i = 0; i < one.size(); ++i) {
      const std::size_t at = static_cast<std::size_t>(s) * one.size() + i;
      CHECK(y[at] == doctest::Approx(one[i]).epsilon(1e-4));
    }
  }
}

TEST_CASE("pooling passes the largest value of a window and its gradient, the edge nothing") {
  Scene scene({.kind = NetLayerKind::max_pool, .window = 2}, {5, 4, 2}, {0, 2});
  CHECK(scene.layer->output() == SampleShape{2, 2, 2});  // the fifth row is left over
  check_against_reference(scene);
}

TEST_CASE("dropout divides what it keeps, and its gradient has the same mask") {
  Scene scene({.kind = NetLayerKind::dropout, .rate = 0.25}, {3, 3, 2}, {40, 5});
  check_against_reference(scene);
  std::vector<float> y(scene.x.size());
  scene.layer->forward({.x = scene.x.data(), .y = y.data()}, {}, scene.samples, false);
  CHECK(y == scene.x);  // nothing is dropped when it is tested
}

TEST_CASE("dropout masks depend on the sample alone, not on the micro-batch it is in") {
  const NetLayerSpec spec{.kind = NetLayerKind::dropout, .rate = 0.5};
  Scene all(spec, {1, 1, 64}, {10, 6});
  std::vector<float> y(all.x.size());
  all.layer->forward({.x = all.x.data(), .y = y.data()}, {}, all.samples, true);
  std::vector<float> part(64 * 2);
  all.layer->forward({.x = all.x.data() + 64 * 3, .y = part.data()}, {}, {13, 2}, true);
  CHECK(std::equal(part.begin(), part.end(), y.begin() + 64 * 3));
}

TEST_CASE("dropout drops the share it is told to") {
  std::int64_t kept = 0;
  for (std::int64_t sample = 0; sample < 100; ++sample) {
    for (std::int64_t element = 0; element < 100; ++element) {
      kept += dropout_keeps(5, sample, element, 0.25) ? 1 : 0;
    }
  }
  // 10,000 draws of 0.75: standard deviation sqrt(10,000 * 0.75 * 0.25) = 43; 5 of them.
  CHECK(kept > 7500 - 215);
  CHECK(kept < 7500 + 215);
}

TEST_CASE("an LSTM and its gradients agree with the definition") {
  for (const bool sequences : {false, true}) {
    CAPTURE(sequences);
    Scene scene(
        {.kind = NetLayerKind::lstm, .units = 4, .sequences = sequences}, {3, 5, 1}, {0, 2});
    check_against_reference(scene);
  }
}

TEST_CASE("the layers of a transformer and their gradients agree with the definition") {
  const std::vector<std::pair<NetLayerSpec, SampleShape>> layers{
      {{.kind = NetLayerKind::dense, .units = 5, .per_row = true}, {4, 1, 3}},
      {{.kind = NetLayerKind::layer_norm}, {4, 1, 6}},
      {{.kind = NetLayerKind::attention, .heads = 1}, {4, 1, 9}},
      {{.kind = NetLayerKind::attention, .heads = 2}, {5, 1, 24}},
      {{.kind = NetLayerKind::gelu}, {4, 1, 6}}};
  for (const auto& [spec, shape] : layers) {
    CAPTURE(static_cast<int>(spec.kind));
    Scene scene(spec, shape, {0, 3});
    check_against_reference(scene);
  }
}

TEST_CASE("word vectors get the gradients of where they stand") {
  Scene scene({.kind = NetLayerKind::embedding, .units = 4, .vocabulary = 5}, {3, 1, 1}, {0, 2});
  scene.x = {0, 4, 2, 2, 2, 1};
  std::vector<float> y(24);
  std::vector<float> gradient(scene.w.size(), 0.0F);
  NetLayerMemory memory;
  const NetLayerArrays arrays{
      .x = scene.x.data(), .y = y.data(), .dy = scene.weight.data(), .memory = &memory};
  scene.layer->forward(arrays, scene.w, scene.samples, true);
  scene.layer->backward_weight(arrays, gradient, scene.samples);
  const auto x = doubles(scene.x);
  const auto w = doubles(scene.w);
  CHECK(difference(y, ReferenceLayer(*scene.layer, key).forward(x, w, scene.samples)) < 1e-6);
  const auto by_w = [&](const std::vector<double>& values) { return scene.loss(x, values); };
  CHECK(difference(gradient, slopes(w, by_w)) < 1e-5);
}

TEST_CASE("softmax and cross entropy give the loss and its slope") {
  const std::vector<float> logits{1.0F, 2.0F, 0.5F, -1.0F, 0.0F, 3.0F};
  const std::vector<std::int32_t> labels{1, 0};
  std::vector<float> gradient(6);
  const ClassLoss found = softmax_cross_entropy(logits, labels, 3, 0.5F, gradient.data());
  const auto loss = [&](const std::vector<double>& z) {
    const double first = std::log(std::exp(z[0]) + std::exp(z[1]) + std::exp(z[2])) - z[1];
    return first + std::log(std::exp(z[3]) + std::exp(z[4]) + std::exp(z[5])) - z[3];
  };
  CHECK(found.loss == doctest::Approx(loss(doubles(logits))).epsilon(1e-6));
  CHECK(found.correct == 1);  // 2.0 is the largest of the first row, -1.0 not of the second
  std::vector<double> expected = slopes(doubles(logits), loss);
  for (double& value : expected) value *= 0.5;
  CHECK(difference(gradient, expected) < 1e-5);
  CHECK_THROWS_AS(static_cast<void>(softmax_cross_entropy(
                      logits, std::vector<std::int32_t>{3, 0}, 3, 1.0F, nullptr)),
                  ContractViolation);
}

TEST_CASE("a net says which layer cannot be") {
  const auto message = [](const NetSpec& net) -> std::string {
    try {
      static_cast<void>(layer_shapes(net));
    } catch (const InputError& error) {
      return error.problem().pointer + ": " + error.problem().found;
    }
    return "no error";
  };
  const NetLayerSpec conv{.kind = NetLayerKind::conv2d, .name = "conv", .units = 2, .kernel = 3};
  CHECK(message({{2, 5, 1}, {conv}}) == "/layers/0/kernel: 3");
  CHECK(message({{5, 5, 1}, {conv, conv}}) == "/layers/1/name: \"conv\" again");
  CHECK(message({{5, 5, 1}, {}}) == "/layers: an empty list");
  CHECK(message({{5, 5, 1}, {{.kind = NetLayerKind::dropout, .rate = 1.0}}}) ==
        "/layers/0/rate: 1");
  CHECK(message({{5, 5, 1}, {conv, {.kind = NetLayerKind::dense, .units = 2, .shares = "con"}}}) ==
        "/layers/1/shares: \"con\"");
  // Two dense layers 4 -> 4 may share, 4 -> 4 and 4 -> 3 not.
  NetLayerSpec owner{.kind = NetLayerKind::dense, .name = "a", .units = 4};
  NetLayerSpec tied{.kind = NetLayerKind::dense, .name = "b", .units = 4, .shares = "a"};
  const NetSpec net{{1, 1, 4}, {owner, tied}};
  CHECK(message(net) == "no error");
  CHECK(parameter_owners(net) == std::vector<std::size_t>{0, 0});
  tied.units = 3;
  CHECK(message({{1, 1, 4}, {owner, tied}}).starts_with("/layers/1/shares"));
}
