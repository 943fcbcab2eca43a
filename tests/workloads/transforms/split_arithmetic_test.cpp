// SPDX-License-Identifier: Apache-2.0
// What a split computes, in real numbers: small networks with every kind of layer, computed task by
// task from their graphs.
#include "sim/base/rng.hpp"
#include "tests/workloads/models/conv_interpreter.hpp"
#include "workloads/models/convolution/conv_emission.hpp"
#include "workloads/transforms/split_batch.hpp"

#include <doctest/doctest.h>

#include <algorithm>
#include <cmath>
#include <numeric>

namespace schedlab {
namespace {

using detail::ConvLayers;
using detail::ConvWindow;
using testing::ConvData;
using testing::ConvInterpreter;
using testing::Numbers;

constexpr std::int64_t classes = 3;

ConvWindow square(std::int64_t side, std::int64_t stride, std::int64_t pad) {
  return {.r = side, .s = side, .stride = stride, .pad_h = pad, .pad_w = pad};
}

/// As AlexNet: groups, bias, response normalisation, maximum pooling, two dense layers.
ConvLayers net_without_norm() {
  ConvLayers net{"small", 7};
  auto x = net.relu(net.bias(net.convolution(ConvLayers::image(), 4, square(3, 1, 1))));
  x = net.max_pool(net.response_norm(x), square(3, 2, 0));
  x = net.relu(net.bias(net.convolution(x, 4, square(3, 2, 1), 2)));
  x = net.relu(net.bias(net.dense(x, 5)));
  net.loss(net.bias(net.dense(x, classes)));
  return net;
}

/// As ResNet and Inception: normalisation, a shortcut, branches of different windows, averages.
ConvLayers net_with_norm() {
  ConvLayers net{"small", 6};
  auto x = net.relu(net.batch_norm(net.convolution(ConvLayers::image(), 3, square(3, 1, 1))));
  const auto y = net.batch_norm(net.convolution(x, 3, square(1, 1, 0)));
  x = net.relu(net.add(y, x));
  const auto one = net.relu(net.batch_norm(net.convolution(x, 2, square(1, 1, 0))));
  const auto two = net.average_pool(x, square(3, 1, 1));
  x = net.concat({one, two});
  net.loss(net.bias(net.dense(net.global_average_pool(x), classes)));
  return net;
}

ConvData data_of(const ConvLayers& net, std::int64_t batch) {
  Rng rng{11};
  const auto draw = [&](std::size_t count, double scale) {
    Numbers numbers(count);
    for (double& number : numbers) number = scale * (2 * rng.uniform() - 1);
    return numbers;
  };
  ConvData data{.batch = batch};
  const auto images = static_cast<std::size_t>(batch);
  data.images = draw(images * static_cast<std::size_t>(net.layers().front().map.elements()), 1);
  for (std::size_t i = 0; i < images; ++i) data.labels.push_back(i % classes);
  for (std::size_t layer = 1; layer < net.layers().size(); ++layer) {
    const auto count = static_cast<std::size_t>(net.parameters(net.layers()[layer]));
    if (count > 0) data.parameters[layer] = draw(count, 0.7);
  }
  return data;
}

TaskGraph graph_of(const ConvLayers& net, std::int64_t batch, bool synchronized) {
  detail::ConvEmissionOptions options;
  options.separate_statistics = synchronized;
  options.transfers = false;
  return detail::emit_layers(net, batch, true, options);
}

TaskGraph split_of(const ConvLayers& net,
                   std::int64_t batch,
                   std::int64_t slices,
                   bool synchronized) {
  BatchSplit split{.batch = batch, .slices = slices};
  if (synchronized) split.merged = {"batch_norm_statistics", "batch_norm_sums"};
  return split_batch([&](std::int64_t own) { return graph_of(net, own, synchronized); }, split);
}

/// 32 in 6: 6, 6, 5, 5, 5, 5.
std::vector<std::size_t> sizes_of(std::int64_t batch, std::int64_t slices) {
  std::vector<std::size_t> sizes;
  for (std::int64_t i = 0; i < slices; ++i) {
    sizes.push_back(static_cast<std::size_t>(batch / slices + (i < batch % slices ? 1 : 0)));
  }
  return sizes;
}

ConvInterpreter computed(const ConvLayers& net,
                         const TaskGraph& graph,
                         const ConvData& data,
                         std::size_t first,
                         const std::vector<std::size_t>& sizes) {
  ConvInterpreter run{net, graph, data, first, sizes};
  run.run(graph.topological_order());
  return run;
}

/// Of the largest number.
double difference(const Numbers& a, const Numbers& b) {
  REQUIRE(a.size() == b.size());
  double most = 0;
  double scale = 0;
  for (std::size_t i = 0; i < a.size(); ++i) {
    most = std::max(most, std::abs(a[i] - b[i]));
    scale = std::max({scale, std::abs(a[i]), std::abs(b[i])});
  }
  return scale > 0 ? most / scale : most;
}

constexpr double rounding = 1e-11;

TEST_CASE("the definitions are right: gradients are those of finite differences") {
  for (const bool norm : {false, true}) {
    const ConvLayers net = norm ? net_with_norm() : net_without_norm();
    const TaskGraph graph = graph_of(net, 4, false);
    ConvData data = data_of(net, 4);
    const ConvInterpreter exact = computed(net, graph, data, 0, {4});
    for (auto& [layer, parameters] : data.parameters) {
      const Numbers gradient = exact.gradient(layer);
      for (const std::size_t i : {std::size_t{0}, parameters.size() / 2, parameters.size() - 1}) {
        CAPTURE(norm);
        CAPTURE(layer);
        CAPTURE(i);
        constexpr double step = 1e-5;
        const double kept = parameters[i];
        parameters[i] = kept + step;
        const double above = computed(net, graph, data, 0, {4}).loss();
        parameters[i] = kept - step;
        const double below = computed(net, graph, data, 0, {4}).loss();
        parameters[i] = kept;
        CHECK(gradient[i] ==
              doctest::Approx((above - below) / (2 * step)).epsilon(1e-5).scale(1e-3));
      }
    }
  }
}

TEST_CASE("without normalisation a split's gradients are those of the whole batch, 32 in 6") {
  const ConvLayers net = net_without_norm();
  const ConvData data = data_of(net, 32);
  const ConvInterpreter whole = computed(net, graph_of(net, 32, false), data, 0, {32});
  for (const std::int64_t slices : {2, 4, 6}) {
    CAPTURE(slices);
    const TaskGraph graph = split_of(net, 32, slices, false);
    const ConvInterpreter parts = computed(net, graph, data, 0, sizes_of(32, slices));
    CHECK(parts.loss() == doctest::Approx(whole.loss()).epsilon(rounding));
    for (const auto& [layer, parameters] : data.parameters) {
      CAPTURE(layer);
      CHECK(difference(parts.gradient(layer), whole.gradient(layer)) < rounding);
    }
  }
}

TEST_CASE("with normalisation per slice a split's gradients are the sums of its slices' own") {
  const ConvLayers net = net_with_norm();
  const ConvData data = data_of(net, 8);
  const std::vector<std::size_t> sizes = sizes_of(8, 3);  // 3, 3, 2
  const TaskGraph graph = split_of(net, 8, 3, false);
  const ConvInterpreter parts = computed(net, graph, data, 0, sizes);
  std::map<std::size_t, Numbers> sums;
  std::size_t first = 0;
  for (const std::size_t size : sizes) {
    const TaskGraph alone = graph_of(net, static_cast<std::int64_t>(size), false);
    const ConvInterpreter slice = computed(net, alone, data, first, {size});
    for (const auto& [layer, parameters] : data.parameters) {
      Numbers& sum = sums.try_emplace(layer, parameters.size(), 0.0).first->second;
      const Numbers own = slice.gradient(layer);
      for (std::size_t i = 0; i < own.size(); ++i) sum[i] += own[i];
    }
    first += size;
  }
  const ConvInterpreter whole = computed(net, graph_of(net, 8, false), data, 0, {8});
  double from_whole = 0;
  for (const auto& [layer, sum] : sums) {
    CAPTURE(layer);
    CHECK(difference(parts.gradient(layer), sum) < rounding);
    from_whole = std::max(from_whole, difference(parts.gradient(layer), whole.gradient(layer)));
  }
  CHECK(from_whole > 0.01);  // statistics of a slice are not those of the batch
}

TEST_CASE("with synchronized normalisation a split's gradients are those of the whole batch") {
  const ConvLayers net = net_with_norm();
  const ConvData data = data_of(net, 8);
  const ConvInterpreter whole = computed(net, graph_of(net, 8, false), data, 0, {8});
  for (const std::int64_t slices : {1, 2, 3}) {
    CAPTURE(slices);
    const TaskGraph graph = slices == 1 ? graph_of(net, 8, true) : split_of(net, 8, slices, true);
    const ConvInterpreter parts = computed(net, graph, data, 0, sizes_of(8, slices));
    CHECK(parts.loss() == doctest::Approx(whole.loss()).epsilon(rounding));
    for (const auto& [layer, parameters] : data.parameters) {
      CAPTURE(layer);
      CHECK(difference(parts.gradient(layer), whole.gradient(layer)) < rounding);
    }
  }
}

TEST_CASE("what a split computes does not depend on the order of its tasks, to rounding") {
  const ConvLayers net = net_with_norm();
  const ConvData data = data_of(net, 5);
  const TaskGraph graph = split_of(net, 5, 2, true);
  const ConvInterpreter usual = computed(net, graph, data, 0, sizes_of(5, 2));
  // The other way round among all that may run: highest number first.
  std::vector<std::size_t> missing(graph.task_count());
  std::vector<TaskId> ready;
  for (const TaskId task : graph.tasks()) {
    missing[task.value()] = graph.predecessors(task).size();
    if (missing[task.value()] == 0) ready.push_back(task);
  }
  std::vector<TaskId> order;
  while (!ready.empty()) {
    const auto last = std::max_element(ready.begin(), ready.end());
    order.push_back(*last);
    ready.erase(last);
    for (const TaskId next : graph.successors(order.back())) {
      if (--missing[next.value()] == 0) ready.push_back(next);
    }
  }
  ConvInterpreter other{net, graph, data, 0, sizes_of(5, 2)};
  other.run(order);
  for (const auto& [layer, parameters] : data.parameters) {
    CAPTURE(layer);
    CHECK(difference(other.gradient(layer), usual.gradient(layer)) < rounding);
  }
}

}  // namespace
}  // namespace schedlab
