// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "hw_models/acceleration_engine.hpp"
#include "sim/graph/task_graph.hpp"

#include <string>
#include <vector>

namespace schedlab {

/// Times of one network's training step on one core group, and the work that took them.
struct EngineSample {
  std::string name;  ///< for messages
  /// Seconds of the operators of each class that were timed together, and their work; 0: not timed.
  ByEngineClass<double> timed_seconds{};
  ByEngineClass<EngineWork> timed_work{};
  double step_seconds = 0;  ///< of all operators; 0: not known
  ByEngineClass<EngineWork> all_work{};
};

/// Adds up the work of the graph's operators by class. `timed` names the operations that were
/// timed, by class.
[[nodiscard]] EngineSample engine_sample(std::string name,
                                         const TaskGraph& graph,
                                         const ByEngineClass<std::vector<std::string>>& timed);

/// Costs of all classes on one kind of processor.
///
///   timed classes   non-negative least squares of the relative errors (linear_fit.hpp) over the
///                   terms that the class is costed by
///   data_split      what the steps take beyond the timed classes and what the fitted costs give
///                   for further operators of these classes; left unknown without steps
///
/// Errors   InfeasibleError if the samples cannot tell the terms apart, or if the classes alone
///          take longer than a step; names the class or the sample.
/// Cost     that of linear_fit, once per class.
[[nodiscard]] ByEngineClass<ClassCost> fit_engine(Processor processor,
                                                  const std::vector<EngineSample>& samples);

/// `costs` with every timed class scaled so that it gives the sample's own time exactly: what
/// varies within a class is as fitted, its sum as timed. `data_split` takes what is left of the
/// step: `operator_share` of it, in [0, 1], equally for each operator, the rest by the bytes they
/// move. Totals do not say how it divides. Errors   InfeasibleError if nothing is left of the step.
[[nodiscard]] ByEngineClass<ClassCost> scaled_to(const ByEngineClass<ClassCost>& costs,
                                                 const EngineSample& sample,
                                                 double operator_share);

/// Of all operators of the sample, with these costs.
[[nodiscard]] double step_seconds(const ByEngineClass<ClassCost>& costs,
                                  const EngineSample& sample);

}  // namespace schedlab
