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
  EngineWork image_weight_gradients{};  ///< of timed_work; see image_weight_gradients()
};

/// Weight gradients of convolutions that have no data gradient, as that of images is not needed.
[[nodiscard]] std::vector<TaskId> image_weight_gradients(const TaskGraph& graph);

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

/// One network's own times on the array, as costs of its operators.
struct OwnCosts {
  ByEngineClass<ClassCost> of{};
  /// Cost of image_weight_gradients(); not known(): as the others of their class.
  ClassCost image_weight_gradient{};
  /// What the framework takes for every operator beside its kernel.
  double framework_seconds = 0;
};

/// `costs` with every timed class scaled so that it gives the sample's own time exactly: what
/// varies within a class is as fitted, its sum as timed.
///
/// Weight gradients apart: a convolution's is the same product as its data gradient, so that both
/// classes have about the same factor. Where the weight gradients' is larger, convolutions that
/// have both gradients get the data gradients', and the rest of the time is that of the convolution
/// on the images, which has one only.
///
/// `data_split` takes what is left of the step: `operator_share` of it, in [0, 1], equally for each
/// operator, the rest by the bytes they move. Totals on one processor do not say how it divides.
/// Errors   InfeasibleError if nothing is left of the step.
[[nodiscard]] OwnCosts scaled_to(const ByEngineClass<ClassCost>& costs,
                                 const EngineSample& sample,
                                 double operator_share);

/// The same network, timed on both kinds of processor, and costs of both.
struct EngineSamples {
  const EngineSample& array;
  const EngineSample& management;
};
struct BothCosts {
  const ByEngineClass<ClassCost>& array;
  const ByEngineClass<ClassCost>& management;
};

/// What is left of a network's step beside its timed classes on the management core, over the same
/// on the array. Errors as scaled_to().
[[nodiscard]] double rest_ratio(const BothCosts& costs, const EngineSamples& samples);

/// As scaled_to(), with what is left of the step divided by the times on both processors: data
/// moves `speed_up` times faster on the array, and the framework's time for every operator, which
/// passes on the management core in both runs, is the same in both.
///
///   rest of array      = data + framework
///   rest of management = speed_up * data + framework
///
/// The framework's time is 0 where the rests are further apart than speed_up, which therefore is at
/// least the largest rest_ratio() of all networks if none is to have a negative time.
/// Errors   as scaled_to(); ContractViolation unless speed_up > 1.
[[nodiscard]] OwnCosts scaled_to_both(const BothCosts& costs,
                                      const EngineSamples& samples,
                                      double speed_up);

/// Seconds of all operators of the sample, with these costs.
[[nodiscard]] double step_seconds(const ByEngineClass<ClassCost>& costs,
                                  const EngineSample& sample);

}  // namespace schedlab
