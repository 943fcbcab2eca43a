// SPDX-License-Identifier: Apache-2.0
// What the backend does when a device fails, and that the emulated device would find mistakes.
#include "policies/registry.hpp"
#include "real_exec/cuda/cuda_executor.hpp"
#include "sim/base/error.hpp"
#include "sim/plan/graph_capture.hpp"
#include "tests/real_exec/emulated_cuda/emulated_device.hpp"
#include "tests/real_exec/recurrent/recurrent_scenes.hpp"
#include "tests/support/scenes.hpp"

#include <doctest/doctest.h>

#include <string>

using namespace schedlab;
using schedlab::testing::Scene;

namespace {

constexpr std::uint64_t seed = 7;

RecurrentSpec small() {
  return test::odd_network(RecurrentCell::lstm);
}

}  // namespace

TEST_CASE("a kernel that crashes is found: by name with debug_sync, else among the unfinished") {
  const RecurrentSpec spec = small();
  const Scene scene(recurrent(spec), Duration{1});
  const Plan plan = make_policy("diagonal")->plan(scene.problem());
  for (const bool debug_sync : {true, false}) {
    CAPTURE(debug_sync);
    CudaExecutor executor({.run = {.debug_sync = debug_sync}});
    CudaRecurrentWork work(executor, spec, scene.graph, seed);
    Execution run;
    executor.run(scene.graph, plan, work, run);
    // The first piece of work of a run is behind the clock's own events.
    testing::fail_emulated_work(20);
    std::string message;
    try {
      executor.run(scene.graph, plan, work, run);
    } catch (const ExecutionError& error) {
      message = error.what();
    }
    testing::fail_emulated_work(-1);
    CAPTURE(message);
    CHECK(message.find("cudaErrorIllegalAddress") != std::string::npos);
    if (debug_sync) {
      CHECK(message.find("task ") == 0);
    } else {
      CHECK(message.find("not known to be complete") != std::string::npos);
    }
  }
}

TEST_CASE("a wait that is missing shows in the results for some order of the work") {
  const RecurrentSpec spec = small();
  const Scene scene(recurrent(spec), Duration{1});
  Plan plan = make_policy("diagonal")->plan(scene.problem());
  CudaExecutor executor;
  CudaRecurrentWork work(executor, spec, scene.graph, seed);
  Execution run;
  executor.run(scene.graph, plan, work, run);
  const RecurrentResults<float> right = work.results();
  std::erase_if(plan.hosts[HostId{0}].calls,
                [](HostCall call) { return call.kind() == HostCallKind::wait; });
  bool wrong = false;
  for (std::uint64_t order = 1; order <= 5 && !wrong; ++order) {
    testing::set_emulated_order(order);
    executor.run(scene.graph, plan, work, run);
    wrong = !(work.results() == right);
  }
  CHECK(wrong);
}
