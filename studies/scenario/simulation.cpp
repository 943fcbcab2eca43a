// SPDX-License-Identifier: Apache-2.0
#include "studies/scenario/simulation.hpp"

#include "sim/trace/document.hpp"
#include "sim/trace/metrics_json.hpp"
#include "studies/scenario/scenario_runner.hpp"
#include "studies/scenario/scenario_space.hpp"
#include "studies/spec/grid.hpp"
#include "studies/spec/one_scenario.hpp"

#include <fmt/format.h>

#include <utility>

namespace schedlab {

Simulation simulate(const Spec& spec, const StopFlag* stop) {
  const Grid grid(spec);
  expect_one_scenario(spec, grid);
  ScenarioSpace space(spec, grid);
  space.components().check_all();
  return simulate(space,
                  space.scenario(0, {}, stop),
                  fmt::format("{}: {} on {}",
                              spec.name,
                              grid.part_label(Part::policy, 0),
                              grid.part_label(Part::machine, 0)),
                  stop);
}

Simulation simulate(ScenarioSpace& space,
                    const Scenario& scenario,
                    std::string title,
                    const StopFlag* stop) {
  Simulation made;
  made.title = std::move(title);
  made.run = ScenarioRunner(space, stop).run_fully(scenario, true);
  const Problem problem = made.run.problem();
  made.metrics = compute_metrics(problem, made.run.plan, made.run.trace, made.run.bounds());
  made.document = make_document(problem, made.run.plan, made.run.trace, made.title);
  return made;
}

std::string metrics_json(const Simulation& simulation) {
  const FullRun& run = simulation.run;
  return metrics_json(simulation.metrics,
                      run.problem(),
                      run.plan,
                      simulation.title,
                      run.samples,
                      &simulation.document);
}

}  // namespace schedlab
