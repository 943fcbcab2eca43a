// SPDX-License-Identifier: Apache-2.0
// swFLOWpro ("A Dataflow Computing System for New Generation of Domestic Heterogeneous Many-Core
// Processors") trained networks at batch 32 on the six core groups of the SW26010-Pro. What agrees
// is held here, what is missed is printed; docs/core_groups.md says why.
#include "hw_models/local_memory.hpp"
#include "hw_models/machine_spec.hpp"
#include "hw_models/registry.hpp"
#include "policies/registry.hpp"
#include "sim/engine/simulator.hpp"
#include "sim/graph/convolution.hpp"
#include "sim/plan/plan_check.hpp"
#include "workloads/models/convolution/conv_nets.hpp"

#include <doctest/doctest.h>
#include <fmt/format.h>

#include <algorithm>
#include <string_view>

namespace schedlab {
namespace {

Duration step_time(ConvNetwork network,
                   std::int64_t split,
                   const char* policy,
                   std::string_view cost_model) {
  const Platform platform = load_machine("sw26010_pro").platform;
  ConvNetSpec spec;
  spec.network = network;
  spec.split = split;
  spec.transfers = false;  // both kinds of cores share the memory
  const TaskGraph graph = conv_net(spec);
  const CostTable costs{graph, platform, *make_cost_model(cost_model)};
  const Problem problem{graph, platform, costs};
  const Plan plan = make_policy(policy)->plan(problem);
  CHECK(check(graph, platform, plan).empty());
  return simulate(problem, plan).makespan();
}

struct SpeedUps {
  double whole = 0;  ///< six groups, no split
  double split = 0;  ///< six groups, the best of 2, 4, 6 slices
};

SpeedUps simulated(ConvNetwork network, std::string_view cost_model = default_cost_model) {
  const double one_group = to_us(step_time(network, 1, "single_stream", cost_model));
  const auto speed_up = [&](std::int64_t slices) {
    return one_group / to_us(step_time(network, slices, "successor_first", cost_model));
  };
  SpeedUps result{.whole = speed_up(1)};
  for (const std::int64_t slices : {2, 4, 6}) {
    result.split = std::max(result.split, speed_up(slices));
  }
  MESSAGE(fmt::format("{}, {}: six core groups {:.2f} times as fast as one, with a split {:.2f}",
                      to_string(network),
                      cost_model,
                      result.whole,
                      result.split));
  return result;
}

TEST_CASE(
    "six core groups gain little without a split of the batch and much with it, as published") {
  const SpeedUps alexnet = simulated(ConvNetwork::alexnet);
  const SpeedUps resnet50 = simulated(ConvNetwork::resnet50);
  const SpeedUps inception_v4 = simulated(ConvNetwork::inception_v4);
  // Published: Inception-v4 gains most without a split, being the one with branches.
  CHECK(inception_v4.whole > alexnet.whole);
  CHECK(inception_v4.whole > resnet50.whole);
  // Published: ResNet-50 4.96 with six slices; AlexNet gains least.
  CHECK(resnet50.split == doctest::Approx(4.96).epsilon(0.05));
  CHECK(alexnet.split < resnet50.split);
  CHECK(alexnet.split < inception_v4.split);
  MESSAGE(
      fmt::format("missed: without a split AlexNet {:.2f} (published 1.19), Inception-v4 {:.2f} "
                  "(1.49); with it AlexNet {:.2f} (1.78), Inception-v4 {:.2f} (at most 2.88)",
                  alexnet.whole,
                  inception_v4.whole,
                  alexnet.split,
                  inception_v4.split));
}

TEST_CASE("kernels from local memories keep ResNet-50's gain and halve the miss of AlexNet's") {
  const SpeedUps alexnet = simulated(ConvNetwork::alexnet, "local_memory");
  const SpeedUps resnet50 = simulated(ConvNetwork::resnet50, "local_memory");
  CHECK(resnet50.split == doctest::Approx(4.96).epsilon(0.05));  // published
  const double by_tiles = simulated(ConvNetwork::alexnet).split;
  CHECK(alexnet.split - 1.78 < 0.5 * (by_tiles - 1.78));
  // What slices of AlexNet's batch reach: its third convolution, and its first dense layer.
  const Device device = load_machine("sw26010_pro").platform.devices[DeviceId{0}];
  for (const std::int64_t images : {32, 16, 8, 5}) {
    for (const Kernel& kernel : {convolution_kernel({.n = images,
                                .c = 256,
                                .h = 13,
                                .w = 13,
                                .k = 384,
                                .r = 3,
                                .s = 3,
                                .pad_h = 1,
                                .pad_w = 1},
                                                    ConvPass::forward,
                                                    DataType::fp32),
                                 gemm_kernel(images, 4096, 9216, DataType::fp32, false)}) {
      const LocalProduct product = local_product(kernel, device, true);
      MESSAGE(fmt::format("{} of {} images: {:.0f} GFLOP/s, {:.0f} MB, {:.2f} ms",
                          to_string(kernel.kind),
                          images,
                          kernel.flops.count() / product.seconds() / 1e9,
                          product.moved_bytes / 1e6,
                          product.seconds() * 1e3));
    }
  }
}

}  // namespace
}  // namespace schedlab
