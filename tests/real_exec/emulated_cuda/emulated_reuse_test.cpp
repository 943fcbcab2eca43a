// SPDX-License-Identifier: Apache-2.0
// What a backend keeps from run to run, so that timed runs do not make it.
#include "policies/registry.hpp"
#include "real_exec/cuda/cuda_context.hpp"
#include "real_exec/cuda/cuda_executor.hpp"
#include "sim/base/error.hpp"
#include "sim/launch/programmatic.hpp"
#include "sim/plan/graph_capture.hpp"
#include "tests/real_exec/emulated_cuda/emulated_device.hpp"
#include "tests/real_exec/recurrent/recurrent_scenes.hpp"
#include "tests/support/scenes.hpp"

#include <doctest/doctest.h>

#include <algorithm>
#include <cstdint>
#include <set>
#include <string>

using namespace schedlab;
using schedlab::testing::Scene;

namespace {

constexpr std::uint64_t seed = 7;

/// How many executable graphs a run makes.
std::uint64_t graphs_made_by(CudaExecutor& executor,
                             const Scene& scene,
                             const Plan& plan,
                             DeviceWork& work) {
  const std::uint64_t before = testing::emulated_graphs_made();
  Execution run;
  executor.run(scene.graph, plan, work, run);
  return testing::emulated_graphs_made() - before;
}

class NoObserver final : public LaunchObserver {};

}  // namespace

TEST_CASE("an executable graph is made once for a plan and a timing, and again for a profiler") {
  const RecurrentSpec spec = test::odd_network(RecurrentCell::lstm);
  const Scene scene(recurrent(spec), Duration{1});
  const Plan diagonal = capture_graphs(make_policy("diagonal")->plan(scene.problem()));
  const Plan other = capture_graphs(make_policy("single_stream")->plan(scene.problem()));
  CudaExecutor executor;
  CudaRecurrentWork work(executor, spec, scene.graph, seed);
  CHECK(graphs_made_by(executor, scene, diagonal, work) == diagonal.graphs.size());
  const RecurrentResults<float> first = work.results();
  CHECK(graphs_made_by(executor, scene, other, work) == other.graphs.size());
  // In turns, as a measurement runs them.
  for (const Plan& plan : {diagonal, other, diagonal}) {
    CHECK(graphs_made_by(executor, scene, plan, work) == 0);
    CHECK(work.results() == first);
  }
  executor.run_options().timing = TaskTiming::events;
  CHECK(graphs_made_by(executor, scene, diagonal, work) == diagonal.graphs.size());
  CHECK(graphs_made_by(executor, scene, diagonal, work) == 0);
  executor.run_options().timing = TaskTiming::none;
  NoObserver observer;
  executor.run_options().observer = &observer;
  for (int i = 0; i < 2; ++i) {
    CHECK(graphs_made_by(executor, scene, diagonal, work) == diagonal.graphs.size());
  }
  CHECK(work.results() == first);
}

TEST_CASE("kernels of ours are launched programmatically where the plan says so, and only there") {
  const RecurrentSpec spec = test::odd_network(RecurrentCell::lstm);
  const Scene scene(recurrent(spec), Duration{1});
  CudaExecutor executor;
  CudaRecurrentWork work(executor, spec, scene.graph, seed);
  const auto launches_of = [&](const Plan& plan) {
    const std::uint64_t before = testing::emulated_programmatic_launches();
    Execution run;
    executor.run(scene.graph, plan, work, run);
    return testing::emulated_programmatic_launches() - before;
  };
  Plan eager = make_policy("single_stream")->plan(scene.problem());
  CHECK(launches_of(eager) == 0);
  const RecurrentResults<float> plain = work.results();
  Plan captured = capture_graphs(eager);
  launch_programmatically(eager, scene.graph, ProgrammaticLaunches::own_kernels);
  launch_programmatically(captured, scene.graph, ProgrammaticLaunches::own_kernels);
  const auto& calls = eager.hosts[HostId{0}].calls;
  const auto marked = static_cast<std::uint64_t>(
      std::count_if(calls.begin(), calls.end(), [](HostCall call) { return call.programmatic(); }));
  REQUIRE(marked > 0);
  const std::uint64_t launched = launches_of(eager);
  CHECK(launched >= marked);  // a task may be several kernels
  CHECK(work.results() == plain);
  CHECK(launches_of(captured) == launched);  // as its nodes are made
  CHECK(work.results() == plain);
  CHECK(launches_of(captured) == 0);  // they are there
  // Timing events stand between the kernels of a stream.
  executor.run_options().timing = TaskTiming::events;
  CHECK(launches_of(eager) == 0);
}

TEST_CASE("streams of partitions are those of green contexts, and results stay the same") {
  const RecurrentSpec spec = test::odd_network(RecurrentCell::lstm);
  const Scene scene(recurrent(spec), Duration{1});
  {
    CudaExecutor executor;
    CudaRecurrentWork work(executor, spec, scene.graph, seed);
    const Plan whole = make_policy("critical_first")->plan(scene.problem());
    Plan divided = whole;
    set_urgent_units(divided, 2);
    Execution run;
    executor.run(scene.graph, whole, work, run);
    const RecurrentResults<float> right = work.results();
    using Units = std::set<std::uint32_t>;
    CHECK(testing::emulated_stream_units() == Units{0});
    for (int i = 0; i < 2; ++i) {
      executor.run(scene.graph, divided, work, run);
      CHECK(work.results() == right);
      const Units used = testing::emulated_stream_units();
      CHECK(used.contains(2));  // 2 of 4, and the rest of 2
      CHECK(testing::emulated_green_contexts() == 2);
    }
    executor.run(scene.graph, whole, work, run);
    CHECK(testing::emulated_stream_units() == Units{0});
  }
  CHECK(testing::emulated_green_contexts() == 0);
}

TEST_CASE("what green contexts cannot do is refused with the reason") {
  const RecurrentSpec spec = test::odd_network(RecurrentCell::lstm);
  const Scene scene(recurrent(spec), Duration{1});
  const auto refused = [&](const Plan& plan) -> std::string {
    CudaExecutor executor;
    CudaRecurrentWork work(executor, spec, scene.graph, seed);
    Execution run;
    try {
      executor.run(scene.graph, plan, work, run);
    } catch (const InfeasibleError& error) {
      return error.what();
    }
    return "";
  };
  Plan plan = make_policy("critical_first")->plan(scene.problem());
  set_urgent_units(plan, 1);
  CHECK(refused(plan).find("the driver makes 1 of 4 units 2; ask for 2") != std::string::npos);
  plan.partitions = {1, 1};
  CHECK(refused(plan).find("divides a device once") != std::string::npos);
  plan.partitions = {2};
  CHECK(refused(capture_graphs(plan)).find("not bound to units") != std::string::npos);
  testing::set_emulated_green_contexts(false);
  CHECK(refused(plan).find("the driver has no cuDeviceGetDevResource") != std::string::npos);
  testing::set_emulated_green_contexts(true);
}

TEST_CASE("graphs are not used again where launches have other addresses") {
  RecurrentSpec spec = test::odd_network(RecurrentCell::lstm);
  spec.tensors = true;
  const Scene scene(recurrent(spec), Duration{1});
  const Plan plan = capture_graphs(make_policy("diagonal")->plan(scene.problem()));
  CudaExecutor executor;
  CudaRecurrentWork by_tensor(
      executor, spec, scene.graph, seed, std::nullopt, TensorAllocation::by_tensor);
  for (int i = 0; i < 2; ++i) {
    CHECK(graphs_made_by(executor, scene, plan, by_tensor) == plan.graphs.size());
  }
}

TEST_CASE("streams come from a pool, those of a policy that makes them while it runs too") {
  const RecurrentSpec spec = test::odd_network(RecurrentCell::lstm);
  const Scene scene(recurrent(spec), Duration{1});
  CudaExecutor executor;
  CudaRecurrentWork work(executor, spec, scene.graph, seed);
  const Plan plan = make_policy("critical_first")->plan(scene.problem());
  Execution run;
  executor.run(scene.graph, plan, work, run);
  const RecurrentResults<float> first = work.results();
  const std::uint64_t made = testing::emulated_streams_made();
  for (int i = 0; i < 3; ++i) {
    executor.run(scene.graph, plan, work, run);
    CHECK(work.results() == first);
  }
  // One for each clock that is started.
  CHECK(testing::emulated_streams_made() - made == 3);
}

TEST_CASE("the device is brought into one state before each run that asks for it") {
  const RecurrentSpec spec = test::odd_network(RecurrentCell::lstm);
  const Scene scene(recurrent(spec), Duration{1});
  CudaExecutor executor({.run = {.steady_start = true}});
  CudaRecurrentWork work(executor, spec, scene.graph, seed);
  const Plan plan = make_policy("diagonal")->plan(scene.problem());
  const auto work_of_a_run = [&](bool steady) {
    executor.run_options().steady_start = steady;
    const std::uint64_t before = testing::emulated_work_done();
    Execution run;
    executor.run(scene.graph, plan, work, run);
    return testing::emulated_work_done() - before;
  };
  static_cast<void>(work_of_a_run(true));
  const std::uint64_t plain = work_of_a_run(false);
  // One product at least, and what flushes the cache.
  CHECK(work_of_a_run(true) >= plain + 2);
}

TEST_CASE("how long a cycle takes is measured by the first work that spins, and only once") {
  const Scene scene(recurrent(test::odd_network(RecurrentCell::lstm)), Duration{1});
  CudaExecutor executor;
  const CudaProxyWork shapes(executor, scene.graph, scene.costs);
  CHECK_FALSE(executor.context()->cycles_per_us.has_value());
  const CudaProxyWork spins(executor, scene.graph, scene.costs, {.kernels = ProxyKernels::spin});
  REQUIRE(executor.context()->cycles_per_us.has_value());
  const std::uint64_t before = testing::emulated_work_done();
  const CudaProxyWork again(executor, scene.graph, scene.costs, {.kernels = ProxyKernels::spin});
  CHECK(testing::emulated_work_done() - before == 1);
  CHECK(shapes.multiplies());
  CHECK_FALSE(spins.multiplies());
}
