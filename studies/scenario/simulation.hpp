// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "sim/base/interrupt.hpp"
#include "sim/trace/metrics.hpp"
#include "sim/trace/trace.hpp"
#include "studies/scenario/scenario.hpp"
#include "studies/scenario/scenario_space.hpp"
#include "studies/spec/spec.hpp"

#include <string>

namespace schedlab {

/// A simulated scenario with all that the files of `schedlab simulate` say of it.
struct Simulation {
  std::string title;
  FullRun run;
  Metrics metrics;
  TraceDocument document;  ///< the trace with the names it needs to stand alone
};

/// Simulates the one scenario of a spec (load_spec, parse_spec): what `schedlab simulate`
/// simulates. Throws InputError for a wrong spec or one of several scenarios, InfeasibleError for
/// what cannot run, Interrupted when asked to stop.
[[nodiscard]] Simulation simulate(const Spec& spec, const StopFlag* stop = nullptr);

/// The same of one scenario of a spec that may have several, under a title of its own.
[[nodiscard]] Simulation simulate(ScenarioSpace& space,
                                  const Scenario& scenario,
                                  std::string title,
                                  const StopFlag* stop = nullptr);

/// The text of metrics.json.
[[nodiscard]] std::string metrics_json(const Simulation& simulation);

}  // namespace schedlab
