// SPDX-License-Identifier: Apache-2.0
#include "profiler/activity_trace.hpp"
#include "profiler/cupti_session.hpp"
#include "sim/base/error.hpp"
#include "tests/profiler/profiled_scene.hpp"
#include "tests/support/skip.hpp"

#include <doctest/doctest.h>

#include <functional>

namespace schedlab {
namespace {

// The example of docs/gpu_profiling.md; the test docs.snippets compares the two.
ProfiledTrace profiled(const TaskGraph& graph,
                       const Plan& plan,
                       TaskId task,
                       const std::function<void()>& warm_up,
                       const std::function<void()>& synchronize,
                       const std::function<void(TaskId)>& launch) {
  const CpuClock clock;
  CuptiSession session{{.graphs = GraphDetail::nodes}, clock};
  warm_up();
  session.discard(synchronize);
  const Time begin = clock.now();
  {
    const ProfiledWork work{session, WorkId::task(task)};
    launch(task);
  }
  const ActivityLog log = session.finish(synchronize);
  ProfiledTrace run = activity_trace(log, graph, plan, begin);
  return run;
}

TEST_CASE("the example of the page on profiling says what is missing where there is no driver") {
  if (profiler_available().available) {
    schedlab::testing::skip("there is a driver here");
    return;
  }
  const TaskGraph graph = testing::loose_tasks(1);
  const auto nothing = [] {};
  CHECK_THROWS_AS(profiled(graph, {}, TaskId{0}, nothing, nothing, [](TaskId) {}), DeviceError);
}

}  // namespace
}  // namespace schedlab
