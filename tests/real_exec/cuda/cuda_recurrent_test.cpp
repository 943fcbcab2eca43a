// SPDX-License-Identifier: Apache-2.0
// What CUDA devices compute against the reference in double precision. Built twice: for the device
// of this computer, and for an emulated one (emulated_cuda/).
#include "policies/registry.hpp"
#include "real_exec/cuda/cuda_executor.hpp"
#include "real_exec/recurrent/recurrent_differences.hpp"
#include "real_exec/recurrent/recurrent_reference.hpp"
#include "sim/plan/graph_capture.hpp"
#include "sim/plan/plan_check.hpp"
#include "tests/real_exec/cuda/cuda_device.hpp"
#include "tests/real_exec/recurrent/recurrent_scenes.hpp"
#include "tests/support/scenes.hpp"
#include "workloads/models/recurrent/recurrent.hpp"

#include <doctest/doctest.h>

#include <map>
#include <string>
#include <vector>

using namespace schedlab;
using schedlab::testing::device_missing;
using schedlab::testing::Scene;

namespace {

constexpr std::uint64_t seed = 7;

/// Largest relative difference of a result; rounding of the factors, and how often it adds up.
double tolerance(CudaPrecision precision) {
  switch (precision) {
    case CudaPrecision::fp32:
      return 1e-5;  // as on the CPU: 24 bits, sums of up to a few hundred
    case CudaPrecision::tf32:
      return 5e-3;  // 11 bits: 5e-4 a product, over a handful of steps and layers
    case CudaPrecision::bf16:
      return 4e-2;  // 8 bits: 4e-3 a product
  }
  return 0;
}

void check_results(const RecurrentSpec& spec, const CudaRecurrentWork& work, double limit) {
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

Plan plan_for(const Scene& scene, const char* policy) {
  return make_policy(policy)->plan(scene.problem());
}

struct Case {
  RecurrentCell cell = RecurrentCell::lstm;
  Bidirectional both = Bidirectional::none;
  std::int64_t projection = 0;

  [[nodiscard]] RecurrentSpec network() const {
    RecurrentSpec spec = test::odd_network(cell, both);
    spec.projection = projection;
    return spec;
  }
};
const std::vector<Case> all_cells{{RecurrentCell::lstm, Bidirectional::none},
                                  {RecurrentCell::lstm, Bidirectional::all},
                                  {RecurrentCell::lstm, Bidirectional::none, 7},
                                  {RecurrentCell::lstm, Bidirectional::all, 8},
                                  {RecurrentCell::gru, Bidirectional::none},
                                  {RecurrentCell::gru, Bidirectional::first},
                                  {RecurrentCell::gru_reset_before, Bidirectional::none},
                                  {RecurrentCell::gru_reset_before, Bidirectional::all}};

}  // namespace

TEST_CASE("every cell, odd and even sizes: outputs, loss, gradients and updates are right") {
  if (device_missing()) return;
  CudaExecutor executor;
  for (const Case& one : all_cells) {
    for (const std::int64_t hidden : {17, 20}) {
      RecurrentSpec spec = one.network();
      spec.hidden = hidden;  // 20: four elements at a time
      spec.optimizer = hidden == 17 ? Optimizer::sgd : Optimizer::adam;
      CAPTURE(static_cast<int>(one.cell));
      CAPTURE(static_cast<int>(one.both));
      CAPTURE(hidden);
      const Scene scene(recurrent(spec), Duration{1});
      CudaRecurrentWork work(executor, spec, scene.graph, seed);
      Execution run;
      executor.run(scene.graph, plan_for(scene, "diagonal"), work, run);
      check_results(spec, work, tolerance(CudaPrecision::fp32));
    }
  }
}

TEST_CASE("tf32 and bf16 are as exact as their factors") {
  if (device_missing()) return;
  CudaExecutor executor;
  for (const CudaPrecision precision : {CudaPrecision::tf32, CudaPrecision::bf16}) {
    for (const Case& one : all_cells) {
      const RecurrentSpec spec = one.network();
      CAPTURE(std::string{to_string(precision)});
      CAPTURE(static_cast<int>(one.cell));
      const Scene scene(recurrent(spec), Duration{1});
      CudaRecurrentWork work(executor, spec, scene.graph, seed, precision);
      CHECK(work.precision() == precision);
      Execution run;
      executor.run(scene.graph, plan_for(scene, "single_stream"), work, run);
      check_results(spec, work, tolerance(precision));
    }
  }
}

TEST_CASE("every granularity and accumulation, forward, backward and training") {
  if (device_missing()) return;
  CudaExecutor executor;
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
          const Scene scene(recurrent(spec), Duration{1});
          CudaRecurrentWork work(executor, spec, scene.graph, seed);
          Execution run;
          executor.run(scene.graph, plan_for(scene, "heft"), work, run);
          check_results(spec, work, tolerance(CudaPrecision::fp32));
        }
      }
    }
  }
  RecurrentSpec forward = test::odd_network(RecurrentCell::gru);
  forward.pass = RecurrentPass::forward;
  const Scene scene(recurrent(forward), Duration{1});
  CudaRecurrentWork work(executor, forward, scene.graph, seed);
  Execution run;
  executor.run(scene.graph, plan_for(scene, "diagonal"), work, run);
  check_results(forward, work, tolerance(CudaPrecision::fp32));
}

TEST_CASE("products over several steps, in slices and within few units are right") {
  if (device_missing()) return;
  CudaExecutor cublas;
  CudaExecutor cublaslt({.products = CudaProducts::cublaslt});
  const auto check_cuts =
      [](CudaExecutor& executor, const RecurrentSpec& whole, CudaPrecision precision) {
        for (const RecurrentSpec& spec : test::cut_otherwise(whole)) {
          CAPTURE(static_cast<int>(spec.cell));
          CAPTURE(static_cast<int>(spec.granularity));
          CAPTURE(spec.hidden_2_steps);
          CAPTURE(spec.hidden_1_slices);
          CAPTURE(spec.k_major);
          const Scene scene(recurrent(spec), Duration{1});
          CudaRecurrentWork work(executor, spec, scene.graph, seed, precision);
          Execution run;
          executor.run(scene.graph, plan_for(scene, "heft"), work, run);
          check_results(spec, work, tolerance(precision));
        }
      };
  for (const Case& one : all_cells) {
    check_cuts(cublas, one.network(), CudaPrecision::fp32);
  }
  RecurrentSpec spec = test::odd_network(RecurrentCell::lstm);
  check_cuts(cublas, spec, CudaPrecision::bf16);
  check_cuts(cublaslt, spec, CudaPrecision::tf32);
  for (const Granularity granularity : {Granularity::coarse, Granularity::kernel_and_weight}) {
    spec.granularity = granularity;
    check_cuts(cublas, spec, CudaPrecision::fp32);
  }
}

TEST_CASE("every policy gives the same bits, eager and as a device graph, run after run") {
  if (device_missing()) return;
  CudaExecutor executor;
  for (const CudaPrecision precision : {CudaPrecision::fp32, CudaPrecision::bf16}) {
    std::map<Granularity, RecurrentResults<float>> expected;
    for (const char* name : {"single_stream",
                             "diagonal",
                             "cudnn_like",
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
      CudaRecurrentWork work(executor, spec, scene.graph, seed, precision);
      Execution run;
      if (const auto online = policy->online(scene.problem())) {
        executor.run(scene.problem(), *online, work, run);
      } else {
        executor.run(scene.graph, policy->plan(scene.problem()), work, run);
      }
      CHECK(check(scene.graph, scene.platform, run.plan).empty());
      const auto [first, is_new] = expected.try_emplace(spec.granularity, work.results());
      CHECK(work.results() == first->second);
      const Plan captured = capture_graphs(run.plan);
      for (int i = 0; i < 2; ++i) {
        executor.run(scene.graph, captured, work, run);
        CHECK(work.results() == first->second);
      }
    }
  }
}

TEST_CASE("tasks are timed by events, eager and within a graph") {
  if (device_missing()) return;
  CudaExecutor executor({.run = {.timing = TaskTiming::events}});
  const RecurrentSpec spec = test::odd_network(RecurrentCell::lstm);
  const Scene scene(recurrent(spec), Duration{1});
  CudaRecurrentWork work(executor, spec, scene.graph, seed);
  const Plan eager = plan_for(scene, "diagonal");
  for (const Plan& plan : {eager, capture_graphs(eager)}) {
    Execution run;
    executor.run(scene.graph, plan, work, run);
    REQUIRE(run.trace.tasks.size() == scene.graph.task_count());
    IdVector<TaskId, Time> ended(scene.graph.task_count(), Time{});
    for (const TaskSpan& span : run.trace.tasks) ended[span.task] = span.ended;
    // The resolution of timing events is about half a microsecond (CUDA run-time,
    // cudaEventElapsedTime).
    constexpr Duration resolution = std::chrono::microseconds{2};
    for (const TaskSpan& span : run.trace.tasks) {
      CHECK(span.started <= span.ended);
      for (const TaskId needed : scene.graph.predecessors(span.task)) {
        CHECK(ended[needed] <= span.started + resolution);
      }
    }
    check_results(spec, work, tolerance(CudaPrecision::fp32));
  }
}
