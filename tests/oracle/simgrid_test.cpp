// SPDX-License-Identifier: Apache-2.0
#include "sim/engine/simulator.hpp"
#include "tests/oracle/plan_activities.hpp"
#include "tests/support/random_plan.hpp"

#include <algorithm>
#include <string_view>
#include <vector>

using namespace schedlab;

namespace {

/// One plan on one platform, as activities and as our traces.
struct Case {
  std::string_view what;
  std::uint64_t seed = 0;
  test::PlanActivities activities;
  Trace in_order;
  Trace events;
};

Case make_case(test::SimGridDag& dag,
               std::string_view what,
               std::uint64_t seed,
               const Platform& platform,
               const test::RandomGraphSpec& spec) {
  const TaskGraph graph = test::random_graph(seed, spec);
  const CostTable costs{graph, platform};
  const Plan plan = test::random_plan(graph, seed, 1 + static_cast<std::uint32_t>(seed % 8), false);
  const Problem problem{graph, platform, costs};
  return {what,
          seed,
          test::add_plan(dag, problem, plan),
          simulate(problem, plan, {.engine = EngineKind::in_order}),
          simulate(problem, plan, {.engine = EngineKind::event})};
}

Time latest(const std::vector<test::SimGridDag::Span>& spans, const test::SimGridDag::Set& set) {
  Time time{};
  for (const std::uint32_t activity : set) time = std::max(time, spans[activity].ended);
  return time;
}

void compare(const Case& c, const std::vector<test::SimGridDag::Span>& spans) {
  CAPTURE(c.what);
  CAPTURE(c.seed);
  for (const Trace* trace : {&c.in_order, &c.events}) {
    REQUIRE(trace->tasks.size() == c.activities.tasks.size());
    Time ended = latest(spans, c.activities.host_end);
    for (std::size_t i = 0; i < trace->tasks.size(); ++i) {
      CAPTURE(i);
      const auto& span = spans[c.activities.tasks[i]];
      CHECK(trace->tasks[i].submitted == latest(spans, c.activities.submitted[i]));
      CHECK(trace->tasks[i].started == span.started);
      CHECK(trace->tasks[i].ended == span.ended);
      ended = std::max(ended, span.ended);
    }
    CHECK(trace->ended == ended);
  }
}

}  // namespace

// SimGrid 3.32 takes time in the square of the number of activities of a process: many small
// graphs.
TEST_CASE(
    "SimGrid gives every start and end of 300 plans to the picosecond, ideal and with costs") {
  test::SimGridDag dag;
  std::vector<Case> cases;
  for (std::uint64_t seed = 0; seed < 150; ++seed) {
    cases.push_back(make_case(dag, "ideal", seed, ideal_platform(3), {.tasks = 40}));
  }
  for (std::uint64_t seed = 1000; seed < 1030; ++seed) {
    const test::RandomGraphSpec wide{.tasks = 60, .edge_share = 0.03, .window = 30};
    cases.push_back(make_case(dag, "ideal, wide graph", seed, ideal_platform(3), wide));
  }
  for (std::uint64_t seed = 2000; seed < 2120; ++seed) {
    Platform platform = test::random_platform(seed);
    platform.devices[DeviceId{0}].connections = 0;
    cases.push_back(make_case(dag, "host costs and latencies", seed, platform, {.tasks = 30}));
  }
  REQUIRE(cases.size() == 300);
  const auto spans = dag.run();
  for (const Case& c : cases) compare(c, spans);
}
