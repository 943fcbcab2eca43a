// SPDX-License-Identifier: Apache-2.0
#include "hw_models/cache_costs.hpp"

#include "calibration/system_caches.hpp"
#include "hw_models/measured.hpp"
#include "policies/registry.hpp"
#include "sim/base/file.hpp"
#include "studies/scenario/problem_costs.hpp"
#include "studies/search/plan_scorer.hpp"
#include "tests/hw_models/synthetic_profile.hpp"
#include "tests/support/temporary_folder.hpp"
#include "workloads/models/recurrent/lstm.hpp"
#include "workloads/transforms/cut_kernels.hpp"

#include <doctest/doctest.h>

#include <filesystem>
#include <memory>
#include <string>
#include <utility>
#include <vector>

namespace schedlab {
namespace {

/// The made-up CPU, with operands from memory at 10 GB/s a unit.
KernelProfile profile_with_cache() {
  KernelProfile profile = testing::synthetic_profile(0.0, {96, 192, 384}, {12, 24, 48});
  profile.cut = {.flops_per_block = 1, .bytes_per_block = 1};
  std::vector<KernelSample> samples;
  for (KernelSample sample : profile.samples) {
    sample.kernel.working_set = Bytes{1'000'000};
    sample.kernel.bytes_cached = sample.kernel.bytes_read;
    samples.push_back(sample);
    if (sample.kernel.kind == TaskKind::gemm) {
      const auto read = static_cast<double>(sample.kernel.bytes_read.count());
      sample.duration += round_up_seconds(read / sample.kernel.grid.blocks / 10e9);
    }
    sample.kernel.bytes_cached = Bytes{0};
    samples.push_back(sample);
  }
  profile.samples = std::move(samples);
  return profile;
}

PreparedProblem problem(Granularity granularity, Bytes cache) {
  PreparedProblem made;
  auto machine = std::make_shared<MachineSpec>();
  machine->platform.sharing = SharingModel::fluid;
  Device& device = machine->platform.devices[DeviceId{0}];
  device.unit_class_of.fill(device.unit_classes.push_back({.name = "core", .count = 2}));
  device.rates.matrix_units = 2;
  device.rates.vector_units = 2;
  device.rates.l2 = cache;
  device.profile = std::make_shared<const KernelProfile>(profile_with_cache());
  // Weights and their gradients of 3 layers: 3 x 2 x 2 x 256 x 1024 x 4 B = 12.6 MB.
  made.graph = std::make_shared<TaskGraph>(CutKernels::for_device(device)->apply(
      lstm({.layers = 3, .steps = 4, .batch = 16, .hidden = 256, .granularity = granularity})));
  made.machine = std::move(machine);
  set_costs(Measured{}, made);
  return made;
}

struct Converged {
  CostTable costs;
  Trace trace;
  int runs = 1;
};

Converged converged(const PreparedProblem& made, const char* policy) {
  Simulator simulator;
  const Plan plan = make_policy(policy)->plan(made.problem());
  const Problem nominal = made.simulated().problem;
  Converged result;
  run_by_kernel(simulator, made.steps.get(), nominal, plan, {}, result.trace);
  result.costs = converge(*made.caches,
                          nominal.costs,
                          Trace{result.trace},
                          [&](const CostTable& costs) -> const Trace& {
                            const Problem now{nominal.graph, nominal.platform, costs};
                            run_by_kernel(simulator, made.steps.get(), now, plan, {}, result.trace);
                            ++result.runs;
                            return result.trace;
                          });
  return result;
}

}  // namespace

TEST_CASE("costs converge: the last run starts tasks in the order that its costs are of") {
  for (const Granularity granularity : {Granularity::fine, Granularity::coarse}) {
    const PreparedProblem made = problem(granularity, Bytes{6'000'000});
    REQUIRE(made.caches != nullptr);
    for (const char* policy : {"single_stream", "diagonal", "heft"}) {
      CAPTURE(policy);
      const Converged result = converged(made, policy);
      CHECK(result.runs >= 2);
      CHECK(result.runs <= 7);
      if (result.runs < 7) {
        CHECK(result.costs.durations() == made.caches->durations(order_of_starts(result.trace)));
      }
    }
  }
}

TEST_CASE("an order that stays in a layer is faster than one that goes round, by its weights") {
  const auto ratio = [](Bytes cache) {
    const PreparedProblem made = problem(Granularity::fine, cache);
    return to_seconds(converged(made, "single_stream").trace.makespan()) /
           to_seconds(converged(made, "layer_by_layer").trace.makespan());
  };
  // 4 MB of one layer's weights and gradients stay in a cache of 6 MB, 12.6 MB of all layers do
  // not.
  CHECK(ratio(Bytes{6'000'000}) > 1.1);
  // With capacity for everything, or for nothing, the order does not matter.
  CHECK(ratio(Bytes{60'000'000}) == doctest::Approx(1).epsilon(0.01));
  CHECK(ratio(Bytes{100'000}) == doctest::Approx(1).epsilon(0.01));
}

TEST_CASE("draws of a machine that scatters have the costs of what a plan finds in the caches") {
  auto made = std::make_shared<PreparedProblem>(problem(Granularity::fine, Bytes{6'000'000}));
  Scenario scenario;
  scenario.problem = made;
  scenario.sampling.emplace();  // draws without any noise
  for (const char* policy : {"single_stream", "layer_by_layer"}) {
    CAPTURE(policy);
    const Plan plan = make_policy(policy)->plan(made->problem());
    const Duration expected = converged(*made, policy).trace.makespan();
    CHECK(scored_as(scenario)(plan).makespan == expected);
    CHECK(scored_as(scenario, {.samples = 3})(plan).makespan == expected);
  }
}

TEST_CASE("a profile that knows nothing of caches has costs that do not depend on the schedule") {
  PreparedProblem made = problem(Granularity::fine, Bytes{6'000'000});
  auto machine = std::make_shared<MachineSpec>(*made.machine);
  machine->platform.devices[DeviceId{0}].profile =
      std::make_shared<const KernelProfile>(testing::synthetic_profile(0.0, {96, 192}, {12, 24}));
  made.machine = machine;
  set_costs(Measured{}, made);
  CHECK(made.caches == nullptr);
}

TEST_CASE("caches are those of the two highest levels that the system names") {
  const testing::TemporaryFolder folder;
  const auto put = [&](int index, const char* level, const char* type, const char* size) {
    const auto cache = folder.path() / ("index" + std::to_string(index));
    std::filesystem::create_directories(cache);
    write_file_atomically(cache / "level", std::string(level) + "\n");
    write_file_atomically(cache / "type", std::string(type) + "\n");
    write_file_atomically(cache / "size", std::string(size) + "\n");
  };
  CHECK(system_caches(folder.path()).last == Bytes{0});
  put(0, "1", "Data", "48K");
  put(1, "1", "Instruction", "32K");
  put(2, "2", "Unified", "1024K");
  CHECK(system_caches(folder.path()).last == Bytes{1 << 20});
  CHECK(system_caches(folder.path()).unit == Bytes{48 << 10});
  put(3, "3", "Unified", "32M");
  CHECK(system_caches(folder.path()).last == Bytes{32 << 20});
  CHECK(system_caches(folder.path()).unit == Bytes{1 << 20});
}

}  // namespace schedlab
