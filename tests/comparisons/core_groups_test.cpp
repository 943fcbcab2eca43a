// SPDX-License-Identifier: Apache-2.0
// swFLOWpro ("A Dataflow Computing System for New Generation of Domestic Heterogeneous Many-Core
// Processors") trained networks at batch 32 on the six core groups of the SW26010-Pro. What agrees
// is held here, what is missed is printed; docs/core_groups.md says why.
#include "hw_models/machine_spec.hpp"
#include "hw_models/registry.hpp"
#include "policies/registry.hpp"
#include "sim/engine/simulator.hpp"
#include "sim/plan/plan_check.hpp"
#include "workloads/models/convolution/conv_nets.hpp"

#include <doctest/doctest.h>
#include <fmt/format.h>

#include <algorithm>

namespace schedlab {
namespace {

Duration step_time(ConvNetwork network, std::int64_t split, const char* policy) {
  const Platform platform = load_machine("sw26010_pro").platform;
  ConvNetSpec spec;
  spec.network = network;
  spec.split = split;
  spec.transfers = false;  // both kinds of cores share the memory
  const TaskGraph graph = conv_net(spec);
  const CostTable costs{graph, platform, *make_cost_model(default_cost_model)};
  const Problem problem{graph, platform, costs};
  const Plan plan = make_policy(policy)->plan(problem);
  CHECK(check(graph, platform, plan).empty());
  return simulate(problem, plan).makespan();
}

struct SpeedUps {
  double whole = 0;  ///< six groups, no split
  double split = 0;  ///< six groups, the best of 2, 4, 6 slices
};

SpeedUps simulated(ConvNetwork network) {
  const double one_group = to_us(step_time(network, 1, "single_stream"));
  SpeedUps result{.whole = one_group / to_us(step_time(network, 1, "successor_first"))};
  for (const std::int64_t slices : {2, 4, 6}) {
    result.split =
        std::max(result.split, one_group / to_us(step_time(network, slices, "successor_first")));
  }
  MESSAGE(fmt::format("{}: six core groups {:.2f} times as fast as one, with a split {:.2f}",
                      to_string(network),
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

}  // namespace
}  // namespace schedlab
