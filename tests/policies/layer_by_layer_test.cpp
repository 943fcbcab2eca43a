// SPDX-License-Identifier: Apache-2.0

#include "tests/support/plan_by.hpp"
#include "tests/support/scenes.hpp"
#include "workloads/models/recurrent/recurrent.hpp"

#include <doctest/doctest.h>

#include <string>
#include <vector>

using namespace schedlab;

namespace {

std::vector<std::string> launched(const RecurrentSpec& spec) {
  const testing::Scene scene{recurrent(spec)};
  const Plan plan = testing::plan_by("layer_by_layer", scene.problem());
  std::vector<std::string> names;
  for (const HostCall& call : plan.hosts[HostId{0}].calls) {
    if (call.kind() == HostCallKind::launch) names.push_back(scene.graph.name(call.task()));
  }
  return names;
}

}  // namespace

TEST_CASE(
    "layer_by_layer: a layer's chain over all steps, then each of its gradients, then the next "
    "layer") {
  RecurrentSpec spec;
  spec.layers = 2;
  spec.steps = 2;
  spec.batch = 2;
  spec.hidden = 8;
  spec.pass = RecurrentPass::backward;
  CHECK(launched(spec) == std::vector<std::string>{
                              "cell(1,1)",     "hidden_1(1,1)", "cell(1,0)",     "hidden_1(1,0)",
                              "hidden_2(1,1)", "hidden_2(1,0)", "weight_1(1,1)", "weight_1(1,0)",
                              "weight_2(1,1)", "weight_2(1,0)", "cell(0,1)",     "hidden_1(0,1)",
                              "cell(0,0)",     "hidden_1(0,0)", "hidden_2(0,1)", "hidden_2(0,0)",
                              "weight_1(0,1)", "weight_1(0,0)", "weight_2(0,1)", "weight_2(0,0)"});
}

TEST_CASE("layer_by_layer: forward, the products of the inputs go before the recurrent chain") {
  RecurrentSpec spec;
  spec.layers = 1;
  spec.steps = 2;
  spec.batch = 2;
  spec.hidden = 8;
  spec.pass = RecurrentPass::forward;
  CHECK(launched(spec) == std::vector<std::string>{"input_gemm(0,0)",
                                                   "input_gemm(0,1)",
                                                   "recurrent_gemm(0,0)",
                                                   "cell_forward(0,0)",
                                                   "recurrent_gemm(0,1)",
                                                   "cell_forward(0,1)"});
}
