// SPDX-License-Identifier: Apache-2.0
#include "sim/plan/final_synchronization.hpp"

#include "policies/registry.hpp"
#include "sim/engine/simulator.hpp"
#include "tests/support/scenes.hpp"
#include "workloads/models/recurrent/recurrent.hpp"

#include <doctest/doctest.h>

#include <chrono>

using namespace schedlab;
using namespace std::chrono_literals;
using schedlab::testing::Scene;

namespace {

RecurrentSpec small() {
  RecurrentSpec spec;
  spec.layers = 2;
  spec.steps = 3;
  spec.pass = RecurrentPass::backward;
  spec.tensors = false;
  return spec;
}

}  // namespace

TEST_CASE("a run ends when the host knows that its last task has ended") {
  Scene scene(recurrent(small()), 50us);
  for (Host& host : scene.platform.hosts) {
    host.costs.launch = 2us;
    host.costs.synchronize = 1us;
    host.costs.wake_up = 4us;
  }
  Plan plan = make_policy("single_stream")->plan(scene.problem());
  const Trace without = simulate(scene.problem(), plan);
  synchronize_at_end(plan);
  const Trace with = simulate(scene.problem(), plan);
  // Tasks of 50 us, launches of 2 us: the host is done long before the device.
  CHECK(with.makespan() == without.makespan() + 4us);
  CHECK(with.tasks == without.tasks);

  const Plan once = plan;
  synchronize_at_end(plan);
  CHECK(plan == once);
}

TEST_CASE("where the host is last, the wait costs its call and nothing more") {
  Scene scene(recurrent(small()), 1us);
  for (Host& host : scene.platform.hosts) {
    host.costs.launch = 2us;
    host.costs.synchronize = 1us;
    host.costs.wake_up = 4us;
  }
  Plan plan = make_policy("single_stream")->plan(scene.problem());
  const StreamId stream{0};
  plan.hosts[HostId{0}].calls.push_back(HostCall::query(stream));
  for (Host& host : scene.platform.hosts) host.costs.query = 10us;
  const Trace without = simulate(scene.problem(), plan);
  synchronize_at_end(plan);
  CHECK(simulate(scene.problem(), plan).makespan() == without.makespan() + 1us);
}

TEST_CASE("what a policy decided while it ran is the same with a wait behind it") {
  RecurrentSpec spec = small();
  const auto policy = make_policy("critical_first");
  spec.granularity = policy->granularity();
  Scene scene(recurrent(spec), 7us);
  for (Host& host : scene.platform.hosts) {
    host.costs.launch = 2us;
    host.costs.query = 1us;
    host.costs.synchronize = 1us;
    host.costs.wake_up = 4us;
  }
  const auto online = policy->online(scene.problem());
  REQUIRE(online != nullptr);
  auto recording = Simulator{}.record(scene.problem(), *online);
  synchronize_at_end(recording.plan);
  const Trace waited = simulate(scene.problem(), recording.plan);
  CHECK(waited.tasks == recording.trace.tasks);
  CHECK(waited.makespan() > recording.trace.makespan());
}
