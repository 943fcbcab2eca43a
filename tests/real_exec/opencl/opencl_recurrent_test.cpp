// SPDX-License-Identifier: Apache-2.0
// What OpenCL devices compute against the reference in double precision.
#include "policies/registry.hpp"
#include "real_exec/opencl/opencl_executor.hpp"
#include "real_exec/opencl/opencl_work.hpp"
#include "real_exec/recurrent/recurrent_differences.hpp"
#include "real_exec/recurrent/recurrent_reference.hpp"
#include "sim/base/error.hpp"
#include "sim/plan/plan_check.hpp"
#include "tests/real_exec/opencl/opencl_device.hpp"
#include "tests/real_exec/recurrent/recurrent_scenes.hpp"
#include "tests/support/scenes.hpp"
#include "workloads/models/recurrent/recurrent.hpp"

#include <doctest/doctest.h>

#include <map>
#include <string>
#include <vector>

using namespace schedlab;
using schedlab::testing::opencl_missing;
using schedlab::testing::Scene;

namespace {

constexpr std::uint64_t seed = 7;

void check_results(const RecurrentSpec& spec, const OpenClRecurrentWork& work) {
  constexpr double limit = 1e-5;  // as on the CPU: 24 bits, sums of up to a few hundred
  const RecurrentResults<double> expected = recurrent_reference(spec, to_double(work.inputs()));
  for_each_result(
      work.results(), expected, [&](const std::string& name, const auto& found, const auto& right) {
        if (spec.pass == RecurrentPass::forward && found.empty()) return;
        CAPTURE(name);
        REQUIRE(found.size() == right.size());
        // Not "greater": a NaN must fail.
        CHECK(relative_difference(found, right) <= limit);
      });
}

void run_and_check(OpenClExecutor& executor, const RecurrentSpec& spec, const char* policy) {
  const Scene scene(recurrent(spec), Duration{1});
  OpenClRecurrentWork work(executor, spec, scene.graph, seed);
  Execution run;
  executor.run(scene.graph, make_policy(policy)->plan(scene.problem()), work, run);
  check_results(spec, work);
}

}  // namespace

TEST_CASE("every cell, odd and even sizes: outputs, loss, gradients and updates are right") {
  if (opencl_missing()) return;
  OpenClExecutor executor;
  for (const RecurrentCell cell :
       {RecurrentCell::lstm, RecurrentCell::gru, RecurrentCell::gru_reset_before}) {
    for (const Bidirectional both :
         {Bidirectional::none, Bidirectional::first, Bidirectional::all}) {
      for (const std::int64_t hidden : {17, 20}) {
        RecurrentSpec spec = test::odd_network(cell, both);
        spec.hidden = hidden;
        spec.optimizer = hidden == 17 ? Optimizer::sgd : Optimizer::adam;
        CAPTURE(static_cast<int>(cell));
        CAPTURE(static_cast<int>(both));
        CAPTURE(hidden);
        run_and_check(executor, spec, "diagonal");
      }
    }
  }
}

TEST_CASE("an LSTM with projection is right, forward, backward and in training") {
  if (opencl_missing()) return;
  OpenClExecutor executor;
  for (const Bidirectional both : {Bidirectional::none, Bidirectional::first}) {
    for (const Granularity granularity : {Granularity::fine, Granularity::coarse}) {
      for (const RecurrentPass pass :
           {RecurrentPass::forward, RecurrentPass::backward, RecurrentPass::training}) {
        RecurrentSpec spec = test::projected_network(both);
        spec.granularity = granularity;
        spec.pass = pass;
        CAPTURE(static_cast<int>(both));
        CAPTURE(static_cast<int>(granularity));
        CAPTURE(static_cast<int>(pass));
        run_and_check(executor, spec, "heft");
      }
    }
  }
}

TEST_CASE("every granularity and accumulation, forward, backward and training") {
  if (opencl_missing()) return;
  OpenClExecutor executor;
  for (const RecurrentCell cell : {RecurrentCell::lstm, RecurrentCell::gru_reset_before}) {
    for (const Granularity granularity : {Granularity::coarse,
                                          Granularity::fine,
                                          Granularity::matmul,
                                          Granularity::data_and_weight,
                                          Granularity::kernel_and_weight}) {
      for (const Accumulation accumulation :
           {Accumulation::ordered, Accumulation::partial, Accumulation::batched}) {
        for (const RecurrentPass pass : {RecurrentPass::backward, RecurrentPass::training}) {
          RecurrentSpec spec = test::odd_network(cell, Bidirectional::first);
          spec.granularity = granularity;
          spec.accumulation = accumulation;
          spec.accumulation_steps = 2;
          spec.pass = pass;
          CAPTURE(static_cast<int>(granularity));
          CAPTURE(static_cast<int>(accumulation));
          CAPTURE(static_cast<int>(pass));
          run_and_check(executor, spec, "heft");
        }
      }
    }
  }
  RecurrentSpec forward = test::odd_network(RecurrentCell::gru);
  forward.pass = RecurrentPass::forward;
  run_and_check(executor, forward, "diagonal");
}

TEST_CASE("products over several steps, in slices and within few units are right") {
  if (opencl_missing()) return;
  OpenClExecutor executor;
  for (const RecurrentCell cell :
       {RecurrentCell::lstm, RecurrentCell::gru, RecurrentCell::gru_reset_before}) {
    for (const Granularity granularity : {Granularity::fine, Granularity::coarse}) {
      RecurrentSpec whole = test::odd_network(cell, Bidirectional::first);
      whole.granularity = granularity;
      for (const RecurrentSpec& spec : test::cut_otherwise(whole)) {
        CAPTURE(static_cast<int>(cell));
        CAPTURE(static_cast<int>(granularity));
        CAPTURE(spec.hidden_2_steps);
        CAPTURE(spec.hidden_1_slices);
        CAPTURE(spec.k_major);
        run_and_check(executor, spec, "heft");
      }
    }
  }
}

TEST_CASE("every policy gives the same bits, run after run") {
  if (opencl_missing()) return;
  OpenClExecutor executor;
  std::map<Granularity, RecurrentResults<float>> expected;
  for (const char* name : {"single_stream",
                           "diagonal",
                           "cann_like",
                           "critical_first",
                           "critical_first_matmul",
                           "heft",
                           "bottom_level",
                           "random"}) {
    CAPTURE(name);
    const auto policy = make_policy(name);
    RecurrentSpec spec = test::odd_network(RecurrentCell::lstm);
    spec.layers = 3;
    spec.granularity = policy->granularity();
    const Scene scene(recurrent(spec), Rng{seed});
    OpenClRecurrentWork work(executor, spec, scene.graph, seed);
    for (int i = 0; i < 2; ++i) {
      Execution run;
      if (const auto online = policy->online(scene.problem())) {
        executor.run(scene.problem(), *online, work, run);
      } else {
        executor.run(scene.graph, policy->plan(scene.problem()), work, run);
      }
      CHECK(check(scene.graph, scene.platform, run.plan).empty());
      const auto [first, is_new] = expected.try_emplace(spec.granularity, work.results());
      CHECK(work.results() == first->second);
    }
  }
}

TEST_CASE("what the kernels do not do is refused with what to do instead") {
  if (opencl_missing()) return;
  const OpenClExecutor executor;
  RecurrentSpec spec = test::odd_network(RecurrentCell::lstm);
  spec.cell = RecurrentCell::gru_reset_before;
  const TaskGraph graph = recurrent(spec);
  CHECK_THROWS_WITH_AS(
      OpenClRecurrentWork(executor, spec, graph, seed, TensorAllocation::by_tensor),
      doctest::Contains("\"reset\": \"after\""),
      InfeasibleError);
  spec.type = DataType::bf16;
  CHECK_THROWS_WITH_AS(OpenClRecurrentWork(executor, spec, recurrent(spec), seed),
                       doctest::Contains("compute in fp32; the workload has bf16"),
                       InfeasibleError);
}
