// SPDX-License-Identifier: Apache-2.0
// What recomputation computes, and what it really allocates, on the CPU.
#include "policies/registry.hpp"
#include "real_exec/cpu/cpu_executor.hpp"
#include "real_exec/recurrent/gemm.hpp"
#include "real_exec/recurrent/recurrent_work.hpp"
#include "sim/base/error.hpp"
#include "tests/real_exec/recurrent/recompute_scenes.hpp"
#include "tests/support/scenes.hpp"
#include "workloads/transforms/cut_kernels.hpp"

#include <doctest/doctest.h>

#include <cmath>
#include <string>

using namespace schedlab;

namespace {

constexpr std::uint64_t seed = 3;
/// Predicted and allocated peak within 5 percent of each other; gives the allocated one.
double check_allocated_peak(const RecurrentSpec& spec) {
  CpuExecutor executor({.workers = 1,
                        .host = HostPlacement::preloaded,
                        .pin = false,
                        .prepare_worker = &prepare_worker_thread});
  const testing::Scene scene(recurrent(spec), Duration{1'000'000});
  const Problem problem = scene.problem();
  const Plan plan = make_policy("single_stream")->plan(problem);
  const double predicted = test::simulated_peak(problem, plan);
  RecurrentWork work{spec, scene.graph, seed, TensorAllocation::by_tensor};
  Execution run;
  executor.run(scene.graph, plan, work, run);
  REQUIRE(work.memory().has_value());
  const auto measured = static_cast<double>(work.memory()->tensors_peak.count());
  CAPTURE(test::described(spec));
  CAPTURE(spec.batch);
  CAPTURE(predicted);
  CAPTURE(measured);
  CHECK(std::abs(measured / predicted - 1) < 0.05);
  return measured;
}

/// 40 steps of 3 layers of 32 units.
RecurrentSpec long_network(std::int64_t batch) {
  RecurrentSpec spec;
  spec.layers = 3;
  spec.steps = 40;
  spec.batch = batch;
  spec.hidden = 32;
  spec.pass = RecurrentPass::training;
  return spec;
}

}  // namespace

TEST_CASE(
    "recomputed GRUs, projections and bidirectional layers give the same gradients, bit for bit") {
  for (RecurrentSpec spec : test::all_networks(3, 7)) {
    spec.tensors = false;
    const RecurrentResults<float> expected = test::serial_results(spec, seed);
    for (const Recompute recompute : test::recompute_choices) {
      const RecurrentSpec kept = test::recomputed(spec, recompute);
      if (test::refused(kept)) continue;
      CAPTURE(test::described(kept));
      const TaskGraph graph = recurrent(kept);
      RecurrentWork work{kept, graph, seed, TensorAllocation::by_tensor};
      run_serially(work, graph);
      CHECK(test::differing(work.results(), expected).empty());
    }
  }
}

TEST_CASE("recomputed steps give the same gradients, bit for bit, in every cut") {
  for (const Granularity granularity : test::granularities) {
    for (const Accumulation accumulation :
         {Accumulation::ordered, Accumulation::partial, Accumulation::batched}) {
      RecurrentSpec spec = test::odd_network(RecurrentCell::lstm);
      spec.layers = 3;
      spec.steps = 9;
      spec.granularity = granularity;
      spec.accumulation = accumulation;
      spec.accumulation_steps = 4;
      const RecurrentResults<float> expected = test::serial_results(spec, seed);
      for (const Recompute recompute : test::recompute_choices) {
        const RecurrentSpec kept = test::recomputed(spec, recompute);
        CAPTURE(test::described(kept));
        const TaskGraph graph = recurrent(kept);
        RecurrentWork work{kept, graph, seed, TensorAllocation::by_tensor};
        run_serially(work, graph);
        CHECK(test::differing(work.results(), expected).empty());
        run_serially(work, graph);  // memory and sums start anew
        CHECK(test::differing(work.results(), expected).empty());
      }
    }
  }
}

TEST_CASE("a state that is computed several times is the same every time") {
  RecurrentSpec spec = test::odd_network(RecurrentCell::lstm);
  spec.steps = 12;
  const RecurrentResults<float> expected = test::serial_results(spec, seed);
  for (const std::int64_t checkpoints : {1, 2, 3, 11}) {
    CAPTURE(checkpoints);
    RecurrentSpec kept = test::recomputed(spec, Recompute::optimal);
    kept.checkpoints = checkpoints;
    const TaskGraph graph = recurrent(kept);
    RecurrentWork work{kept, graph, seed};
    run_serially(work, graph);
    CHECK(test::differing(work.results(), expected).empty());
  }
}

TEST_CASE("what an execution allocates is what its simulation holds, within 5 percent") {
  for (const std::int64_t batch : {4, 16}) {
    double last = 1e18;
    for (const Recompute recompute : test::recompute_choices) {
      const double peak = check_allocated_peak(test::recomputed(long_network(batch), recompute));
      CHECK(peak < last);
      last = peak;
    }
  }
}

TEST_CASE("GRUs and bidirectional layers allocate what their simulation holds") {
  struct Case {
    RecurrentCell cell;
    Bidirectional both;
    std::int64_t projection = 0;
  };
  for (const Case& one : {Case{RecurrentCell::gru, Bidirectional::none},
                          Case{RecurrentCell::gru, Bidirectional::all},
                          Case{RecurrentCell::lstm, Bidirectional::first},
                          Case{RecurrentCell::lstm, Bidirectional::none, 16}}) {
    RecurrentSpec spec = long_network(16);
    spec.cell = one.cell;
    spec.bidirectional = one.both;
    spec.projection = one.projection;
    const double kept = check_allocated_peak(test::recomputed(spec, Recompute::keep_backward));
    const double dropped = check_allocated_peak(test::recomputed(spec, Recompute::data_drop));
    CHECK(dropped < kept);
  }
}

TEST_CASE("workers that share every kernel change nothing, whatever the policy") {
  CpuExecutor executor({.workers = 3,
                        .host = HostPlacement::preloaded,
                        .pin = false,
                        .prepare_worker = &prepare_worker_thread});
  RecurrentSpec spec = test::odd_network(RecurrentCell::lstm);
  spec.layers = 3;
  spec.steps = 7;
  spec.hidden = 40;
  const RecurrentResults<float> expected = test::serial_results(spec, seed);
  for (const Recompute recompute : test::recompute_choices) {
    const RecurrentSpec kept = test::recomputed(spec, recompute);
    const testing::Scene scene(
        CutKernels({.flops_per_block = 1000, .bytes_per_block = 256}, 3).apply(recurrent(kept)),
        Rng{seed});
    RecurrentWork work{kept, scene.graph, seed, TensorAllocation::by_tensor};
    for (const char* name : {"single_stream", "diagonal", "cudnn_like", "heft", "random"}) {
      CAPTURE(std::string{to_string(recompute)});
      CAPTURE(name);
      Execution run;
      executor.run(scene.graph, make_policy(name)->plan(scene.problem()), work, run);
      CHECK(test::differing(work.results(), expected).empty());
    }
  }
}

TEST_CASE("a run that keeps everything side by side holds more than one by tensors") {
  RecurrentSpec spec =
      test::recomputed(test::odd_network(RecurrentCell::lstm), Recompute::keep_backward);
  const TaskGraph graph = recurrent(spec);
  RecurrentWork whole{spec, graph, seed};
  RecurrentWork apart{spec, graph, seed, TensorAllocation::by_tensor};
  CHECK(whole.memory()->workspace > Bytes{0});
  CHECK_FALSE(whole.memory()->by_tensor);
  run_serially(apart, graph);
  CHECK(apart.memory()->tensors_peak < whole.memory()->tensors_peak);
}

TEST_CASE("gate gradients of a training step lie where its activations lay") {
  RecurrentSpec spec =
      test::recomputed(test::odd_network(RecurrentCell::lstm), Recompute::keep_backward);
  spec.layers = 1;
  spec.steps = 5;
  spec.batch = 4;
  spec.hidden = 32;
  spec.input = 32;
  const auto peak = [&](RecurrentPass pass) {
    RecurrentSpec one = spec;
    one.pass = pass;
    return RecurrentWork{one, recurrent(one), seed}.memory()->tensors_peak;
  };
  // A step has 4 * 32 elements of each gate; the pass backward is repeated without the forward pass
  // before it and keeps its activations, 4 gates. Training has the target, as wide as y, instead.
  CHECK(peak(RecurrentPass::training) + Bytes{5 * 4 * 4 * 32 * 4} ==
        peak(RecurrentPass::backward) + Bytes{5 * 4 * 32 * 4});
}

TEST_CASE("what cannot be recomputed on the CPU is refused with what to do") {
  const auto work_of = [](const RecurrentSpec& spec) {
    const TaskGraph graph = recurrent(spec);
    RecurrentWork{spec, graph, seed};
  };
  RecurrentSpec spec =
      test::recomputed(test::odd_network(RecurrentCell::gru_reset_before), Recompute::data_drop);
  CHECK_THROWS_WITH_AS(work_of(spec), doctest::Contains("\"reset\": \"after\""), InfeasibleError);
  spec = test::recomputed(test::odd_network(RecurrentCell::lstm), Recompute::data_drop);
  spec.tensors = false;
  CHECK_THROWS_WITH_AS(work_of(spec), doctest::Contains("include_tensors"), InfeasibleError);
  spec = test::recomputed(test::odd_network(RecurrentCell::lstm), Recompute::keep_all);
  CHECK_THROWS_WITH_AS(work_of(spec), doctest::Contains("use keep_backward"), InfeasibleError);
}
