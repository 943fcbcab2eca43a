// SPDX-License-Identifier: Apache-2.0
#include "real_exec/executor/profiled_run.hpp"

#include "sim/base/error.hpp"
#include "tests/profiler/profiled_scene.hpp"

#include <doctest/doctest.h>

#include <string>

using namespace schedlab;
using namespace schedlab::testing;
using namespace std::chrono_literals;

namespace {

/// The scene's plan as an executor saw it: every host call 5 ns longer than the profiler's on
/// either side, on a clock that is 900 ns behind.
Execution executed(const TwoStreams& scene) {
  Execution run;
  run.plan = scene.plan;
  const auto& calls = scene.plan.hosts[HostId{0}].calls;
  const auto add = [&](std::uint32_t call, Duration from, Duration to) {
    run.trace.hosts.push_back({.host = HostId{0},
                               .call = call,
                               .what = calls[call],
                               .started = Time{from - 900ns - 5ns},
                               .ended = Time{to - 900ns + 5ns}});
  };
  add(0, 1000ns, 1030ns);  // both launches of task 0
  add(1, 1040ns, 1050ns);
  add(3, 1060ns, 1070ns);
  add(4, 1080ns, 1090ns);
  add(5, 1100ns, 1110ns);
  return run;
}

}  // namespace

TEST_CASE("a profiler's times are put on the clock of the run by the calls that both saw") {
  const TwoStreams scene;
  Execution run = executed(scene);
  const RunOffset clocks = set_profiled_times(run, scene.graph, scene.maker.log);
  CHECK(clocks.offset == -900ns);
  CHECK(clocks.error == 5ns);
  REQUIRE(run.trace.tasks.size() == 2);
  CHECK(run.trace.tasks[0].task == TaskId{0});
  CHECK(run.trace.tasks[0].started == Time{600ns});  // 1500 - 900
  CHECK(run.trace.tasks[0].ended == Time{900ns});
  CHECK(run.trace.tasks[1].started == Time{1000ns});
}

TEST_CASE("the narrowest launches decide how well the clocks are aligned") {
  const TwoStreams scene;
  Execution run = executed(scene);
  run.trace.hosts[0].started += 4ns;  // 1 ns before the profiler's
  run.trace.hosts[3].ended -= 4ns;
  // At least -901 by the first launch, at most -899 by the second.
  const RunOffset clocks = set_profiled_times(run, scene.graph, scene.maker.log);
  CHECK(clocks.offset == -900ns);
  CHECK(clocks.error == 1ns);
}

TEST_CASE("a log of another run is refused") {
  const TwoStreams scene;
  Execution run = executed(scene);
  run.trace.hosts[1].started += 700ns;  // not a launch: it says nothing
  run.trace.hosts[3].started += 500ns;
  run.trace.hosts[3].ended += 500ns;
  try {
    (void)set_profiled_times(run, scene.graph, scene.maker.log);
    FAIL("calls that do not fit were accepted");
  } catch (const DeviceError& error) {
    CHECK(std::string{error.what()}.find("490 ns apart") != std::string::npos);  // 500 - 5 - 5
  }
}

TEST_CASE("without calls the clocks cannot be aligned") {
  TwoStreams scene;
  scene.maker.log.calls.clear();
  Execution run = executed(scene);
  CHECK_THROWS_AS((void)set_profiled_times(run, scene.graph, scene.maker.log), DeviceError);
}
