// SPDX-License-Identifier: Apache-2.0
// Recomputation, the memory it saves, and sequences of different lengths on CUDA devices. Built
// twice: for the device of this computer, and for an emulated one (emulated_cuda/).
#include "policies/registry.hpp"
#include "real_exec/cuda/cuda_executor.hpp"
#include "real_exec/recurrent/recurrent_differences.hpp"
#include "real_exec/recurrent/recurrent_reference.hpp"
#include "real_exec/recurrent/sequence_corpus.hpp"
#include "sim/base/error.hpp"
#include "sim/plan/graph_capture.hpp"
#include "tests/real_exec/cuda/cuda_device.hpp"
#include "tests/real_exec/recurrent/recompute_scenes.hpp"
#include "tests/support/scenes.hpp"

#include <doctest/doctest.h>

#include <cmath>
#include <string>
#include <vector>

using namespace schedlab;
using schedlab::testing::device_missing;
using schedlab::testing::Scene;

namespace {

constexpr std::uint64_t seed = 11;

RecurrentSpec network(RecurrentCell cell, Bidirectional both, Granularity granularity) {
  RecurrentSpec spec = test::odd_network(cell, both);
  spec.steps = 6;
  spec.granularity = granularity;
  spec.tensors = true;
  return spec;
}

/// A network on a device with the memory of each tensor taken by itself.
struct DeviceRun {
  DeviceRun(CudaExecutor& executor, const RecurrentSpec& spec)
      : scene(recurrent(spec), Duration{1'000'000}),
        work(executor, spec, scene.graph, seed, CudaPrecision::fp32, TensorAllocation::by_tensor) {}

  const RecurrentResults<float>& run(CudaExecutor& executor, const Plan& plan) {
    Execution execution;
    executor.run(scene.graph, plan, work, execution);
    results = work.results();
    return results;
  }
  [[nodiscard]] Plan plan(const char* policy) const {
    return make_policy(policy)->plan(scene.problem());
  }

  Scene scene;
  CudaRecurrentWork work;
  RecurrentResults<float> results;
};

void check_near(const std::vector<float>& found, const std::vector<float>& expected) {
  const std::vector<double> wide(expected.begin(), expected.end());
  REQUIRE(found.size() == wide.size());
  CHECK(relative_difference(found, wide) <= 1e-5);  // as of cuda_recurrent_test in fp32
}

}  // namespace

TEST_CASE("recomputed gradients on a device are those without recomputation, bit for bit") {
  if (device_missing()) return;
  CudaExecutor executor;
  for (const RecurrentSpec& spec : test::all_networks(2, 6)) {
    DeviceRun kept(executor, spec);
    const RecurrentResults<float> expected = kept.run(executor, kept.plan("single_stream"));
    const RecurrentResults<double> right = recurrent_reference(spec, to_double(kept.work.inputs()));
    for_each_result(
        expected, right, [&](const std::string& name, const auto& found, const auto& value) {
          if (name == "y") return;
          CAPTURE(name);
          CHECK(relative_difference(found, value) <= 1e-5);
        });
    for (const Recompute recompute : test::recompute_choices) {
      const RecurrentSpec dropped = test::recomputed(spec, recompute);
      if (test::refused(dropped)) continue;
      CAPTURE(test::described(dropped));
      DeviceRun run(executor, dropped);
      CHECK(test::differing(run.run(executor, run.plan("single_stream")), expected).empty());
    }
  }
}

TEST_CASE("memory that tensors share is never shared too early, eager or as a device graph") {
  // A plan after another, each twice: in memory taken anew, and laid out for it.
  if (device_missing()) return;
  CudaExecutor executor;
  for (const Recompute recompute : test::recompute_choices) {
    RecurrentSpec spec = network(RecurrentCell::lstm, Bidirectional::none, Granularity::fine);
    spec.layers = 3;
    DeviceRun run(executor, test::recomputed(spec, recompute));
    const RecurrentResults<float> expected = run.run(executor, run.plan("single_stream"));
    for (const char* policy : {"diagonal", "cudnn_like", "heft", "bottom_level", "random"}) {
      CAPTURE(std::string{to_string(recompute)});
      CAPTURE(policy);
      const Plan eager = run.plan(policy);
      const Plan captured = capture_graphs(eager);
      for (const Plan* plan : {&eager, &eager, &captured, &captured}) {
        CHECK(test::differing(run.run(executor, *plan), expected).empty());
      }
    }
  }
}

TEST_CASE("sums over several steps are the same with recomputation") {
  if (device_missing()) return;
  CudaExecutor executor;
  for (const Accumulation accumulation : {Accumulation::partial, Accumulation::batched}) {
    RecurrentSpec spec = network(RecurrentCell::gru, Bidirectional::none, Granularity::matmul);
    spec.accumulation = accumulation;
    spec.accumulation_steps = 4;
    DeviceRun kept(executor, spec);
    const RecurrentResults<float> expected = kept.run(executor, kept.plan("single_stream"));
    for (const Recompute recompute : test::recompute_choices) {
      CAPTURE(std::string{to_string(recompute)});
      DeviceRun dropped(executor, test::recomputed(spec, recompute));
      CHECK(test::differing(dropped.run(executor, dropped.plan("heft")), expected).empty());
    }
  }
}

TEST_CASE("a device allocates for a stream what its simulation holds, within 5 percent") {
  if (device_missing()) return;
  CudaExecutor executor;
  struct Case {
    RecurrentCell cell;
    Bidirectional both;
  };
  for (const Case& one : {Case{RecurrentCell::lstm, Bidirectional::none},
                          Case{RecurrentCell::gru, Bidirectional::none},
                          Case{RecurrentCell::gru, Bidirectional::all},
                          Case{RecurrentCell::lstm, Bidirectional::first}}) {
    double last = 1e18;
    for (const Recompute recompute : test::recompute_choices) {
      RecurrentSpec spec =
          test::recomputed(network(one.cell, one.both, Granularity::fine), recompute);
      if (test::refused(spec)) continue;
      spec.layers = 3;
      spec.steps = 40;
      spec.batch = 4;
      spec.hidden = 16;
      spec.input = 16;
      DeviceRun run(executor, spec);
      const Plan plan = run.plan("single_stream");
      const Problem problem = run.scene.problem();
      const double predicted = test::simulated_peak(problem, plan);
      run.run(executor, plan);
      run.run(executor, plan);  // the first run does not know what is to come
      REQUIRE(run.work.memory().has_value());
      CHECK(run.work.memory()->by_tensor);
      const auto measured = static_cast<double>(run.work.memory()->tensors_peak.count());
      CAPTURE(test::described(spec));
      CAPTURE(predicted);
      CAPTURE(measured);
      CHECK(std::abs(measured / predicted - 1) < 0.05);
      CHECK(measured < last);
      last = measured;
    }
  }
}

TEST_CASE("training goes from bucket to bucket on a device as it does on the CPU") {
  if (device_missing()) return;
  CudaExecutor executor;
  RecurrentSpec spec = network(RecurrentCell::lstm, Bidirectional::none, Granularity::fine);
  spec.batch = 3;
  const SequenceCorpus corpus{{2, 3, 4, 6, 5, 1}, spec.input, spec.hidden, 7};
  struct Step {
    std::size_t bucket;  // 0: up to 4 steps, 1: up to 6
    std::vector<std::uint32_t> members;
  };
  const std::vector<Step> steps{{0, {0, 1, 2}}, {1, {3, 4}}, {0, {5, 0, 1}}};
  for (const Recompute recompute : {Recompute::keep_backward, Recompute::data_drop}) {
    CAPTURE(std::string{to_string(recompute)});
    RecurrentSpec small = test::recomputed(spec, recompute);
    small.steps = 4;
    const RecurrentSpec large = test::recomputed(spec, recompute);
    DeviceRun on_device[] = {{executor, small}, {executor, large}};
    const TaskGraph graphs[] = {recurrent(small), recurrent(large)};
    RecurrentWork on_cpu[] = {{small, graphs[0], seed}, {large, graphs[1], seed}};
    std::size_t last = 0;
    for (const auto& [bucket, members] : steps) {
      PaddedBatch batch;
      corpus.fill(members, spec.batch, bucket == 0 ? 4 : 6, 20.0F, batch);
      on_cpu[bucket].train_on(batch);
      on_cpu[bucket].continue_from(on_cpu[last]);
      run_serially(on_cpu[bucket], graphs[bucket]);
      DeviceRun& device = on_device[bucket];
      device.work.train_on(batch);
      device.work.continue_from(on_device[last].work);
      device.run(executor, device.plan("diagonal"));
      last = bucket;
      const RecurrentResults<float> expected = on_cpu[bucket].results();
      CHECK(device.work.loss() > 0);
      CHECK(device.work.loss() == doctest::Approx(expected.loss).epsilon(1e-5));
      check_near(device.results.dx, expected.dx);
      for (std::size_t i = 0; i < expected.chains.size(); ++i) {
        check_near(device.results.chains[i].wh, expected.chains[i].wh);
        check_near(device.results.chains[i].dwx, expected.chains[i].dwx);
      }
    }
  }
}

TEST_CASE("what a device cannot take tensor by tensor is refused with what to do") {
  if (device_missing()) return;
  CudaExecutor executor;
  const auto make = [&](const RecurrentSpec& spec, CudaPrecision precision) {
    const TaskGraph graph = recurrent(spec);
    CudaRecurrentWork{executor, spec, graph, seed, precision};
  };
  const RecurrentSpec dropped = test::recomputed(
      network(RecurrentCell::lstm, Bidirectional::none, Granularity::fine), Recompute::data_drop);
  CHECK_THROWS_WITH_AS(
      make(dropped, CudaPrecision::bf16), doctest::Contains("--precision tf32"), InfeasibleError);
  RecurrentSpec reset = dropped;
  reset.cell = RecurrentCell::gru_reset_before;
  CHECK_THROWS_WITH_AS(
      make(reset, CudaPrecision::fp32), doctest::Contains("\"reset\": \"after\""), InfeasibleError);
}
