// SPDX-License-Identifier: Apache-2.0
// Recomputation, and memory taken tensor by tensor, on an OpenCL device of this computer.
#include "policies/registry.hpp"
#include "real_exec/opencl/opencl_executor.hpp"
#include "real_exec/opencl/opencl_work.hpp"
#include "real_exec/recurrent/recurrent_differences.hpp"
#include "real_exec/recurrent/recurrent_reference.hpp"
#include "sim/base/error.hpp"
#include "tests/real_exec/opencl/opencl_device.hpp"
#include "tests/real_exec/recurrent/recompute_scenes.hpp"
#include "tests/support/scenes.hpp"

#include <doctest/doctest.h>

#include <cmath>
#include <string>

using namespace schedlab;
using schedlab::testing::opencl_missing;
using schedlab::testing::Scene;

namespace {

constexpr std::uint64_t seed = 11;

struct ByTensor {
  ByTensor(OpenClExecutor& on, const RecurrentSpec& spec)
      : executor(on),
        scene(recurrent(spec), Duration{1'000'000}),
        work(executor, spec, scene.graph, seed, TensorAllocation::by_tensor) {}

  RecurrentResults<float> run(const char* policy) {
    Execution execution;
    executor.run(scene.graph, make_policy(policy)->plan(scene.problem()), work, execution);
    return work.results();
  }

  OpenClExecutor& executor;
  Scene scene;
  OpenClRecurrentWork work;
};

}  // namespace

TEST_CASE("recomputed gradients are right, and the same bits however tensors share memory") {
  if (opencl_missing()) return;
  OpenClExecutor executor;
  for (const RecurrentCell cell : {RecurrentCell::lstm, RecurrentCell::gru}) {
    RecurrentSpec spec = test::odd_network(cell, Bidirectional::none);
    spec.steps = 6;
    spec.tensors = true;
    ByTensor kept(executor, spec);
    const RecurrentResults<float> expected = kept.run("single_stream");
    const RecurrentResults<double> right = recurrent_reference(spec, to_double(kept.work.inputs()));
    for_each_result(
        expected, right, [&](const std::string& name, const auto& found, const auto& value) {
          if (name == "y") return;
          CAPTURE(name);
          CHECK(relative_difference(found, value) <= 1e-5);
        });
    for (const Recompute recompute : test::recompute_choices) {
      ByTensor run(executor, test::recomputed(spec, recompute));
      for (const char* policy : {"single_stream", "single_stream", "diagonal", "heft", "heft"}) {
        CAPTURE(std::string{to_string(recompute)});
        CAPTURE(policy);
        CHECK(test::differing(run.run(policy), expected).empty());
      }
    }
  }
}

TEST_CASE("the device is asked for what the simulation holds, within 5 percent") {
  if (opencl_missing()) return;
  OpenClExecutor executor;
  for (const Recompute recompute : {Recompute::keep_backward, Recompute::data_drop}) {
    RecurrentSpec spec =
        test::recomputed(test::odd_network(RecurrentCell::lstm, Bidirectional::none), recompute);
    spec.layers = 3;
    spec.steps = 40;
    spec.batch = 4;
    spec.hidden = 16;
    spec.input = 16;
    ByTensor run(executor, spec);
    const Problem problem = run.scene.problem();
    const double predicted =
        test::simulated_peak(problem, make_policy("single_stream")->plan(problem));
    run.run("single_stream");
    run.run("single_stream");  // the first run does not know what is to come
    REQUIRE(run.work.memory().has_value());
    CHECK(run.work.memory()->by_tensor);
    const auto measured = static_cast<double>(run.work.memory()->tensors_peak.count());
    CHECK(std::abs(measured / predicted - 1) < 0.05);
  }
}
