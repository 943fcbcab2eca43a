// SPDX-License-Identifier: Apache-2.0
#include "hw_models/acceleration_engine.hpp"

#include "hw_models/engine_fit.hpp"
#include "hw_models/machine_spec.hpp"
#include "hw_models/registry.hpp"
#include "sim/base/error.hpp"
#include "workloads/models/convolution/conv_nets.hpp"

#include <doctest/doctest.h>

namespace schedlab {
namespace {

constexpr auto split_class = static_cast<std::size_t>(EngineClass::data_split);
constexpr auto relu_class = static_cast<std::size_t>(EngineClass::activation);

Operation pointwise(std::string name, std::int64_t bytes) {
  Kernel kernel{.kind = TaskKind::pointwise};
  kernel.flops = Flops{static_cast<double>(bytes) / 4};
  kernel.bytes_read = Bytes{bytes};
  kernel.bytes_written = Bytes{bytes};
  return {.name = std::move(name), .kind = TaskKind::pointwise, .kernels = {kernel}};
}

TEST_CASE("every operator of a network of convolutions has the class of its library") {
  ConvNetSpec spec;
  spec.network = ConvNetwork::resnet50;
  spec.batch = 2;
  spec.image = 67;
  const TaskGraph graph = conv_net(spec);
  ByEngineClass<int> count{};
  for (const TaskId task : graph.tasks()) {
    ++count[static_cast<std::size_t>(engine_class(graph.operation(task)))];
  }
  // 53 convolutions, the first without a gradient of its data; a dense layer with three products;
  // 49 ReLUs both ways; one maximum and one average pooling both ways; 53 + 53 + 2 updates.
  CHECK(count == ByEngineClass<int>{53, 53, 52, 3, 98, 4, 108, count[split_class]});
  CHECK(count[split_class] > 0);
  for (std::size_t i = 0; i < engine_class_count; ++i) {
    CHECK(enum_from<EngineClass>(to_string(static_cast<EngineClass>(i))) ==
          static_cast<EngineClass>(i));
  }
}

TEST_CASE("a product moves its operands, of matrix products both inputs twice more") {
  const Operation conv{.name = "conv_forward",
                       .kind = TaskKind::convolution,
                       .kernels = {{.kind = TaskKind::convolution,
                                    .m = 2,
                                    .n = 3,
                                    .k = 5,
                                    .flops = Flops{2.0 * 2 * 3 * 5 * 4}}}};  // four groups
  CHECK(engine_work(conv).moved_bytes == 4 * (2 * 3 + 2 * 5 + 3 * 5) * 4.0);
  const Operation dense{.name = "x",
                        .kind = TaskKind::gemm,
                        .kernels = {gemm_kernel(2, 3, 5, DataType::fp32, false)}};
  CHECK(engine_work(dense).moved_bytes == (2 * 3 + 3 * (2 * 5 + 3 * 5)) * 4.0);
}

TEST_CASE("what does not suit the array runs on the management core") {
  const AccelerationEngine engine{{}};
  CHECK(engine.processor(pointwise("relu", 4096)) == Processor::array);
  CHECK(engine.processor(pointwise("relu", 4092)) == Processor::management_core);
  Operation bytes = pointwise("relu", 1 << 20);
  bytes.kernels.front().type = DataType::int8;
  CHECK(engine.processor(bytes) == Processor::management_core);
  CHECK(AccelerationEngine{{.costs = {}, .array = false}}.processor(pointwise("relu", 1 << 20)) ==
        Processor::management_core);
}

TEST_CASE("known costs count, on one core group of six; unknown ones follow the machine") {
  const Device device = load_machine("sw26010_pro").platform.devices[DeviceId{0}];
  AccelerationEngine::Options options;
  options.costs.cost(Processor::array, EngineClass::data_split) = {
      .operator_seconds = 1e-3, .seconds_per_byte = 1e-9, .seconds_per_flop = 0};
  const AccelerationEngine engine{options};
  // 1 ms + 2 MB at 1 GB/s
  const Estimate known = engine.estimate(pointwise("add", 1'000'000), device);
  CHECK(to_seconds(known.duration) == doctest::Approx(3e-3));
  CHECK(known.share == doctest::Approx(1.0 / 6));
  // 10 us floor + 2 MB at 0.85 * 51.2 GB/s; its arithmetic is shorter
  const Estimate unknown = engine.estimate(pointwise("relu", 1'000'000), device);
  CHECK(to_seconds(unknown.duration) == doctest::Approx(10e-6 + 2e6 / 43.52e9));
  // 500 FLOP at 33 GFLOP/s and 4000 bytes at 8 GB/s
  const Estimate small = engine.estimate(pointwise("relu", 2000), device);
  CHECK(to_seconds(small.duration) == doctest::Approx(500 / 33e9 + 4000 / 8e9));

  Device together = device;
  together.rates.units_per_kernel = 6;
  CHECK(to_seconds(engine.estimate(pointwise("add", 1'000'000), together).duration) ==
        doctest::Approx(0.5e-3));
  const auto by_name = make_cost_model(
      "acceleration_engine", {{"data_split_gb_per_s", 1.0}, {"data_split_operator_us", 1000.0}});
  CHECK(by_name->estimate(pointwise("add", 1'000'000), device) == known);
}

/// Two networks of which everything is known: costs a per operator and b per byte.
std::vector<EngineSample> planted() {
  std::vector<EngineSample> samples(2);
  for (std::size_t i = 0; i < 2; ++i) {
    const double scale = i == 0 ? 1 : 3;
    EngineSample& sample = samples[i];
    sample.name = i == 0 ? "small" : "large";
    sample.timed_work[relu_class] = {.operators = 2, .moved_bytes = 100 * scale, .flops = 1};
    sample.all_work[relu_class] = {.operators = 4, .moved_bytes = 200 * scale, .flops = 2};
    sample.timed_seconds[relu_class] = 0.5 * 100 * scale;
    sample.all_work[split_class] = {.operators = 10, .moved_bytes = 30 * scale, .flops = 0};
    // ReLUs that were timed and those that were not, 7 s an operator, 2 s a byte
    sample.step_seconds = 0.5 * 200 * scale + 7 * 10 + 2 * 30 * scale;
  }
  return samples;
}

TEST_CASE("the fit finds the costs that made the times, also of what was not timed") {
  const std::vector<EngineSample> samples = planted();
  const auto costs = fit_engine(Processor::array, samples);
  CHECK(costs[relu_class].seconds_per_byte == doctest::Approx(0.5));
  CHECK(costs[split_class].operator_seconds == doctest::Approx(7));
  CHECK(costs[split_class].seconds_per_byte == doctest::Approx(2));
  for (const EngineSample& sample : samples) {
    CHECK(step_seconds(costs, sample) == doctest::Approx(sample.step_seconds));
  }
}

TEST_CASE("scaled costs give a network's own times whatever the share of each operator") {
  const std::vector<EngineSample> samples = planted();
  auto costs = fit_engine(Processor::array, samples);
  costs[relu_class].seconds_per_byte *= 10;
  for (const double share : {0.0, 0.5, 1.0}) {
    const auto own = scaled_to(costs, samples[1], share);
    CHECK(own.of[relu_class].seconds_per_byte == doctest::Approx(0.5));
    CHECK(step_seconds(own.of, samples[1]) == doctest::Approx(samples[1].step_seconds));
    // 70 + 180 s beside the ReLUs
    CHECK(own.of[split_class].operator_seconds == doctest::Approx(share * 250 / 10));
  }
}

TEST_CASE("times on both processors tell the framework's time from that of the data") {
  // 4 + 10 operators at 3 s each, whatever runs their kernels; 30 bytes of the rest at 2 s on the
  // array, eight times as long on the management core; ReLUs at 0.5 and 5 s a byte.
  EngineSample array = planted()[0];
  array.step_seconds = 0.5 * 200 + 3 * 14 + 2 * 30;
  EngineSample management = array;
  management.timed_seconds[relu_class] = 5 * 100;
  management.step_seconds = 5 * 200 + 3 * 14 + 16 * 30;
  ByEngineClass<ClassCost> on_array{};
  on_array[relu_class].seconds_per_byte = 1;  // scaled to the network's own 0.5
  ByEngineClass<ClassCost> on_management{};
  on_management[relu_class].seconds_per_byte = 5;
  const BothCosts costs{.array = on_array, .management = on_management};
  const EngineSamples samples{.array = array, .management = management};
  // (42 + 480) / (42 + 60)
  const double ratio = rest_ratio(costs, samples);
  CHECK(ratio == doctest::Approx(522.0 / 102));
  const OwnCosts own = scaled_to_both(costs, samples, 8);
  CHECK(own.framework_seconds == doctest::Approx(3));
  CHECK(own.of[split_class].seconds_per_byte == doctest::Approx(2));
  CHECK(own.of[relu_class].seconds_per_byte == doctest::Approx(0.5));
  CHECK_FALSE(own.image_weight_gradient.known());
  // If data is no faster than the rests are apart there is nothing left for the framework.
  CHECK(scaled_to_both(costs, samples, ratio).framework_seconds == doctest::Approx(0));
  CHECK(scaled_to_both(costs, samples, 2).framework_seconds == 0);
}

TEST_CASE("the convolution on the images takes what is no weight gradient's usual time") {
  constexpr auto weight = static_cast<std::size_t>(EngineClass::conv_weight_gradient);
  constexpr auto data = static_cast<std::size_t>(EngineClass::conv_data_gradient);
  EngineSample sample;
  sample.timed_work[weight] = sample.all_work[weight] = {.operators = 3, .moved_bytes = 100};
  sample.image_weight_gradients = {.operators = 1, .moved_bytes = 20};
  sample.timed_work[data] = sample.all_work[data] = {.operators = 2, .moved_bytes = 80};
  sample.step_seconds = 1000;
  ByEngineClass<ClassCost> costs{};
  costs[weight].seconds_per_byte = costs[data].seconds_per_byte = 1;
  // Data gradients take twice what the costs say, weight gradients five times: 160 s for the two
  // convolutions that have both gradients, 340 s for the third.
  sample.timed_seconds[data] = 160;
  sample.timed_seconds[weight] = 500;
  const OwnCosts own = scaled_to(costs, sample, 0);
  CHECK(own.of[weight].seconds_per_byte == doctest::Approx(2));
  CHECK(own.image_weight_gradient.seconds_per_byte == doctest::Approx(340.0 / 20));
  // Weight gradients that are faster than data gradients leave nothing over.
  sample.timed_seconds[weight] = 150;
  const OwnCosts even = scaled_to(costs, sample, 0);
  CHECK(even.of[weight].seconds_per_byte == doctest::Approx(1.5));
  CHECK_FALSE(even.image_weight_gradient.known());

  ConvNetSpec spec;
  spec.network = ConvNetwork::alexnet;
  spec.batch = 1;
  const TaskGraph graph = conv_net(spec);
  const std::vector<TaskId> found = image_weight_gradients(graph);
  REQUIRE(found.size() == 1);
  CHECK(graph.name(found.front()) == "conv_weight_gradient(1)");
}

TEST_CASE("the framework's time passes beside every operator's kernel") {
  const Device device = load_machine("sw26010_pro").platform.devices[DeviceId{0}];
  const Operation operation = pointwise("relu", 1'000'000);
  const auto kernel_only = make_cost_model("acceleration_engine");
  const auto with_framework = make_cost_model("acceleration_engine", {{"framework_us", 500.0}});
  const Estimate alone = kernel_only->estimate(operation, device);
  const Estimate both = with_framework->estimate(operation, device);
  CHECK(both.duration == alone.duration + from_us(500));
  // The same bytes in a longer time.
  CHECK(both.bandwidth.count() * to_seconds(both.duration) ==
        doctest::Approx(alone.bandwidth.count() * to_seconds(alone.duration)));
}

TEST_CASE("times that cannot be are refused by name") {
  std::vector<EngineSample> samples = planted();
  samples[1].step_seconds = 1;  // its timed ReLUs alone take 150 s
  CHECK_THROWS_WITH_AS(
      (void)fit_engine(Processor::array, samples), doctest::Contains("large"), InfeasibleError);
  samples = planted();
  samples.pop_back();  // two terms of data_split from one step
  CHECK_THROWS_WITH_AS((void)fit_engine(Processor::array, samples),
                       doctest::Contains("data_split"),
                       InfeasibleError);
}

}  // namespace
}  // namespace schedlab
